/** Changes of the same resources at once, and the initial sync of a directory, repeated and killed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScimGroup } from '@headgate/contract';
import { createDirectoryClient, type DirectoryClient, memberIds } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

async function createUsers(directory: DirectoryClient, count: number): Promise<string[]> {
  const made = Array.from({ length: count }, (_, index) => directory.createUser(`user${index}@example.com`));
  return (await Promise.all(made)).map(({ id }) => id);
}

test('patches of one group at once lose no member', async () => {
  const directory = createDirectoryClient((await server.account()).admin);
  const ids = await createUsers(directory, 20);
  const group = await directory.createGroup('Busy', { members: ids.slice(0, 5).map((value) => ({ value })) });
  const answers = await Promise.all([
    ...ids
      .slice(5)
      .map((value) => directory.patchGroup(group.id, { op: 'add', path: 'members', value: [{ value }] })),
    ...ids
      .slice(0, 5)
      .map((id) => directory.patchGroup(group.id, { op: 'remove', path: `members[value eq "${id}"]` })),
  ]);
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  const after = await directory.group(group.id);
  assert.deepEqual(memberIds(after), ids.slice(5).toSorted());
  assert.equal(after.meta?.version?.split('-')[0], '"21');
});

test('with If-Match, of two changes that read the same state one is refused', async () => {
  const directory = createDirectoryClient((await server.account()).admin);
  const [id = ''] = await createUsers(directory, 1);
  const group = await directory.createGroup('Matched');
  for (const [path, attribute, etag] of [
    [`/Users/${id}`, 'title', (await directory.user(id)).meta?.version],
    [`/Groups/${group.id}`, 'externalId', group.meta?.version],
  ] as const) {
    const change = (value: string) =>
      directory.send(
        'PATCH',
        path,
        { Operations: [{ op: 'replace', path: attribute, value }] },
        { 'if-match': etag ?? '' },
      );
    const answers = await Promise.all(['x', 'y', 'z'].map(change));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 412, 412]);
  }
});

test('users who are deleted while groups change leave no trace and no deadlock', async () => {
  const directory = createDirectoryClient((await server.account()).admin);
  const ids = await createUsers(directory, 10);
  const groups = await Promise.all(
    ['One', 'Two', 'Three'].map((name) =>
      directory.createGroup(name, { members: ids.map((value) => ({ value })) }),
    ),
  );
  const answers = await Promise.all([
    ...ids.slice(0, 5).map((id) => directory.send('DELETE', `/Users/${id}`)),
    ...groups.flatMap(({ id }) =>
      ids
        .slice(5)
        .map((user) => directory.patchGroup(id, { op: 'remove', path: `members[value eq "${user}"]` })),
    ),
  ]);
  for (const answer of answers) assert.ok(answer.status < 300, answer.text);
  for (const { id } of groups) assert.deepEqual(memberIds(await directory.group(id)), []);
});

const people = 120;
const teams = 8;

/** As directories do it: find by name, create or change. Stops after some requests. */
async function synchronize(directory: DirectoryClient, requests = Number.POSITIVE_INFINITY): Promise<void> {
  let left = requests;
  const count = () => {
    left -= 1;
    if (left < 0) throw new Error('killed');
  };
  const ids: string[] = [];
  for (let start = 0; start < people; start += 10) {
    const batch = Array.from({ length: 10 }, async (_, offset) => {
      count();
      const userName = `person${start + offset}@sync.example`;
      const { Resources } = await directory.find('Users', `userName eq "${userName}"`);
      const [found] = Resources;
      if (found === undefined) return (await directory.createUser(userName, { title: 'Member' })).id;
      await directory.patchUser(found.id, { op: 'Replace', path: 'title', value: 'Member' });
      return found.id;
    });
    ids.push(...(await Promise.all(batch)));
  }
  for (let team = 0; team < teams; team++) {
    count();
    const displayName = `Team ${team}`;
    const { Resources } = await directory.find('Groups', `displayName eq "${displayName}"`);
    const id = Resources[0]?.id ?? (await directory.createGroup(displayName)).id;
    const value = ids.filter((_, index) => index % teams === team).map((each) => ({ value: each }));
    const answer = await directory.patchGroup(id, { op: 'Add', path: 'members', value });
    assert.equal(answer.status, 200, answer.text);
  }
}

test('an initial sync, repeated three times and killed twice, ends in the same state', async () => {
  const directory = createDirectoryClient((await server.account()).admin);
  const state = async () => {
    const groups = await directory.send<{ totalResults: number; Resources: ScimGroup[] }>(
      'GET',
      '/Groups?count=1000',
    );
    const users = await directory.find('Users', 'title eq "Member"');
    return {
      users: users.totalResults,
      groups: groups.body.Resources.map(({ meta, ...group }) => ({ ...group, version: meta?.version })),
    };
  };
  await assert.rejects(synchronize(directory, 50), /killed/);
  await assert.rejects(synchronize(directory, people + 3), /killed/);
  await synchronize(directory);
  const first = await state();
  assert.deepEqual([first.users, first.groups.length], [people, teams]);
  assert.ok(first.groups.every(({ members }) => members?.length === people / teams));
  await synchronize(directory);
  await synchronize(directory);
  assert.deepEqual(await state(), first, 'a sync that finds everything changes nothing');
});
