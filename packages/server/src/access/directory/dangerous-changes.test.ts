/** The last Super Admin, groups that give roles, the limits of a Directory credential, and dry runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScimDryRun } from '@headgate/contract';
import { createDirectoryClient, memberIds, requireScimError } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

async function createScene() {
  const account = await server.account();
  const owner = createDirectoryClient(account.admin);
  const directory = createDirectoryClient(await account.actor('DIRECTORY'));
  const one = (await owner.createUser('one@example.com')).id;
  const two = (await owner.createUser('two@example.com')).id;
  return { account, owner, directory, one, two };
}

test('the last Super Admin cannot be removed in any way', async () => {
  const { owner, one, two } = await createScene();
  const group = await owner.createGroup('Admins', {
    role: 'super admin',
    members: [{ value: one }, { value: two }],
  });
  assert.equal((await owner.patchUser(two, { op: 'replace', path: 'active', value: false })).status, 200);
  const path = `/Groups/${group.id}`;
  const attempts = [
    owner.patchGroup(group.id, { op: 'remove', path: `members[value eq "${one}"]` }),
    owner.patchGroup(group.id, { op: 'replace', path: 'members', value: [{ value: two }] }),
    owner.patchGroup(group.id, { op: 'replace', path: 'role', value: 'MEMBER' }),
    owner.send('PUT', path, { displayName: 'Admins' }),
    owner.send('DELETE', `${path}?confirm=true`),
    owner.send('DELETE', `/Users/${one}`),
    owner.patchUser(one, { op: 'replace', path: 'active', value: false }),
  ];
  for (const attempt of await Promise.all(attempts)) requireScimError(attempt, 409, 'mutability');
  const second = await owner.createGroup('Other admins', { role: 'SUPER_ADMIN' });
  await owner.patchUser(two, { op: 'replace', path: 'active', value: true });
  await owner.patchGroup(second.id, { op: 'add', path: 'members', value: [{ value: two }] });
  assert.equal((await owner.send('DELETE', path)).status, 204);
});

test('of two requests that each remove one of the last two Super Admins, one is refused', async () => {
  const { owner, one, two } = await createScene();
  const [first, second] = await Promise.all([
    owner.createGroup('First', { role: 'SUPER_ADMIN', members: [{ value: one }] }),
    owner.createGroup('Second', { role: 'SUPER_ADMIN', members: [{ value: two }] }),
  ]);
  const answers = await Promise.all([
    owner.patchGroup(first.id, { op: 'remove', path: 'members' }),
    owner.patchUser(two, { op: 'replace', path: 'active', value: false }),
    owner.send('DELETE', `/Groups/${second.id}`),
  ]);
  assert.ok(
    answers.some(({ status }) => status === 409),
    String(answers.map(({ status }) => status)),
  );
  const left = await server.database.query(
    `select 1 from directory_role r join directory_member m using (account_id, group_id) join directory_user u using (account_id, user_id)
     where r.role = 'SUPER_ADMIN' and u.active and u.user_id = any ($1)`,
    [[one, two]],
  );
  assert.ok(left.length > 0);
});

test('a Directory credential cannot touch what gives roles or SUPER_ADMIN', async () => {
  const { owner, directory, one, two } = await createScene();
  const admins = await owner.createGroup('Admins', {
    role: 'SUPER_ADMIN',
    members: [{ value: one }, { value: two }],
  });
  const plain = await directory.createGroup('Plain');
  const refused = [
    directory.send('POST', '/Groups', { displayName: 'Mine', role: 'ADMIN' }),
    directory.patchGroup(plain.id, { op: 'add', value: { role: 'MEMBER' } }),
    directory.patchGroup(admins.id, { op: 'remove', path: `members[value eq "${one}"]` }),
    directory.patchGroup(admins.id, { op: 'replace', path: 'role', value: 'MEMBER' }),
    directory.send('PUT', `/Groups/${admins.id}`, { displayName: 'Admins', members: [] }),
    directory.send('DELETE', `/Groups/${admins.id}`),
    directory.send('DELETE', `/Users/${one}`),
    directory.patchUser(one, { op: 'replace', path: 'userName', value: 'stolen@example.com' }),
    directory.patchUser(one, { op: 'replace', value: { externalId: 'stolen' } }),
  ];
  for (const answer of await Promise.all(refused)) requireScimError(answer, 403);
  const allowed = [
    directory.patchGroup(admins.id, { op: 'replace', path: 'displayName', value: 'Renamed' }),
    directory.patchGroup(admins.id, { op: 'add', path: 'members', value: [{ value: one }] }),
    directory.patchUser(one, { op: 'replace', path: 'title', value: 'Chief' }),
    directory.patchUser(two, { op: 'replace', path: 'active', value: false }),
    directory.patchGroup(plain.id, { op: 'add', path: 'members', value: [{ value: one }] }),
  ];
  for (const answer of await Promise.all(allowed)) assert.ok(answer.status < 300, answer.text);
  assert.equal((await directory.send('DELETE', `/Groups/${plain.id}`)).status, 204);
  const activate = { op: 'replace', path: 'active', value: true };
  requireScimError(await directory.patchUser(two, activate), 403);
  requireScimError(await directory.send('PUT', `/Users/${two}`, { userName: 'two', active: true }), 403);
  assert.equal((await directory.user(two)).active, false);
  assert.equal((await owner.patchUser(two, activate)).status, 200);
});

test('emptying a group that gives a role leaves an event, and is refused where the account protects it', async () => {
  const { account, owner, directory, one } = await createScene();
  const group = await owner.createGroup('Billing', { role: 'BILLING_ADMIN', members: [{ value: one }] });
  const empty = (query = '') =>
    directory.send('PATCH', `/Groups/${group.id}${query}`, {
      Operations: [{ op: 'remove', path: 'members' }],
    });
  const settings = '/directory-integration/settings';
  await account.admin.patch(settings, { protectRoleGroups: true });
  requireScimError(await empty(), 409, 'mutability');
  requireScimError(await directory.send('DELETE', `/Groups/${group.id}`), 409, 'mutability');
  assert.deepEqual(memberIds(await owner.group(group.id)), [one]);
  assert.equal((await empty('?confirm=true')).status, 200);
  await account.admin.patch(settings, { protectRoleGroups: false });
  await owner.patchGroup(group.id, { op: 'add', path: 'members', value: [{ value: one }] });
  assert.equal((await directory.send('DELETE', `/Users/${one}`)).status, 204);
  const events = await server.database.query(
    "select 1 from event where name = 'role-group-emptied' and subject_id = $1",
    [group.id],
  );
  assert.equal(events.length, 2);
});

test('a dry run shows the effect on members and permissions, and changes nothing', async () => {
  const { account, owner, one, two } = await createScene();
  const project = await account.project();
  const group = await owner.createGroup('Dry', {
    role: 'VIEWER',
    projectId: project.projectId,
    members: [{ value: one }],
  });
  const run = async (method: string, path: string, body?: unknown) =>
    (await owner.send<ScimDryRun>(method, `${path}?dryRun=true`, body)).body;
  const patched = await run('PATCH', `/Groups/${group.id}`, {
    Operations: [
      { op: 'replace', path: 'members', value: [{ value: two }] },
      { op: 'replace', path: 'role', value: 'OWNER' },
    ],
  });
  assert.deepEqual(
    [
      patched.status,
      patched.membersAdded.map(({ user }) => user.value),
      patched.membersRemoved.map(({ user }) => user.value),
    ],
    ['200', [two], [one]],
  );
  assert.deepEqual(
    [patched.permissionsGained, patched.permissionsLost],
    [
      [{ user: { value: two, display: 'two@example.com' }, role: 'OWNER', projectId: project.projectId }],
      [{ user: { value: one, display: 'one@example.com' }, role: 'VIEWER', projectId: project.projectId }],
    ],
  );
  const deleted = await run('DELETE', `/Users/${one}`);
  assert.deepEqual(
    [deleted.status, deleted.totals.permissionsLost, deleted.totals.membersRemoved],
    ['204', 1, 1],
  );
  const off = await run('PATCH', `/Users/${one}`, {
    Operations: [{ op: 'replace', path: 'active', value: false }],
  });
  assert.equal(off.totals.permissionsLost, 1);
  const made = await run('POST', '/Users', { userName: 'dry@example.com' });
  assert.equal(made.status, '201');
  const bulk = await run('POST', '/Bulk', {
    Operations: [{ method: 'DELETE', path: `/Groups/${group.id}` }],
  });
  assert.equal(bulk.totals.permissionsLost, 1);
  assert.deepEqual(await owner.group(group.id), group);
  assert.equal((await owner.find('Users', 'userName eq "dry@example.com"')).totalResults, 0);
});
