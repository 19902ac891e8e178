import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Account } from '../../../testing/account.ts';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { createDirectoryClient } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const other = await startTestServer({ database: server.database });
const inDays = (days: number) => new Date(server.clock.now().getTime() + days * 86_400_000).toISOString();
const useToken = (token: string, at = server) => createClient(at.transport, '/dpc/v1', async () => token);

async function createToken(account: Account, userId: string, narrowing: object = {}) {
  const { client } = await account.signIn(userId);
  const body = { name: 'report', expiresAt: inDays(1), ...narrowing };
  const made = (await client.post<{ tokenId: string; token: string }>('/me/tokens', body)).body;
  return { ...made, browser: client, caller: useToken(made.token) };
}

test('a token acts as its user, is listed with its last use, and ends on every server when it is revoked', async () => {
  const account = await server.account();
  const { path } = await account.project();
  const ada = await account.user('SUPER_ADMIN');
  const { tokenId, token, browser, caller } = await createToken(account, ada.actorId);
  assert.match(token, /^hgp_[\w-]{43}$/);
  assert.equal((await caller.get<{ principalId: string }>('/me')).body.principalId, ada.actorId);
  assert.equal((await useToken(token, other).get(path)).status, 200);
  const { results } = (await browser.get<{ results: Record<string, unknown>[] }>('/me/tokens')).body;
  assert.deepEqual(
    results.map(({ tokenId: id, name, role, lastUsedAt }) => [id, name, role, lastUsedAt]),
    [[tokenId, 'report', undefined, other.clock.now().toISOString()]],
  );
  assert.ok(!JSON.stringify(results).includes(token));
  assert.equal((await account.admin.delete(`/users/${ada.actorId}/tokens/${tokenId}`)).status, 204);
  for (const at of [server, other]) requireProblem(await useToken(token, at).get(path), 401, 'token-invalid');
  const stored = await server.database.query<{ found: boolean }>(
    'select exists (select from event where state_after::text like $1 or state_before::text like $1) as found',
    [`%${token}%`],
  );
  assert.deepEqual(stored, [{ found: false }]);
});

test('a narrowed token has at most the rights of its roles, and at most those of its user', async () => {
  const account = await server.account();
  const [mine, hidden, foreign] = [await account.project(), await account.project(), await account.project()];
  const owner = { role: 'OWNER', projectId: mine.projectId } as const;
  const ada = await account.user(undefined, owner, { role: 'OWNER', projectId: hidden.projectId });
  const roles = [{ projectId: mine.projectId, role: 'VIEWER' }];
  const { caller } = await createToken(account, ada.actorId, { roles });
  assert.equal((await ada.patch(mine.path, { name: 'Renamed' })).status, 200, 'the user may');
  assert.equal((await caller.get(mine.path)).status, 200);
  const refused = requireProblem(await caller.patch(mine.path, { name: 'No' }), 403, 'forbidden');
  assert.match(refused.detail, /personal token "report".*VIEWER in the project/s);
  requireProblem(await caller.get(hidden.path), 404, 'project-not-found');
  requireProblem(await caller.get(foreign.path), 404, 'project-not-found');
  // More than the user has: the user's rights remain.
  const wide = await createToken(account, ada.actorId, { role: 'SUPER_ADMIN' });
  requireProblem(await wide.caller.get('/users'), 403, 'forbidden');
  requireProblem(await wide.caller.get(foreign.path), 404, 'project-not-found');
  await account.admin.delete(`/groups/${ada.groupIds[0]}`);
  requireProblem(await caller.get(mine.path), 404, 'project-not-found');
});

test('a narrowed Super Admin does not see what its roles do not give', async () => {
  const account = await server.account();
  const [shown, hidden] = [await account.project(), await account.project()];
  const ada = await account.user('SUPER_ADMIN');
  const roles = [{ projectId: shown.projectId, role: 'OWNER' }];
  const { caller } = await createToken(account, ada.actorId, { roles });
  assert.equal((await caller.patch(shown.path, { name: 'Renamed' })).status, 200);
  requireProblem(await caller.get(hidden.path), 404, 'project-not-found');
  requireProblem(await caller.get('/credentials'), 403, 'forbidden');
});

test('only a person who is signed in makes tokens: a token or a credential cannot make a wider one', async () => {
  const account = await server.account();
  const ada = await account.user('SUPER_ADMIN');
  const { caller, browser } = await createToken(account, ada.actorId, { role: 'MEMBER' });
  const body = { name: 'wider', expiresAt: inDays(366) };
  for (const each of [caller, ada, account.admin])
    requireProblem(await each.post('/me/tokens', body), 403, 'session-required');
  assert.equal((await browser.post('/me/tokens', body)).status, 201);
  requireProblem(
    await browser.post('/me/tokens', { ...body, expiresAt: inDays(367) }),
    422,
    'personal-token-too-long',
  );
  requireProblem(
    await browser.post('/me/tokens', { ...body, expiresAt: inDays(-1) }),
    422,
    'expiry-in-the-past',
  );
  requireProblem(await browser.post('/me/tokens', { ...body, role: 'KING' }), 422, 'unknown-role');
  const roles = [{ projectId: '0198c2f4-5d1e-7c3a-9b42-6f0e8d7c1a23', role: 'VIEWER' }];
  requireProblem(await browser.post('/me/tokens', { ...body, roles }), 422, 'unknown-project');
});

