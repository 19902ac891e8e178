/** Memberships with an end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GroupMember, Page } from '@headgate/contract';
import type { Account } from '../../../testing/account.ts';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { createDirectoryClient } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createEndedMembershipJob } from './ended-memberships.ts';

const server = await startTestServer();
const { clock } = server;

const job = createEndedMembershipJob(server.deps);
const removeEnded = () => job.run(async () => undefined);
const inSeconds = (seconds: number) => new Date(clock.now().getTime() + seconds * 1_000).toISOString();

async function createGroup({ admin }: Account, body: Record<string, unknown>): Promise<string> {
  const displayName = `g ${server.deps.newId()}`;
  const made = await admin.post<{ groupId: string }>('/groups', { displayName, ...body });
  assert.equal(made.status, 201, made.text);
  return `/groups/${made.body.groupId}/members`;
}

const listMembers = async ({ admin }: Account, members: string) =>
  (await admin.get<Page<GroupMember>>(members)).body;

const readEvents = async ({ admin }: Account, name: string) =>
  (await admin.get<Page<Record<string, unknown>>>(`/events?after=oldest&limit=100&eventName=${name}`)).text;

test('a member for a time has the role until then, by the clock of each request', async () => {
  const account = await server.account();
  const project = await account.project();
  const user = await account.user();
  const members = await createGroup(account, { role: 'OWNER', projectId: project.projectId });
  const [expiresAt, reason] = [inSeconds(600), 'stands in for Ada'];
  const added = await account.admin.post(members, { userIds: [user.actorId], expiresAt, reason });
  assert.deepEqual(added.body, { added: 1, changed: 0 });
  const [member] = (await listMembers(account, members)).results;
  assert.deepEqual(
    [member?.expiresAt, member?.reason, member?.addedBy],
    [expiresAt, reason, account.admin.actorId],
  );
  assert.match(await readEvents(account, 'group-members-changed'), /stands in for Ada/);
  const listProjects = async () => (await user.get<{ total: number }>('/projects')).body.total;
  assert.equal((await user.get(`${project.path}/access`)).status, 200);
  assert.equal(await listProjects(), 1);
  clock.advance(599);
  assert.equal((await user.get(`${project.path}/access`)).status, 200);
  clock.advance(1);
  // Nothing was removed yet.
  requireProblem(await user.get(project.path), 404, 'project-not-found');
  requireProblem(await user.get(`${project.path}/access`), 404, 'project-not-found');
  assert.equal(await listProjects(), 0);
  assert.equal((await listMembers(account, members)).total, 0);
  assert.deepEqual((await listMembers(account, members)).results, []);
  assert.equal((await account.admin.get<{ total: number }>(`/users/${user.actorId}/groups`)).body.total, 0);
  const me = await user.get<{ roles: unknown[] }>('/me');
  assert.deepEqual(me.body.roles, []);
  const { results } = (
    await account.admin.get<{ results: { principalId: string }[] }>(`${project.path}/access`)
  ).body;
  assert.ok(results.every(({ principalId }) => principalId !== user.actorId));
  assert.equal(await removeEnded(), false);
  const rows = await server.database.query('select 1 from directory_member where user_id = $1', [
    user.actorId,
  ]);
  assert.equal(rows.length, 0);
  const events = await readEvents(account, 'group-members-changed');
  assert.match(
    events,
    new RegExp(`"removed":\\{"members":\\[\\{"value":"${user.actorId}"|"removed".*${user.actorId}`),
  );
  assert.match(await readEvents(account, 'role-group-emptied'), /"eventSource":"system"/);
});

test('a Super Admin for a time sees everything until then, and stays a MEMBER', async () => {
  const account = await server.account();
  await account.user('SUPER_ADMIN');
  const project = await account.project();
  const user = await account.user();
  const members = await createGroup(account, { role: 'SUPER_ADMIN' });
  await account.admin.post(members, { userIds: [user.actorId], expiresAt: inSeconds(60) });
  const readRoles = async () =>
    (await user.get<{ accountRoles: { role: string }[] }>('/me')).body.accountRoles.map(({ role }) => role);
  assert.deepEqual(await readRoles(), ['MEMBER', 'SUPER_ADMIN']);
  assert.equal((await user.get('/users')).status, 200);
  assert.equal((await user.get<{ total: number }>('/projects')).body.total, 1);
  clock.advance(60);
  assert.deepEqual(await readRoles(), ['MEMBER']);
  requireProblem(await user.get('/users'), 403, 'forbidden');
  requireProblem(await user.get(project.path), 404, 'project-not-found');
  assert.equal((await user.get<{ total: number }>('/projects')).body.total, 0);
});

test('the level of an environment ends with the role in the project', async () => {
  const account = await server.account();
  const project = await account.project();
  await account.admin.patch(`${project.path}/environments/prod`, { defaultUserAccessLevel: 'admin' });
  const user = await account.user();
  const members = await createGroup(account, { role: 'VIEWER', projectId: project.projectId });
  await account.admin.post(members, { userIds: [user.actorId], expiresAt: inSeconds(60) });
  const count = async () => (await user.get<{ rolesTotal: number }>('/me')).body.rolesTotal;
  const before = await count();
  assert.ok(before >= 1);
  clock.advance(60);
  assert.equal(await count(), 0);
});

test('adding a member again keeps its end, unless the request names one', async () => {
  const account = await server.account();
  const user = await account.user();
  const members = await createGroup(account, { role: 'ADMIN' });
  const add = async (more: Record<string, unknown>) => {
    const answer = await account.admin.post(members, { userIds: [user.actorId], ...more });
    assert.equal(answer.status, 200, answer.text);
    return [answer.body, (await listMembers(account, members)).results[0]?.expiresAt];
  };
  const [soon, later] = [inSeconds(60), inSeconds(3_600)];
  assert.deepEqual(await add({ expiresAt: soon }), [{ added: 1, changed: 0 }, soon]);
  assert.deepEqual(await add({}), [{ added: 0, changed: 0 }, soon]);
  assert.deepEqual(await add({ reason: 'other' }), [{ added: 0, changed: 0 }, soon]);
  assert.deepEqual(await add({ expiresAt: later, reason: 'longer' }), [{ added: 0, changed: 1 }, later]);
  assert.deepEqual(await add({ expiresAt: later, reason: 'longer' }), [{ added: 0, changed: 0 }, later]);
  assert.match(await readEvents(account, 'group-members-changed'), /"changed":/);
  // Ended and not yet removed: added like anybody else.
  clock.advance(3_600);
  assert.deepEqual(await add({}), [{ added: 1, changed: 0 }, undefined]);
  await removeEnded();
  assert.equal((await listMembers(account, members)).total, 1);
  assert.deepEqual(await add({ expiresAt: inSeconds(60) }), [{ added: 0, changed: 1 }, inSeconds(60)]);
  assert.deepEqual(await add({ expiresAt: null }), [{ added: 0, changed: 1 }, undefined]);
  requireProblem(
    await account.admin.post(members, { userIds: [user.actorId], expiresAt: inSeconds(0) }),
    422,
    'expiry-in-the-past',
  );
});

test('whoever is a Super Admin for a time gives nobody the role for longer', async () => {
  const account = await server.account();
  const lasting = await account.user('SUPER_ADMIN');
  const [holder, friend] = [await account.user(), await account.user()];
  const members = await createGroup(account, { role: 'SUPER_ADMIN' });
  const group = members.replace('/members', '');
  const end = inSeconds(3_600);
  await account.admin.post(members, { userIds: [holder.actorId], expiresAt: end });
  const refuse = async (answer: Promise<{ status: number }>) =>
    requireProblem((await answer) as never, 403, 'super-admin-for-a-time');
  for (const userIds of [[holder.actorId], [friend.actorId]]) {
    await refuse(holder.post(members, { userIds }));
    await refuse(holder.post(members, { userIds, expiresAt: null }));
    await refuse(holder.post(members, { userIds, expiresAt: inSeconds(3_601) }));
  }
  // A group that gets the role after its members.
  const other = await createGroup(account, {});
  assert.equal((await holder.post(other, { userIds: [holder.actorId] })).status, 200);
  await refuse(holder.patch(other.replace('/members', ''), { role: 'super admin' }));
  // A person of another name at an issuer would become the other Super Admin.
  const name = lasting.userName;
  await refuse(holder.patch(`/users/${lasting.actorId}`, { userName: 'eve@example.com' }));
  await refuse(holder.patch(`/users/${lasting.actorId}`, { externalId: 'eve' }));
  assert.equal((await holder.patch(`/users/${lasting.actorId}`, { displayName: 'Ada' })).status, 200);
  assert.equal(
    (await account.admin.patch(`/users/${lasting.actorId}`, { userName: `x${name}` })).status,
    200,
  );
  // By SCIM.
  const directory = createDirectoryClient(holder);
  const renamed = { op: 'replace', path: 'userName', value: 'eve@example.com' };
  assert.equal((await directory.patchUser(lasting.actorId, renamed)).status, 403);
  const value = [{ value: friend.actorId }];
  const byScim = await directory.patchGroup(group.split('/')[2] ?? '', {
    op: 'add',
    path: 'members',
    value,
  });
  assert.equal(byScim.status, 403, byScim.text);
  // By a credential, or as another Super Admin.
  await refuse(holder.post('/credentials', { name: 'for ever', role: 'SUPER_ADMIN' }));
  await refuse(holder.post(`/credentials/${account.admin.actorId}/rotate`, {}));
  await refuse(holder.post(`/users/${lasting.actorId}/credentials`, { name: 'mine' }));
  await refuse(holder.post(`/users/${lasting.actorId}/sign-in-links`, {}));
  await refuse(holder.post('/invitations', { userName: 'eve@example.com', groupIds: [group.split('/')[2]] }));
  const made = await holder.post('/credentials', {
    name: 'for the hour',
    role: 'SUPER_ADMIN',
    expiresAt: end,
  });
  assert.equal(made.status, 201, made.text);
  assert.equal((await holder.post(members, { userIds: [friend.actorId], expiresAt: end })).status, 200);
  // One for ever may.
  assert.equal((await lasting.post(members, { userIds: [holder.actorId], expiresAt: null })).status, 200);
  assert.equal((await holder.post(members, { userIds: [friend.actorId], expiresAt: null })).status, 200);
});

test('a credential that a Super Admin for a time made gives nobody the role for longer', async () => {
  const account = await server.account();
  await account.user('SUPER_ADMIN');
  const holder = await account.user();
  const members = await createGroup(account, { role: 'SUPER_ADMIN' });
  const end = inSeconds(3_600);
  await account.admin.post(members, { userIds: [holder.actorId], expiresAt: end });
  const hour = { name: 'for the hour', role: 'SUPER_ADMIN', expiresAt: end };
  const { credentialId } = (await holder.post<{ credentialId: string }>('/credentials', hour)).body;
  const owner = { accountId: account.accountId, actorId: credentialId, clientId: 'x' };
  const helper = createClient(server.transport, '/dpc/v1', () => server.deps.tokens.issue(owner, 'dpc'));
  const body = { userIds: [holder.actorId], expiresAt: null };
  requireProblem(await helper.post(members, body), 403, 'super-admin-for-a-time');
  requireProblem(
    await helper.post('/credentials', { name: 'for ever', role: 'SUPER_ADMIN' }),
    403,
    'super-admin-for-a-time',
  );
  assert.equal((await helper.post('/credentials', { ...hour, name: 'another' })).status, 201);
  // The new secret ends with the credential.
  assert.equal((await helper.post(`/credentials/${credentialId}/rotate`, {})).status, 200);
});

test('a directory does not prolong the membership of a Super Admin that has just ended', async () => {
  const account = await server.account();
  await account.user('SUPER_ADMIN');
  const holder = await account.user();
  const members = await createGroup(account, { role: 'SUPER_ADMIN' });
  await account.admin.post(members, { userIds: [holder.actorId], expiresAt: inSeconds(60) });
  clock.advance(60);
  // Nothing was removed yet.
  const directory = createDirectoryClient(await account.actor('DIRECTORY'));
  const value = [{ value: holder.actorId }];
  const added = await directory.patchGroup(members.split('/')[2] ?? '', {
    op: 'add',
    path: 'members',
    value,
  });
  assert.equal(added.status, 403, added.text);
  requireProblem(await holder.get('/users'), 403, 'forbidden');
});

test('an Admin for a time cannot prolong the membership', async () => {
  const account = await server.account();
  const holder = await account.user();
  const members = await createGroup(account, { role: 'ADMIN' });
  await account.admin.post(members, { userIds: [holder.actorId], expiresAt: inSeconds(60) });
  const body = { userIds: [holder.actorId], expiresAt: null };
  requireProblem(await holder.post(members, body), 403, 'forbidden');
});

test('the last Super Admin gets no end, and one with an end does not count as another', async () => {
  const account = await server.account();
  const [one, other] = [await account.user(), await account.user()];
  const members = await createGroup(account, { role: 'SUPER_ADMIN' });
  await account.admin.post(members, { userIds: [one.actorId] });
  await account.admin.post(members, { userIds: [other.actorId], expiresAt: inSeconds(60) });
  const end = { userIds: [one.actorId], expiresAt: inSeconds(60) };
  requireProblem(await account.admin.post(members, end), 409, 'last-super-admin-user');
  requireProblem(await account.admin.delete(`${members}/${one.actorId}`), 409, 'last-super-admin-user');
  requireProblem(
    await account.admin.patch(`/users/${one.actorId}`, { active: false }),
    409,
    'last-super-admin-user',
  );
  await account.admin.post(members, { userIds: [other.actorId], expiresAt: null });
  assert.equal((await account.admin.post(members, end)).status, 200);
});

test('the job removes thousands of members in turns', async () => {
  const account = await server.account();
  const members = await createGroup(account, {
    role: 'VIEWER',
    projectId: (await account.project()).projectId,
  });
  await server.database.query(
    `
    with made as (
      insert into directory_user (account_id, user_id, user_name, user_name_key, active, attributes, version, created_at, updated_at)
      select $1, gen_random_uuid(), n::text, n::text, true, '{}', 1, now(), now() from generate_series(1, 1200) n returning user_id)
    insert into directory_member (account_id, group_id, user_id, expires_at) select $1, $2, user_id, $3 from made`,
    [account.accountId, members.split('/')[2], inSeconds(-1)],
  );
  assert.equal(await removeEnded(), true);
  while (await removeEnded());
  const rows = await server.database.query('select 1 from directory_member where account_id = $1', [
    account.accountId,
  ]);
  assert.equal(rows.length, 0);
});
