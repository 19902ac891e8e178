/** SCIM and /v1/users, /v1/groups change the same users and groups, by the same rules. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Group, Page, ScimGroup, ScimUser, User } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { scimPath } from './directory.examples.ts';

const server = await startTestServer();
interface ScimList {
  Resources: { id: string }[];
}
const json = { headers: { accept: 'application/json' } };
/** The same name in two forms of Unicode. */
const [composed, decomposed] = ['Zoë'.normalize('NFC'), 'ZOË'.normalize('NFD')];

test('names that differ only in Unicode form or case are the same', async () => {
  const { admin } = await server.account();
  for (const [first, second] of [
    [composed, decomposed],
    [decomposed, composed],
  ] as const) {
    const { userId } = (await admin.post<User>('/users', { userName: first })).body;
    requireProblem(await admin.post('/users', { userName: second }), 409, 'user-name-taken');
    requireProblem(await admin.post(`${scimPath}/Users`, { userName: second }, json), 409, 'user-name-taken');
    const other = (await admin.post<User>('/users', { userName: 'other' })).body;
    requireProblem(await admin.patch(`/users/${other.userId}`, { userName: second }), 409, 'user-name-taken');
    const query = `userName=${encodeURIComponent(second)}`;
    assert.equal((await admin.get<Page<User>>(`/users?${query}`)).body.results[0]?.userId, userId);
    const filter = encodeURIComponent(`userName eq "${second}"`);
    const found = (await admin.get<ScimList>(`${scimPath}/Users?filter=${filter}`)).body;
    assert.deepEqual(
      found.Resources.map(({ id }) => id),
      [userId],
    );
    for (const id of [userId, other.userId]) await admin.delete(`/users/${id}`);
    const { groupId } = (await admin.post<Group>('/groups', { displayName: first })).body;
    requireProblem(await admin.post('/groups', { displayName: second }), 409, 'group-name-taken');
    const again = await admin.post(`${scimPath}/Groups`, { displayName: second }, json);
    requireProblem(again, 409, 'group-name-taken');
    await admin.delete(`/groups/${groupId}`);
  }
});

test('the deletion of a user changes the version of its groups', async () => {
  const { admin } = await server.account();
  const { id } = (await admin.post<ScimUser>(`${scimPath}/Users`, { userName: 'ada' })).body;
  const members = [{ value: id }];
  const group = (await admin.post<ScimGroup>(`${scimPath}/Groups`, { displayName: 'one', members })).body;
  await admin.delete(`/users/${id}`);
  const after = (await admin.get<ScimGroup>(`${scimPath}/Groups/${group.id}`)).body;
  assert.deepEqual(after.members ?? [], []);
  assert.notEqual(after.meta?.version, group.meta?.version);
});

test('PATCH by /v1 keeps what only SCIM shows', async () => {
  const account = await server.account();
  const { admin } = account;
  const project = await account.project();
  const { id } = (await admin.post<ScimUser>(`${scimPath}/Users`, { userName: 'ada', title: 'Countess' }))
    .body;
  await admin.patch(`/users/${id}`, { displayName: 'Ada' });
  assert.equal((await admin.get<ScimUser>(`${scimPath}/Users/${id}`)).body.title, 'Countess');
  const { groupId } = (
    await admin.post<Group>('/groups', { displayName: 'g', role: 'VIEWER', projectId: project.projectId })
  ).body;
  const readName = async () => (await admin.get<ScimGroup>(`${scimPath}/Groups/${groupId}`)).body.projectName;
  const projectName = await readName();
  assert.equal(typeof projectName, 'string');
  await admin.delete(project.path);
  await admin.patch(`/groups/${groupId}`, { displayName: 'renamed' });
  assert.equal(await readName(), projectName);
});

test('events tell the same of members by SCIM and by /v1, and name the attributes that changed', async () => {
  const { accountId, admin } = await server.account();
  const readEvents = async (name: string) =>
    server.database.query<{ before: unknown; after: unknown; subject_name: string }>(
      'select state_before as before, state_after as after, subject_name from event where account_id = $1 and name = $2 order by event_id',
      [accountId, name],
    );
  const { userId } = (await admin.post<User>('/users', { userName: 'ada', displayName: 'Ada' })).body;
  const { groupId } = (await admin.post<Group>('/groups', { displayName: 'one' })).body;
  const change = (op: string) => ({ Operations: [{ op, path: 'members', value: [{ value: userId }] }] });
  await admin.post(`/groups/${groupId}/members`, { userIds: [userId] });
  await admin.delete(`/groups/${groupId}/members/${userId}`);
  await admin.patch(`${scimPath}/Groups/${groupId}`, change('add'));
  await admin.patch(`${scimPath}/Groups/${groupId}`, change('remove'));
  const [ada, nobody] = [{ members: [{ value: userId, display: 'Ada' }] }, { members: [] }];
  const added = [{ removed: nobody }, { added: ada }];
  const removed = [{ removed: ada }, { added: nobody }];
  assert.deepEqual(
    (await readEvents('group-members-changed')).map(({ before, after }) => [before, after]),
    [added, removed, added, removed],
  );
  const title = { Operations: [{ op: 'replace', value: { title: 'Countess', active: 'False' } }] };
  await admin.patch(`${scimPath}/Users/${userId}`, title);
  const [updated] = await readEvents('user-updated');
  assert.deepEqual(updated?.after, {
    userName: 'ada',
    displayName: 'Ada',
    active: false,
    changed: ['active', 'title'],
  });
  await admin.patch('/directory-integration/settings', { protectRoleGroups: true });
  assert.match((await readEvents('directory-settings-updated'))[0]?.subject_name ?? '', /^account /);
});
