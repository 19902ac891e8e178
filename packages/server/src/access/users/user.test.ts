/** Users of the account by /v1/users. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, User } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const never = '01890000-0000-7000-8000-000000000000';

async function createUser({ admin }: Awaited<ReturnType<typeof server.account>>, user: object) {
  return (await admin.post<User>('/users', user)).body;
}

test('a user is created, found at its Location, and listed by userName', async () => {
  const account = await server.account();
  const { admin } = account;
  const answer = await admin.post<User>('/users', { userName: 'Zoe@example.com', displayName: 'Zoe' });
  assert.equal(answer.status, 201);
  assert.match(String(answer.headers.location), new RegExp(`/dpc/v1/users/${answer.body.userId}$`));
  const read = await admin.get<User>(`/users/${answer.body.userId}`);
  assert.deepEqual(read.body, answer.body);
  assert.equal(read.etag, answer.etag);
  assert.equal(answer.body.active, true);
  await createUser(account, { userName: 'ada@example.com', active: false });
  const { results, total } = (await admin.get<Page<User>>('/users')).body;
  assert.deepEqual(
    results.map(({ userName, active }) => [userName, active]),
    [
      ['ada@example.com', false],
      ['Zoe@example.com', true],
    ],
  );
  assert.equal(total, 2);
});

test('a name that Unicode composes in another way is taken, for users and groups', async () => {
  const { admin } = await server.account();
  for (const [path, member, code] of [
    ['/users', 'userName', 'user-name-taken'],
    ['/groups', 'displayName', 'group-name-taken'],
  ] as const) {
    assert.equal((await admin.post(path, { [member]: 'Jos\u00e9' })).status, 201);
    requireProblem(await admin.post(path, { [member]: 'Jose\u0301' }), 409, code);
  }
  const found = await admin.get<Page<User>>('/users?userName=JOSE%CC%81');
  assert.equal(found.body.total, 1);
});

test('a userName is unique regardless of case, and the filter finds it regardless of case', async () => {
  const account = await server.account();
  const { admin } = account;
  const { userId } = await createUser(account, { userName: 'Ada@Example.com' });
  const taken = requireProblem(
    await admin.post('/users', { userName: 'ada@example.COM' }),
    409,
    'user-name-taken',
  );
  assert.match(taken.detail, /"ada@example\.COM"/);
  const other = await createUser(account, { userName: 'bea@example.com' });
  const renamed = await admin.patch(`/users/${other.userId}`, { userName: 'ADA@example.com' });
  requireProblem(renamed, 409, 'user-name-taken');
  const find = async (query: string) => (await admin.get<Page<User>>(`/users?${query}`)).body;
  const found = await find('userName=ADA@EXAMPLE.COM');
  assert.deepEqual([found.total, found.results.map((user) => user.userId)], [1, [userId]]);
  assert.deepEqual((await find('userName=ADA@EXAMPLE.COM&page=1')).results, []);
  assert.deepEqual((await find('userName=nobody')).total, 0);
});

test('PATCH changes what it names, null removes a member, and the events tell both states', async () => {
  const account = await server.account();
  const { admin } = account;
  const { userId } = await createUser(account, {
    userName: 'ada',
    displayName: 'Ada',
    externalId: 'x1',
  });
  const path = `/users/${userId}`;
  const changed = (await admin.patch<User>(path, { displayName: null, active: false })).body;
  assert.deepEqual(
    [changed.userName, changed.displayName, changed.externalId, changed.active],
    ['ada', undefined, 'x1', false],
  );
  const events = await server.database.query<{ name: string }>(
    'select name from event where account_id = $1 and subject_id = $2 order by event_id',
    [account.accountId, userId],
  );
  assert.deepEqual(
    events.map(({ name }) => name),
    ['user-created', 'user-updated', 'user-deactivated'],
  );
});

test('a user of another account, and one that never was, are not found', async () => {
  const account = await server.account();
  const { userId } = await createUser(account, { userName: 'ada' });
  const { admin: stranger } = await server.account();
  for (const id of [userId, never, 'no-uuid']) {
    const path = `/users/${id}`;
    requireProblem(await stranger.get(path), 404, 'user-not-found');
    requireProblem(await stranger.patch(path, { active: false }), 404, 'user-not-found');
    requireProblem(await stranger.delete(path), 404, 'user-not-found');
    requireProblem(await stranger.get(`${path}/credentials`), 404, 'user-not-found');
    requireProblem(await stranger.get(`${path}/groups`), 404, 'user-not-found');
    requireProblem(await stranger.post(`${path}/credentials`, { name: 'x' }), 404, 'user-not-found');
    requireProblem(await stranger.delete(`${path}/credentials/${never}`), 404, 'user-credential-not-found');
  }
});

test('invalid users are refused with every fault', async () => {
  const { admin } = await server.account();
  for (const body of [
    {},
    { userName: '' },
    { userName: '   ' },
    { userName: 'x'.repeat(256) },
    { userName: 'x', active: 'yes' },
    { userName: 'a\u0000b' },
    { userName: '\ud800' },
    { userName: 'x', displayName: '' },
    [],
  ])
    requireProblem(await admin.post('/users', body), 400, 'invalid-request');
  requireProblem(await admin.patch(`/users/${never}`, { userName: null }), 400, 'invalid-request');
});

test('only a Super Admin manages users, and a Directory credential cannot create personal credentials', async () => {
  const account = await server.account();
  const { userId } = await createUser(account, { userName: 'ada' });
  for (const role of ['ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY'] as const) {
    const actor = await account.actor(role);
    requireProblem(await actor.get('/users'), 403, 'forbidden');
    requireProblem(await actor.post(`/users/${userId}/credentials`, { name: 'x' }), 403, 'forbidden');
  }
});