test('a token ends at its time, and with the deactivation of its user for good', async () => {
  const account = await server.account();
  const ada = await account.user('ADMIN');
  const brief = await createToken(account, ada.actorId);
  const { caller } = await createToken(account, ada.actorId, { expiresAt: inDays(300) });
  assert.equal((await brief.caller.get('/me')).status, 200);
  server.clock.advance(86_401);
  requireProblem(await brief.caller.get('/me'), 401, 'token-invalid');
  assert.equal((await caller.get('/me')).status, 200);
  await account.admin.patch(`/users/${ada.actorId}`, { active: false });
  requireProblem(await caller.get('/me'), 401, 'token-invalid');
  await account.admin.patch(`/users/${ada.actorId}`, { active: true });
  requireProblem(await caller.get('/me'), 401, 'token-invalid');
});

test('a token of one user cannot be revoked by another, and one of the agents’ API is none', async () => {
  const account = await server.account();
  const [ada, bob] = [await account.user('ADMIN'), await account.user('ADMIN')];
  const { tokenId, token } = await createToken(account, ada.actorId);
  requireProblem(await bob.delete(`/me/tokens/${tokenId}`), 404, 'personal-token-not-found');
  requireProblem(
    await (await server.account()).admin.delete(`/users/${ada.actorId}/tokens/${tokenId}`),
    404,
    'personal-token-not-found',
  );
  const headers = { authorization: `Bearer ${token}` };
  const answer = await server.transport({ method: 'GET', url: '/agent/v1/work', headers, body: undefined });
  assert.ok([401, 404].includes(answer.status), answer.text);
});

test('whoever holds a token can revoke it at the revocation endpoint, once, and no other token ends', async () => {
  const account = await server.account();
  const ada = await account.user('SUPER_ADMIN');
  const [found, remaining] = [
    await createToken(account, ada.actorId),
    await createToken(account, ada.actorId, { name: 'other' }),
  ];
  const revoke = (token: string, at = server) =>
    at.transport({
      method: 'POST',
      url: '/oauth/dpc/revoke',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
    });
  // Both servers have accepted the token, and may have cached it.
  for (const at of [server, other]) assert.equal((await useToken(found.token, at).get('/me')).status, 200);
  for (const wrong of [`hgp_${'A'.repeat(43)}`, found.token.slice(0, -1), `${found.token}A`]) {
    assert.equal((await revoke(wrong)).status, 200, 'an unknown token is no error');
    assert.equal((await found.caller.get('/me')).status, 200);
  }
  const answers = await Promise.all([revoke(found.token), revoke(found.token, other)]);
  assert.deepEqual(
    [...answers, await revoke(found.token)].map(({ status, text }) => [status, text]),
    [1, 2, 3].map(() => [200, '{}']),
  );
  for (const at of [server, other])
    requireProblem(await useToken(found.token, at).get('/me'), 401, 'token-invalid');
  assert.equal((await remaining.caller.get('/me')).status, 200);
  const events = await server.database.query<{ before: unknown }>(
    "select state_before as before from event where account_id = $1 and name = 'personal-token-deleted'",
    [account.accountId],
  );
  assert.deepEqual(events, [{ before: { tokenId: found.tokenId, name: 'report' } }]);
  for (const { logLines } of [server, other]) assert.ok(!logLines.some((line) => line.includes(found.token)));
});

test('a token of one environment changes nothing in another that its user may change', async () => {
  const account = await server.account();
  const { projectId, path } = await account.project();
  const ada = await account.user(undefined, { projectId, role: 'OWNER' });
  const roles = [
    { projectId, role: 'VIEWER' },
    { projectId, environmentName: 'dev', role: 'OWNER' },
  ];
  const { caller } = await createToken(account, ada.actorId, { roles });
  assert.equal(
    (await ada.post(`${path}/variables`, { name: 'city', type: 'TEXT', behaviour: 'SHARED' })).status,
    201,
  );
  const written = await caller.post<{
    environmentOverrides: { environmentName: string }[];
    failedOverride: { environmentName: string }[];
  }>(`${path}/variables/city/environment-overrides?atomic=false`, {
    environmentOverrides: ['dev', 'prod'].map((environmentName) => ({ environmentName, value: 'Bonn' })),
  });
  const names = (list: { environmentName: string }[]) => list.map(({ environmentName }) => environmentName);
  assert.deepEqual(names(written.body.environmentOverrides ?? []), ['dev'], written.text);
});

test('a token for the directory has the limits of a directory, also if its user is a Super Admin', async () => {
  const account = await server.account();
  const ada = await account.user('SUPER_ADMIN');
  const friend = await account.user();
  const { caller } = await createToken(account, ada.actorId, { role: 'DIRECTORY' });
  const change = { op: 'add', path: 'members', value: [{ value: friend.actorId }] };
  const added = await createDirectoryClient(caller).patchGroup(ada.groupIds[0] ?? '', change);
  assert.equal(added.status, 403, added.text);
});
