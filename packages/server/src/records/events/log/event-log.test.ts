/** The log of an account: each committed event once, in commit order, and to each reader what it may read. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import pg from 'pg';
import { requireProblem } from '../../../../testing/client.ts';
import { startTestServer } from '../../../../testing/server.ts';
import { waitUntil } from '../../../../testing/waiting.ts';
import { getEventsKey } from '../../../kernel/database/event-news.ts';
import { createWait } from '../../../kernel/database/wakes.ts';
import { eventRetention } from '../event.retention.ts';
import { type EventFilter, readEventsAfter } from './event-log.ts';
import { eventNumberingJob } from './event-numbering.ts';
import { type EventReach, readEventReaches } from './event-reach.ts';

const server = await startTestServer();
const { deps, database, clock } = server;

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(database.connection);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

const all: EventReach = { all: true };
const readAll = (accountId: string, filter?: EventFilter, reach: EventReach = all, limit = 1_000) =>
  readEventsAfter(deps.database, { accountId, after: 0, limit, reach, filter });
const insert = (client: pg.Client, accountId: string, name: string) =>
  client.query(
    `insert into event (account_id, occurred_at, event_id, name, actor_kind, subject_type, subject_id)
     values ($1, $2, $3, 'variable-created', 'system', 'variable', $4)`,
    [accountId, clock.now(), randomUUID(), name],
  );

test('positions are dense and in the order of the commits', async () => {
  const account = await server.account();
  const { path } = await account.project();
  const { events: before, last } = await readAll(account.accountId);
  assert.deepEqual(
    before.map(({ position }) => position),
    before.map((_, index) => index + 1),
  );
  for (const name of ['one', 'two', 'three'])
    await account.admin.post(`${path}/variables`, { name, type: 'TEXT', behaviour: 'SHARED' });
  const { events, hasMore } = await readEventsAfter(deps.database, {
    accountId: account.accountId,
    after: last,
    limit: 100,
    reach: all,
  });
  assert.deepEqual(
    events.map(({ position, subject_name }) => [position, subject_name]),
    [
      [last + 1, 'one'],
      [last + 2, 'two'],
      [last + 3, 'three'],
    ],
  );
  assert.equal(hasMore, false);
});

test('a slow transaction delays no other one, and its events come when it has committed', async () => {
  const { accountId } = await server.account();
  const [slow, quick] = [await connect(), await connect()];
  await slow.query('begin');
  await insert(slow, accountId, 'slow');
  await insert(quick, accountId, 'quick');
  const { events: first, last } = await readAll(accountId);
  assert.equal(first.at(-1)?.subject_id, 'quick');
  await slow.query('commit');
  const { events } = await readEventsAfter(deps.database, { accountId, after: last, limit: 10, reach: all });
  assert.deepEqual(
    events.map(({ subject_id }) => subject_id),
    ['slow'],
  );
});

test('events of a transaction that began early come even when many were numbered since', async () => {
  const { accountId } = await server.account();
  const [slow, quick] = [await connect(), await connect()];
  await slow.query('begin');
  await insert(slow, accountId, 'slow');
  for (const round of [1, 2, 3, 4, 5]) {
    await insert(quick, accountId, `quick ${round}`);
    await readAll(accountId);
  }
  await slow.query('commit');
  const { events } = await readAll(accountId);
  assert.equal(events.at(-1)?.subject_id, 'slow');
  // Soon the search for pending events need not pass those of now. Transactions of other tests delay that.
  await waitUntil('settled events', 120, async () => {
    await insert(quick, accountId, 'later');
    await readAll(accountId);
    const rows = await database.query(
      'select from event_position where account_id = $1 and settled_sequence > 0 and settled_sequence < last_sequence',
      [accountId],
    );
    return rows.length > 0;
  });
});

test('two transactions that change the same row are in the order of their commits', async () => {
  const { accountId } = await server.account();
  const [one, other] = [await connect(), await connect()];
  const lock = 'update account set name = name where account_id = $1';
  for (const round of [1, 2, 3]) {
    await one.query('begin');
    await one.query(lock, [accountId]);
    await other.query('begin');
    const waiting = other.query(lock, [accountId]);
    await insert(one, accountId, `first ${round}`);
    await one.query('commit');
    await waiting;
    await insert(other, accountId, `second ${round}`);
    await other.query('commit');
  }
  const { events } = await readAll(accountId, { names: ['variable-created'] });
  assert.deepEqual(
    events.map(({ subject_id }) => subject_id),
    [1, 2, 3].flatMap((round) => [`first ${round}`, `second ${round}`]),
  );
});

test('readers that number at the same time give each event one position', async () => {
  const { accountId } = await server.account();
  const writers = await Promise.all(Array.from({ length: 4 }, connect));
  const write = async (client: pg.Client, writer: number) => {
    for (let round = 0; round < 50; round += 1) await insert(client, accountId, `${writer} ${round}`);
  };
  let isWriting = true;
  const readers = Array.from({ length: 4 }, async () => {
    const seen: string[] = [];
    let position = 0;
    for (let isLast = false; !isLast; ) {
      isLast = !isWriting;
      const read = { accountId, after: position, limit: 7, reach: all };
      const { events, through } = await readEventsAfter(deps.database, read);
      isLast &&= events.length === 0;
      seen.push(...events.map(({ event_id }) => event_id));
      position = through;
    }
    return seen;
  });
  await Promise.all(writers.map(write));
  isWriting = false;
  const { events } = await readAll(accountId);
  const ids = events.map(({ event_id }) => event_id);
  assert.equal(new Set(ids).size, 201);
  for (const seen of await Promise.all(readers)) assert.deepEqual(seen, ids);
});

test('filters select events, and the position moves past the others', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED' };
  await account.admin.post(`${path}/variables`, city);
  await account.admin.post(`${path}/variables/city/environment-overrides`, {
    environmentName: 'dev',
    value: 'Bergen',
  });
  const { accountId } = account;
  const list = async (filter: EventFilter) =>
    (await readAll(accountId, filter)).events.map(({ name, environment_name }) => [name, environment_name]);
  assert.deepEqual(await list({ environmentName: 'dev' }), [
    ['environment-created', 'dev'],
    ['override-written', 'dev'],
  ]);
  assert.deepEqual(await list({ projectId, subjectType: 'variable', names: ['variable-created'] }), [
    ['variable-created', null],
  ]);
  assert.deepEqual(await list({ projectId, actorId: randomUUID() }), []);
  const { through, last } = await readAll(accountId, { subjectId: 'nothing' });
  assert.equal(through, last);
  assert.equal((await readAll(accountId, {}, all, 2)).hasMore, true);
});

test('a Super Admin reads all events, others those of their projects, none those of another account', async () => {
  const account = await server.account();
  const [one, other] = [await account.project(), await account.project()];
  const { accountId, admin } = account;
  const reader = await account.user('MEMBER', { projectId: one.projectId, role: 'VIEWER' });
  const runner = await account.actor('ADMIN', {
    projectId: other.projectId,
    environmentName: 'dev',
    role: 'OPERATOR',
  });
  const reach = async (principalId: string) =>
    (await readEventReaches(deps.database.read, accountId, [{ principalId }], clock.now()))[0];
  assert.deepEqual(await reach(admin.actorId), all);
  assert.deepEqual(await reach(reader.actorId), { projects: [one.projectId] });
  assert.deepEqual(
    await reach(runner.actorId),
    { projects: [] },
    'a role in an environment reads no project',
  );
  const stranger = await server.account();
  assert.equal(await reach(stranger.admin.actorId), undefined);
  const { events } = await readAll(accountId, {}, (await reach(reader.actorId)) ?? assert.fail());
  assert.ok(events.length > 0 && events.every(({ project_id }) => project_id === one.projectId));
  const both = [{ principalId: randomUUID() }, { principalId: reader.actorId, userAccessId: randomUUID() }];
  assert.deepEqual(
    await readEventReaches(deps.database.read, accountId, both, clock.now()),
    [undefined, undefined],
    'unknown, and by a credential that was deleted',
  );
});

test('retention leaves the position of what it removed, and removes only what has one', async () => {
  const account = await server.account();
  const { accountId } = account;
  const { last } = await readAll(accountId);
  const rule = eventRetention(1);
  const remove = async () => {
    const before = new Date(clock.now().getTime() - 86_400_000);
    const [row] = await deps.database.read(rule.remove, { account_id: accountId, before, cursor: null });
    return row?.removed;
  };
  clock.advance(3 * 86_400);
  assert.equal(await remove(), last);
  await account.project();
  clock.advance(3 * 86_400);
  assert.equal(await remove(), 0);
  const { events, removed } = await readAll(accountId);
  assert.deepEqual([removed, events[0]?.position], [last, last + 1]);
});

test('a commit wakes those that wait for events, a refused write does not', async () => {
  const account = await server.account();
  const { path } = await account.project();
  const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED' };
  const isWoken = async (work: () => Promise<unknown>) => {
    const wait = createWait(deps.wakes, getEventsKey(account.accountId));
    try {
      const woken = wait.waitAtMost(300, new AbortController().signal);
      await work();
      return await woken;
    } finally {
      wait.end();
    }
  };
  // The wake-up of the project's events.
  await isWoken(async () => undefined);
  assert.equal(await isWoken(() => account.admin.post(`${path}/variables`, city)), true);
  await isWoken(async () => undefined);
  assert.equal(
    await isWoken(async () =>
      requireProblem(await account.admin.post(`${path}/variables`, city), 409, 'variable-name-taken'),
    ),
    false,
  );
});

test('events without readers get positions', async () => {
  const { accountId } = await server.account();
  await eventNumberingJob(deps).run(async () => undefined);
  const rows = await database.query('select from event where account_id = $1 and position is null', [
    accountId,
  ]);
  assert.equal(rows.length, 0);
});
