/** Groups by /v1/groups, and the roles that they give. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Group, Page, User } from '@headgate/contract';
import type { Account } from '../../../testing/account.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const never = '01890000-0000-7000-8000-000000000000';

async function createGroup({ admin }: Account, group: object): Promise<Group> {
  return (await admin.post<Group>('/groups', { displayName: crypto.randomUUID(), ...group })).body;
}

const eventsOf = async ({ accountId }: Account, id: string) =>
  (
    await server.database.query<{ name: string }>(
      'select name from event where account_id = $1 and subject_id = $2 order by event_id',
      [accountId, id],
    )
  ).map(({ name }) => name);

test('a group is created, found at its Location, and listed by displayName', async () => {
  const { admin } = await server.account();
  const answer = await admin.post<Group>('/groups', { displayName: 'Zoo', role: 'billing admin' });
  assert.equal(answer.status, 201);
  assert.equal(answer.body.role, 'BILLING_ADMIN');
  assert.equal(answer.body.givesRole, true);
  assert.match(String(answer.headers.location), new RegExp(`/dpc/v1/groups/${answer.body.groupId}$`));
  assert.deepEqual((await admin.get<Group>(`/groups/${answer.body.groupId}`)).body, answer.body);
  const plain = (await admin.post<Group>('/groups', { displayName: 'ant' })).body;
  assert.deepEqual([plain.role, plain.givesRole], [undefined, false]);
  const { results } = (await admin.get<Page<Group>>('/groups')).body;
  assert.deepEqual(
    results.map((group) => group.displayName),
    ['ant', 'Zoo'],
  );
  requireProblem(await admin.post('/groups', { displayName: 'zOO' }), 409, 'group-name-taken');
});

test('a role must be one of its place, and a place must exist', async () => {
  const account = await server.account();
  const { admin } = account;
  const project = await account.project();
  const of = { projectId: project.projectId };
  const cases: [object, number, string, RegExp][] = [
    [{ role: 'OWNER' }, 422, 'unknown-role', /SUPER_ADMIN, ADMIN, BILLING_ADMIN, MEMBER/],
    [{ role: 'DIRECTORY' }, 422, 'unknown-role', /DIRECTORY/],
    [{ role: 'OPERATOR', ...of }, 422, 'unknown-role', /OWNER, CONTRIBUTOR, VIEWER/],
    [{ role: 'SUPER_ADMIN', ...of, environmentName: 'dev' }, 422, 'unknown-role', /OPERATOR/],
    [{ ...of }, 422, 'place-without-role', /projectId/],
    [{ ...of, environmentName: 'dev' }, 422, 'place-without-role', /environmentName/],
    [{ role: 'VIEWER', environmentName: 'dev' }, 422, 'environment-without-project', /projectId/],
    [{ role: 'VIEWER', projectId: never }, 422, 'unknown-project', new RegExp(never)],
    [{ role: 'VIEWER', ...of, environmentName: 'uat' }, 422, 'unknown-environment', /uat/],
    [{ role: 'VIEWER', projectId: 'x' }, 400, 'invalid-request', /violations/],
  ];
  for (const [body, status, code, detail] of cases) {
    const answer = await admin.post('/groups', { displayName: 'one', ...body });
    assert.match(requireProblem(answer, status as 422, code as 'unknown-role').detail, detail);
  }
  const foreign = await (await server.account()).project();
  const body = { displayName: 'one', role: 'OWNER', projectId: foreign.projectId };
  requireProblem(await admin.post('/groups', body), 422, 'unknown-project');
  assert.equal((await admin.get<Page<Group>>('/groups')).body.total, 0, 'nothing was created');
});

test('a member has the role of its group from the next request, and loses it with the membership', async () => {
  const account = await server.account();
  const project = await account.project();
  const user = await account.user();
  requireProblem(await user.get(project.path), 404, 'project-not-found');
  const { groupId } = await createGroup(account, { role: 'viewer', projectId: project.projectId });
  const members = `/groups/${groupId}/members`;
  assert.deepEqual((await account.admin.post(members, { userIds: [user.actorId] })).body, {
    added: 1,
    changed: 0,
  });
  assert.equal((await user.get(project.path)).status, 200);
  requireProblem(await user.patch(project.path, { name: 'x' }), 403, 'forbidden');
  await account.admin.patch(`/groups/${groupId}`, { role: 'owner' });
  assert.equal((await user.patch(project.path, { name: crypto.randomUUID() })).status, 200);
  assert.equal((await account.admin.delete(`${members}/${user.actorId}`)).status, 204);
  requireProblem(await user.get(project.path), 404, 'project-not-found');
  assert.deepEqual(await eventsOf(account, groupId), [
    'group-created',
    'group-members-changed',
    'group-updated',
    'group-members-changed',
    'role-group-emptied',
  ]);
});

test('members are added all or none, once each, and listed', async () => {
  const account = await server.account();
  const { admin } = account;
  const { groupId } = await createGroup(account, {});
  const members = `/groups/${groupId}/members`;
  const one = await account.user();
  const before = await admin.get(`/groups/${groupId}`);
  const unknown = await admin.post(members, { userIds: [one.actorId, never, 'x'] });
  assert.match(requireProblem(unknown, 422, 'unknown-user').detail, new RegExp(`${never}.*x`));
  assert.equal((await admin.get(`/groups/${groupId}`)).etag, before.etag);
  const stranger = await (await server.account()).user();
  requireProblem(await admin.post(members, { userIds: [stranger.actorId] }), 422, 'unknown-user');
  const twice = { userIds: [one.actorId, one.actorId] };
  assert.deepEqual((await admin.post(members, twice)).body, { added: 1, changed: 0 });
  assert.deepEqual((await admin.post(members, twice)).body, { added: 0, changed: 0 });
  const { results, total } = (await admin.get<Page<User>>(members)).body;
  assert.deepEqual([total, results.map((user) => user.userId)], [1, [one.actorId]]);
  assert.notEqual((await admin.get(`/groups/${groupId}`)).etag, before.etag);
  requireProblem(await admin.post(members, { userIds: [] }), 400, 'invalid-request');
  requireProblem(await admin.delete(`/groups/${groupId}/members/${never}`), 404, 'group-member-not-found');
  const ofUser = (await admin.get<Page<Group>>(`/users/${one.actorId}/groups`)).body;
  assert.deepEqual(
    ofUser.results.map((group) => group.groupId),
    [groupId],
  );
});

test('a deleted environment ends what its groups give, also when one of the same name is created', async () => {
  const account = await server.account();
  const project = await account.project();
  const grant = { projectId: project.projectId, environmentName: 'dev', role: 'OWNER' } as const;
  const user = await account.user(undefined, grant);
  const path = `${project.path}/environments/dev`;
  assert.equal((await user.patch(path, { description: 'x' })).status, 200);
  assert.equal((await account.admin.delete(path)).status, 204);
  await account.admin.post(`${project.path}/environments`, { name: 'dev' });
  requireProblem(await user.patch(path, { description: 'y' }), 404, 'project-not-found');
  const group = (await account.admin.get<Group>(`/groups/${user.groupIds[0]}`)).body;
  assert.deepEqual([group.role, group.environmentName, group.givesRole], ['OWNER', 'dev', false]);
  await account.admin.patch(`/groups/${group.groupId}`, { role: 'owner' });
  assert.equal((await user.patch(path, { description: 'y' })).status, 200, 'writing the role gives it again');
});

test('PATCH keeps the place of a role unless it names it, and null removes it', async () => {
  const account = await server.account();
  const { admin } = account;
  const project = await account.project();
  const { groupId } = await createGroup(account, {
    role: 'OPERATOR',
    projectId: project.projectId,
    environmentName: 'dev',
  });
  const path = `/groups/${groupId}`;
  requireProblem(await admin.patch(path, { environmentName: null }), 422, 'unknown-role');
  requireProblem(await admin.patch(path, { role: null }), 422, 'place-without-role');
  requireProblem(await admin.patch(path, { projectId: null }), 422, 'environment-without-project');
  const moved = (await admin.patch<Group>(path, { role: 'VIEWER', environmentName: null })).body;
  assert.deepEqual(
    [moved.role, moved.projectId, moved.environmentName],
    ['VIEWER', project.projectId, undefined],
  );
  const none = (await admin.patch<Group>(path, { role: null, projectId: null })).body;
  assert.deepEqual([none.role, none.projectId, none.givesRole], [undefined, undefined, false]);
  requireProblem(await admin.patch(`/groups/${never}`, {}), 404, 'group-not-found');
});

test('the last active Super Admin among the users stays', async () => {
  const account = await server.account();
  const { admin } = account;
  const user = await account.user('SUPER_ADMIN');
  const [groupId] = user.groupIds;
  const code = 'last-super-admin-user';
  requireProblem(await admin.patch(`/users/${user.actorId}`, { active: false }), 409, code);
  requireProblem(await admin.delete(`/users/${user.actorId}`), 409, code);
  requireProblem(await admin.delete(`/groups/${groupId}`), 409, code);
  requireProblem(await admin.delete(`/groups/${groupId}/members/${user.actorId}`), 409, code);
  requireProblem(await admin.patch(`/groups/${groupId}`, { role: 'ADMIN' }), 409, code);
  requireProblem(await admin.patch(`/groups/${groupId}`, { role: null }), 409, code);
  assert.equal((await user.get('/credentials')).status, 200);
  const second = await account.user('SUPER_ADMIN');
  await admin.patch(`/users/${second.actorId}`, { active: false });
  requireProblem(await admin.delete(`/users/${user.actorId}`), 409, code);
  await admin.patch(`/users/${second.actorId}`, { active: true });
  assert.equal((await admin.delete(`/users/${user.actorId}`)).status, 204);
});

test('two requests at the same time cannot remove the last two Super Admins', async () => {
  const account = await server.account();
  for (let round = 0; round < 10; round += 1) {
    const [one, other] = [await account.user('SUPER_ADMIN'), await account.user('SUPER_ADMIN')];
    const statuses = await Promise.all([
      account.admin.patch(`/users/${one.actorId}`, { active: false }),
      account.admin.delete(`/groups/${other.groupIds[0]}/members/${other.actorId}`),
    ]).then((answers) => answers.map((answer) => answer.status));
    assert.ok(statuses.includes(409), `${statuses}`);
    assert.equal(statuses.filter((status) => status === 409).length, 1);
    const left = await server.database.query<{ user_id: string }>(
      `
      select u.user_id from account_role r
      join directory_user u on u.account_id = r.account_id and u.user_id = r.principal_id and u.active
      where r.account_id = $1 and r.role = 'SUPER_ADMIN'`,
      [account.accountId],
    );
    assert.equal(left.length, 1);
    // The next round begins without Super Admins among the users.
    await server.database.query('delete from directory_user where account_id = $1', [account.accountId]);
  }
});

test('a protected group that gives a role is emptied and deleted only with ?confirm=true', async () => {
  const account = await server.account();
  const { admin } = account;
  await server.database.query('update account set protect_role_groups = true where account_id = $1', [
    account.accountId,
  ]);
  const [one, other] = [await account.user('ADMIN'), await account.user('ADMIN')];
  const remove = `/groups/${one.groupIds[0]}/members/${one.actorId}`;
  assert.match(
    requireProblem(await admin.delete(remove), 409, 'role-group-protected').detail,
    /confirm=true/,
  );
  assert.equal((await admin.delete(`${remove}?confirm=true`)).status, 204);
  assert.equal((await admin.delete(`/groups/${one.groupIds[0]}`)).status, 204, 'it has no members');
  requireProblem(await admin.delete(`/groups/${other.groupIds[0]}`), 409, 'role-group-protected');
  assert.equal((await admin.delete(`/groups/${other.groupIds[0]}?confirm=true`)).status, 204);
  const { groupId } = await createGroup(account, {});
  await admin.post(`/groups/${groupId}/members`, { userIds: [one.actorId] });
  assert.equal((await admin.delete(`/groups/${groupId}/members/${one.actorId}`)).status, 204);
});

test('the deletion of the only member leaves the event of an emptied group', async () => {
  const account = await server.account();
  const user = await account.user('ADMIN');
  assert.equal((await account.admin.delete(`/users/${user.actorId}`)).status, 204);
  assert.ok((await eventsOf(account, user.groupIds[0] ?? '')).includes('role-group-emptied'));
});

test('the deletion of a member changes the group', async () => {
  const account = await server.account();
  const { admin } = account;
  const { userId } = (await admin.post<User>('/users', { userName: 'ada' })).body;
  const { groupId } = await createGroup(account, {});
  await admin.post(`/groups/${groupId}/members`, { userIds: [userId] });
  const before = (await admin.get(`/groups/${groupId}`)).etag;
  assert.equal((await admin.delete(`/users/${userId}`)).status, 204);
  assert.notEqual((await admin.get(`/groups/${groupId}`)).etag, before);
});

test('ids of members in upper case are refused, like all ids', async () => {
  const account = await server.account();
  const { admin } = account;
  const { userId } = (await admin.post<User>('/users', { userName: 'ada' })).body;
  const { groupId } = await createGroup(account, {});
  const added = await admin.post(`/groups/${groupId}/members`, { userIds: [userId.toUpperCase()] });
  requireProblem(added, 400, 'invalid-request');
});
