import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Credential, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const listening = server.listen();
interface Issued {
  credentialId: string;
  clientId: string;
  clientSecret: string;
}

async function requestTokenStatus({
  clientId,
  clientSecret,
}: Pick<Issued, 'clientId' | 'clientSecret'>): Promise<number> {
  const payload = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const url = await listening;
  return (await fetch(`${url}/oauth/dpc/token`, { method: 'POST', headers, body: payload })).status;
}

test('a credential is created with roles, listed without its secret, and gets tokens', async () => {
  const account = await server.account();
  const { projectId } = await account.project();
  const roles = [{ projectId, environmentName: 'dev', role: 'operator' }];
  const { status, body } = await account.admin.post<Issued>('/credentials', {
    name: 'CI',
    role: 'member',
    roles,
  });
  assert.equal(status, 201);
  assert.equal(await requestTokenStatus(body), 200);
  const { results } = (await account.admin.get<Page<Credential>>('/credentials')).body;
  const listed = results.find((each) => each.credentialId === body.credentialId);
  assert.deepEqual(listed?.roles, [{ projectId, environmentName: 'dev', role: 'OPERATOR' }]);
  assert.equal(listed?.role, 'MEMBER');
  assert.ok(listed?.lastUsedAt);
  assert.equal(JSON.stringify(results).includes(body.clientSecret), false);
});

test('a rotation invalidates the old secret at once, or after the overlap', async () => {
  const { admin } = await server.account();
  const made = (await admin.post<Issued>('/credentials', { name: 'CI', role: 'MEMBER' })).body;
  const path = `/credentials/${made.credentialId}/rotate`;
  const next = (await admin.post<Issued>(path, { overlapSeconds: 60 })).body;
  assert.equal(await requestTokenStatus(made), 200, 'the old secret is still valid');
  assert.equal(await requestTokenStatus(next), 200);
  server.clock.advance(61);
  assert.equal(await requestTokenStatus(made), 401);
  const last = (await admin.post<Issued>(path)).body;
  assert.equal(await requestTokenStatus(next), 401);
  assert.equal(await requestTokenStatus(last), 200);
});

test('a deleted credential is refused at the next request; the last Super Admin cannot be deleted', async () => {
  const account = await server.account();
  const other = await account.actor('SUPER_ADMIN');
  assert.equal((await other.get('/projects')).status, 200);
  assert.equal((await account.admin.send('DELETE', `/credentials/${other.actorId}`)).status, 204);
  requireProblem(await other.get('/projects'), 401, 'token-invalid');
  const last = await account.admin.send('DELETE', `/credentials/${account.admin.actorId}`);
  requireProblem(last, 409, 'last-super-admin');
});

test('unknown roles, projects and environments, and an expiry in the past, are refused', async () => {
  const account = await server.account();
  const { projectId } = await account.project();
  const create = (body: object) => account.admin.post('/credentials', { name: 'x', role: 'MEMBER', ...body });
  requireProblem(await create({ role: 'KING' }), 422, 'unknown-role');
  const mistyped = requireProblem(await create({ role: 'Super Amdin' }), 422, 'unknown-role');
  assert.match(mistyped.detail, /Did you mean SUPER_ADMIN\?$/);
  const misplaced = await create({ roles: [{ projectId, role: 'OPERATOR' }] });
  assert.match(requireProblem(misplaced, 422, 'unknown-role').detail, /send its `environmentName`\.$/);
  const tooHigh = await create({ role: 'CONTRIBUTOR' });
  assert.match(requireProblem(tooHigh, 422, 'unknown-role').detail, /send its `projectId`\.$/);
  const nowhere = '00000000-0000-4000-8000-000000000000';
  requireProblem(await create({ roles: [{ projectId: nowhere, role: 'OWNER' }] }), 422, 'unknown-project');
  const nothing = [{ projectId, environmentName: 'nothing', role: 'OWNER' }];
  requireProblem(await create({ roles: nothing }), 422, 'unknown-environment');
  requireProblem(await create({ expiresAt: '2000-01-01T00:00:00.000Z' }), 422, 'expiry-in-the-past');
});
