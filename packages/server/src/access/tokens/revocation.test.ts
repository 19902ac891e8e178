/**
 * Two servers on one database: what one revokes, the other refuses at the next request, even if it has
 * cached it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Account, Actor } from '../../../testing/account.ts';
import { createClient, requireProblem } from '../../../testing/client.ts';
import type { TestServer } from '../../../testing/open-server.ts';
import { startTestServer } from '../../../testing/server.ts';

const here = await startTestServer();
const there = await startTestServer({ database: here.database });

const readClient = (server: TestServer, token: string | undefined, base = '/dpc/v1') =>
  createClient(server.transport, base, async () => token);

async function requestGrant(server: TestServer, clientId: string, secret: string) {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(form).toString();
  return readClient(server, undefined, '').post<{ access_token: string }>('/oauth/dpc/token', body, {
    headers,
  });
}

async function requestToken(server: TestServer, { clientId, secret }: Pick<Actor, 'clientId' | 'secret'>) {
  return (await requestGrant(server, clientId, secret.reveal())).body.access_token;
}

/** A caller with a token of one server, which both servers have accepted before. */
async function createKnownCaller(account: Account) {
  const actor = await account.actor('ADMIN');
  const token = await requestToken(here, actor);
  for (const server of [here, there])
    assert.equal((await readClient(server, token).get('/projects')).status, 200);
  return { actor, token };
}

test('a credential deleted on one server is refused by the other at its next request', async () => {
  const account = await here.account();
  const { path } = await account.project();
  const { actor, token } = await createKnownCaller(account);
  assert.equal((await account.admin.delete(`/credentials/${actor.actorId}`)).status, 204);
  for (const server of [there, here]) {
    requireProblem(await readClient(server, token).get('/projects'), 401, 'token-invalid');
    requireProblem(await readClient(server, token).get(path), 401, 'token-invalid');
    const project = { name: 'x', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
    requireProblem(await readClient(server, token).post('/projects', project), 401, 'token-invalid');
    assert.equal((await requestGrant(server, actor.clientId, actor.secret.reveal())).status, 401);
  }
});

test('after a rotation on one server, the other accepts only the new secret', async () => {
  const account = await here.account();
  const { actor } = await createKnownCaller(account);
  const rotated = await account.admin.post<{ clientSecret: string }>(
    `/credentials/${actor.actorId}/rotate`,
    {},
  );
  assert.equal((await requestGrant(there, actor.clientId, actor.secret.reveal())).status, 401);
  assert.equal((await requestGrant(there, actor.clientId, rotated.body.clientSecret)).status, 200);
});

test('a role removed on one server is removed on the other', async () => {
  const account = await here.account();
  const { projectId, path } = await account.project();
  const member = await account.actor('MEMBER', { projectId, role: 'VIEWER' });
  const token = await requestToken(here, member);
  assert.equal((await readClient(there, token).get(path)).status, 200);
  await here.database.query('delete from role_grant where credential_id = $1', [member.actorId]);
  requireProblem(await readClient(there, token).get(path), 404, 'project-not-found');
});

test('both servers refuse an expired credential', async () => {
  const account = await here.account();
  const expiresAt = new Date(here.clock.now().getTime() + 3_600_000).toISOString();
  const made = await account.admin.post<{ clientId: string; clientSecret: string }>('/credentials', {
    name: 'for an hour',
    role: 'MEMBER',
    expiresAt,
  });
  const { clientId, clientSecret } = made.body;
  const token = (await requestGrant(here, clientId, clientSecret)).body.access_token;
  assert.equal((await readClient(there, token).get('/projects')).status, 200);
  // The token itself would be valid for another 29 minutes.
  for (const server of [here, there]) server.clock.advance(3_550);
  const last = (await requestGrant(here, clientId, clientSecret)).body.access_token;
  assert.equal((await readClient(there, last).get('/projects')).status, 200);
  for (const server of [here, there]) server.clock.advance(60);
  for (const server of [there, here])
    requireProblem(await readClient(server, last).get('/projects'), 401, 'token-invalid');
});
