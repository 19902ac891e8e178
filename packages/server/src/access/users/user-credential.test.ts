/** A user acts by a personal credential, on every server, as long as the user is active. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountEventItem, Me, Page, UserCredential } from '@headgate/contract';
import type { Account, UserActor } from '../../../testing/account.ts';
import { createClient, requireProblem } from '../../../testing/client.ts';
import type { TestServer } from '../../../testing/open-server.ts';
import { startTestServer } from '../../../testing/server.ts';

const here = await startTestServer();
const there = await startTestServer({ database: here.database });
const servers = [here, there];
const buildProject = (name: string) => ({ name, agentDeploymentType: 'HYBRID' });

const createCaller = (server: TestServer, token: string | undefined, base = '/dpc/v1') =>
  createClient(server.transport, base, async () => token);

function requestGrant(server: TestServer, clientId: string, secret: string) {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(form).toString();
  return createCaller(server, undefined, '').post<{ access_token: string }>('/oauth/dpc/token', body, {
    headers,
  });
}

/** A user with a token of one server, which both servers have accepted before. */
async function createKnownUser(account: Account): Promise<{ user: UserActor; token: string }> {
  const user = await account.user('ADMIN');
  const { body } = await requestGrant(here, user.clientId, user.secret.reveal());
  for (const server of servers)
    assert.equal((await createCaller(server, body.access_token).get('/me')).status, 200);
  return { user, token: body.access_token };
}

async function requireRefused(token: string, { clientId, secret }: UserActor): Promise<void> {
  for (const server of servers) {
    const caller = createCaller(server, token);
    requireProblem(await caller.get('/me'), 401, 'token-invalid');
    requireProblem(await caller.get('/agents'), 401, 'token-invalid');
    requireProblem(await caller.post('/projects', buildProject('x')), 401, 'token-invalid');
    assert.equal((await requestGrant(server, clientId, secret.reveal())).status, 401);
  }
}

test('a token of a personal credential is the user, with the roles of its groups', async () => {
  const { user, token } = await createKnownUser(await here.account());
  const me = (await createCaller(there, token).get<Me>('/me')).body;
  assert.equal(me.principalId, user.actorId);
  assert.equal(me.principalType, 'USER');
  assert.equal(me.name, user.userName);
  assert.deepEqual(
    me.accountRoles.map(({ role, source, groupId }) => [role, source, groupId]),
    [['ADMIN', 'GROUP', user.groupIds[0]]],
  );
});

test('a deactivated user is refused by every server at the next request, and works again when active', async () => {
  const account = await here.account();
  const { user, token } = await createKnownUser(account);
  await account.admin.patch(`/users/${user.actorId}`, { active: false });
  await requireRefused(token, user);
  await account.admin.patch(`/users/${user.actorId}`, { active: true });
  assert.equal((await createCaller(there, token).get('/me')).status, 200);
});

test('a deleted user is refused at the next request, and its events keep its name', async () => {
  const account = await here.account();
  const { user, token } = await createKnownUser(account);
  const from = new Date(here.clock.now().getTime() - 1_000).toISOString();
  assert.equal((await createCaller(here, token).post('/projects', buildProject('Weather'))).status, 201);
  assert.equal((await account.admin.delete(`/users/${user.actorId}`)).status, 204);
  await requireRefused(token, user);
  const to = new Date(here.clock.now().getTime() + 60_000).toISOString();
  const path = `/events?from=${from}&to=${to}&actorId=${user.actorId}`;
  const [event] = (await account.admin.get<Page<AccountEventItem>>(path)).body.results;
  assert.equal(event?.eventName, 'project-created');
  assert.equal(event?.eventSource, 'user');
  assert.equal(event?.actorName, user.userName);
  assert.equal(event?.actorEmail, user.userName);
});

test('a deleted personal credential ends its tokens, and not those of the others', async () => {
  const account = await here.account();
  const { user, token } = await createKnownUser(account);
  const path = `/users/${user.actorId}/credentials`;
  const second = (
    await account.admin.post<{ clientId: string; clientSecret: string }>(path, { name: 'second' })
  ).body;
  const { body } = await requestGrant(there, second.clientId, second.clientSecret);
  assert.equal((await account.admin.delete(`${path}/${user.credentialId}`)).status, 204);
  await requireRefused(token, user);
  assert.equal((await createCaller(here, body.access_token).get('/me')).status, 200);
  requireProblem(
    await account.admin.delete(`${path}/${user.credentialId}`),
    404,
    'user-credential-not-found',
  );
});

test('an expired personal credential is refused, and one is listed with its last use', async () => {
  const account = await here.account();
  const user = await account.user();
  const path = `/users/${user.actorId}/credentials`;
  const expiresAt = new Date(here.clock.now().getTime() + 60_000).toISOString();
  const made = (
    await account.admin.post<{ clientId: string; clientSecret: string }>(path, { name: 'short', expiresAt })
  ).body;
  const { body } = await requestGrant(here, made.clientId, made.clientSecret);
  const [listed] = (await account.admin.get<Page<UserCredential>>(path)).body.results;
  assert.equal(listed?.name, 'short');
  assert.equal(listed?.expiresAt, expiresAt);
  assert.ok(listed?.lastUsedAt);
  await here.database.query('update user_credential set expires_at = $1 where client_id = $2', [
    new Date(here.clock.now().getTime() - 1),
    made.clientId,
  ]);
  for (const server of servers)
    requireProblem(await createCaller(server, body.access_token).get('/me'), 401, 'token-invalid');
  assert.equal((await requestGrant(here, made.clientId, made.clientSecret)).status, 401);
  const past = { name: 'past', expiresAt: '2020-01-01T00:00:00.000Z' };
  requireProblem(await account.admin.post(path, past), 422, 'expiry-in-the-past');
});

test('a personal credential of another user does not make a token of this user valid', async () => {
  const account = await here.account();
  const [one, other] = [await account.user('ADMIN'), await account.user()];
  const owner = { accountId: account.accountId, actorId: one.actorId, clientId: one.clientId };
  const forged = await here.deps.tokens.issue({ ...owner, userCredentialId: other.credentialId }, 'dpc');
  requireProblem(await createCaller(here, forged).get('/me'), 401, 'token-invalid');
});

test('a user that creates a project owns it until the user is deleted', async () => {
  const account = await here.account();
  const user = await account.user('ADMIN');
  const { projectId } = (await user.post<{ projectId: string }>('/projects', buildProject('Mine'))).body;
  assert.equal((await user.patch(`/projects/${projectId}`, { name: 'Ours' })).status, 200);
  const { roles } = (await user.get<Me>('/me')).body;
  assert.deepEqual(roles, [{ projectId, projectName: 'Ours', role: 'OWNER', source: 'GRANT' }]);
  await account.admin.delete(`/users/${user.actorId}`);
  const grants = await here.database.query('select from role_grant where project_id = $1', [projectId]);
  assert.equal(grants.length, 0);
});
