/**
 * Work that servers hold: leases, turns, interruptions and stops, for all kinds. The kind of these tests is none of the
 * server.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import pg from 'pg';
import { startTestServer } from '../../../testing/server.ts';
import { claimDue, silentLeases } from '../../../testing/server-work.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { type Database, statement } from '../database/database.ts';
import { createLeases } from './lease.ts';
import { createPlaces } from './places.ts';
import {
  type HeldWork,
  hastenAfterClockChange,
  insertWork,
  LeaseLost,
  releaseWork,
  removeWork,
  writeAsHolder,
} from './server-work.ts';
import {
  createServerWorker,
  createWorkerJob,
  type ServerWorkKind,
  type WorkerServices,
} from './server-worker.ts';

const server = await startTestServer();
const { clock, deps } = server;
const { database } = deps;
const accounts = await Promise.all(Array.from({ length: 3 }, async () => (await server.account()).accountId));
const [account = ''] = accounts;
const kind = 'test';
const leaseSeconds = 20;

beforeEach(async () => {
  await server.database.query('delete from server_work where kind = $1', [kind]);
});

async function insert(accountId = account): Promise<string> {
  const work = { account_id: accountId, work_id: randomUUID(), kind, due_at: clock.now() };
  await database.transaction((tx) => tx.send(insertWork, work));
  return work.work_id;
}

async function readWork(workId: string) {
  const [row] = await server.database.query('select * from server_work where work_id = $1', [workId]);
  return row as
    | { due_at: Date | null; lease_until: Date | null; attempts: number; interruptions: number }
    | undefined;
}

const wake = statement(
  { parameters: { work_id: 'uuid', due_at: 'timestamptz' } },
  'update server_work set due_at = $due_at where work_id = $work_id',
);

const end = (held: HeldWork) => database.transaction((tx) => removeWork(tx, held));

function createKind(more: Partial<ServerWorkKind> = {}): ServerWorkKind {
  return {
    ...{ kind, name: 'tests', lookMilliseconds: 50, leaseSeconds, places: createPlaces(100, 100) },
    run: end,
    ...more,
  };
}

/** A worker of another server. */
function createWorker(more: Partial<ServerWorkKind> = {}, services: Partial<WorkerServices> = {}) {
  return createServerWorker({ ...deps, leases: createLeases(deps), ...services }, createKind(more));
}

async function workOff(more: Partial<ServerWorkKind> = {}): Promise<void> {
  const worker = createWorker(more);
  while (await worker.look()) await worker.wait();
}

test('two servers that look at the same time hold each work once', async () => {
  const ids = await Promise.all(Array.from({ length: 50 }, () => insert()));
  const runs: string[] = [];
  const run = async (held: HeldWork) => {
    runs.push(held.work_id);
    await end(held);
  };
  const workers = [createWorker({ run }), createWorker({ run }), createWorker({ run })];
  await Promise.all(workers.map((worker) => worker.look()));
  await Promise.all(workers.map((worker) => worker.wait()));
  assert.deepEqual(runs.toSorted(), ids.toSorted());
});

test('a server that lost its lease is told so, and writes nothing', async () => {
  const id = await insert();
  const outcome = Promise.withResolvers<unknown>();
  const worker = createWorker({
    async run(held, signal) {
      const lost = new Promise((resolve) => signal.addEventListener('abort', resolve));
      await lost;
      const writing = writeAsHolder(database, held, (tx) =>
        tx.send(wake, { work_id: id, due_at: clock.now() }),
      );
      await writing.catch(outcome.resolve);
      throw new Error('it was lost');
    },
  });
  await worker.look();
  // Another server takes it, as if this one had not extended its lease.
  await server.database.query('update server_work set epoch = epoch + 1 where work_id = $1', [id]);
  clock.advance(leaseSeconds / 2);
  assert.ok((await outcome.promise) instanceof LeaseLost);
  await worker.wait();
  assert.equal((await readWork(id))?.due_at, null);
});

test('a server without the database for the time of a lease ends what it does', async (t) => {
  const id = await insert();
  const away: Database = { ...database, read: () => Promise.reject(new Error('away')) };
  const final = Promise.withResolvers<void>();
  const worker = createWorker(
    {
      run: (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('ended')))),
    },
    { leases: createLeases({ database: away, clock }) },
  );
  await worker.look();
  void worker.wait().then(final.resolve);
  const { now } = performance;
  t.mock.method(performance, 'now', () => now.call(performance) + leaseSeconds * 1_000);
  await final.promise;
  assert.notEqual((await readWork(id))?.lease_until, null, 'it gives nothing back that it may not hold');
});

test('a lease is extended while its work goes on, also for hours', async () => {
  const id = await insert();
  const gate = Promise.withResolvers<void>();
  const worker = createWorker({
    async run(held) {
      await gate.promise;
      await end(held);
    },
  });
  await worker.look();
  for (let time = 0; time < 3; time += 1) {
    clock.advance(leaseSeconds / 2);
    const { now } = clock;
    await waitUntil('a longer lease', 120, async () => {
      const until = (await readWork(id))?.lease_until;
      return until != null && until.getTime() - now().getTime() > (leaseSeconds / 2) * 1_000;
    });
  }
  assert.equal(await createWorker().look(), false);
  gate.resolve();
  await worker.wait();
  assert.equal(await readWork(id), undefined);
});

test('a server does not take from itself what it holds, when its clock is moved forward', async () => {
  await insert();
  const gate = Promise.withResolvers<void>();
  let runs = 0;
  const worker = createWorker({
    async run(held) {
      runs += 1;
      await gate.promise;
      await end(held);
    },
  });
  await worker.look();
  clock.advance(86_400);
  await worker.look();
  gate.resolve();
  await worker.wait();
  assert.equal(runs, 1);
});

test('a server that stops waits for its work, and what does not end is given back at once', async () => {
  const id = await insert();
  const stopping = new AbortController();
  const begun = Promise.withResolvers<void>();
  const services = { ...deps, stopping: stopping.signal };
  const job = createWorkerJob(
    services,
    createKind({
      run(_, signal) {
        begun.resolve();
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      },
    }),
  );
  const running = job.run(async () => undefined);
  await begun.promise;
  stopping.abort();
  await running;
  assert.deepEqual(
    [await readWork(id)].map((row) => [row?.lease_until, row?.attempts, row?.interruptions]),
    [[null, 0, 0]],
  );
  await workOff();
  assert.equal(await readWork(id), undefined);
});

test('servers that claim at the same moment hold one interrupted work', async () => {
  await insert();
  await insert();
  assert.equal((await claimDue(deps, createKind())).length, 2);
  clock.advance(leaseSeconds + 1);
  const client = new pg.Client(server.database.connection);
  await client.connect();
  const text = `select pg_advisory_xact_lock(hashtextextended('interrupted ${kind}', 0))`;
  await client.query(`begin; ${text}`);
  const claims = Array.from({ length: 4 }, () => claimDue(deps, createKind()));
  await waitUntil('claims that wait', 60, async () => {
    const waiting = await server.database.query(
      "select from pg_locks where locktype = 'advisory' and not granted",
    );
    return waiting.length === claims.length;
  });
  await client.query('commit');
  assert.equal((await Promise.all(claims)).flat().length, 1);
  await client.end();
});

test('a failure of a look does not end the wait for what is under way', async () => {
  await insert();
  const { promise: open, resolve } = Promise.withResolvers<void>();
  let isDone = false;
  const failing = { ...database, read: database.read };
  const worker = createServerWorker(
    { ...deps, database: failing },
    createKind({
      async run(held) {
        await open;
        await end(held);
        isDone = true;
      },
    }),
  );
  await worker.look();
  failing.read = () => Promise.reject(new Error('the database is away'));
  const look = worker.look();
  const waited = worker.wait();
  await assert.rejects(look, /away/);
  resolve();
  await waited;
  assert.ok(isDone);
});

test('work that was interrupted twice is set aside, and what its servers held besides is done', async () => {
  const guilty = await insert();
  clock.advance(1);
  const innocent = await insert();
  const [first, ...others] = await claimDue(deps, { kind, leaseSeconds });
  assert.deepEqual([first, ...others].map((held) => held?.work_id).toSorted(), [guilty, innocent].toSorted());
  clock.advance(leaseSeconds + 1);
  const [again, ...more] = await claimDue(deps, { kind, leaseSeconds });
  assert.deepEqual([again?.interruptions, more], [1, []], 'one at a time');
  clock.advance(leaseSeconds + 1);
  const aside: string[] = [];
  const done: string[] = [];
  await workOff({
    async setAside(held) {
      aside.push(held.work_id);
      await end(held);
    },
    async run(held) {
      done.push(held.work_id);
      await end(held);
    },
  });
  assert.deepEqual(aside, [again?.work_id]);
  assert.deepEqual(done, [again?.work_id === guilty ? innocent : guilty]);
});

test('what failed is tried again later, and a success forgets it', async () => {
  const id = await insert();
  const failing = { run: () => Promise.reject(new Error('it fails')) };
  await workOff(failing);
  const failed = await readWork(id);
  assert.equal(failed?.attempts, 1);
  assert.equal(failed.due_at?.getTime(), clock.now().getTime() + 30_000);
  clock.advance(31);
  await workOff(failing);
  assert.equal((await readWork(id))?.attempts, 2);
  clock.advance(31);
  await workOff({
    run: async (held) =>
      void (await releaseWork(database.read, held, { outcome: 'done', dueAt: null, now: clock.now() })),
  });
  assert.deepEqual([(await readWork(id))?.attempts, (await readWork(id))?.due_at], [0, null]);
});

test('a wake that comes while the work is held makes it due again', async () => {
  const id = await insert();
  let runs = 0;
  await workOff({
    async run(held) {
      runs += 1;
      if (runs === 1) await database.read(wake, { work_id: id, due_at: clock.now() });
      await releaseWork(database.read, held, { outcome: 'done', dueAt: null, now: clock.now() });
    },
  });
  assert.equal(runs, 2);
});

test('accounts take turns, and one account gets its part of the places', async () => {
  const [busy = '', other = '', third = ''] = accounts;
  for (let count = 0; count < 20; count += 1) await insert(busy);
  for (const accountId of [other, third]) await insert(accountId);
  const gate = Promise.withResolvers<void>();
  const held: string[] = [];
  const worker = createWorker({
    places: createPlaces(6, 3),
    async run(work) {
      held.push(work.account_id);
      await gate.promise;
      await end(work);
    },
  });
  await worker.look();
  assert.deepEqual(
    accounts.map((accountId) => held.filter((each) => each === accountId).length),
    [3, 1, 1],
  );
  gate.resolve();
  await worker.wait();
  assert.equal(held.length, 22, 'each end makes room');
});

test('with fewer places than accounts, a look goes on after the last account', async () => {
  for (const accountId of accounts) for (let count = 0; count < 2; count += 1) await insert(accountId);
  const order: string[] = [];
  const worker = createWorker({
    places: createPlaces(1, 1),
    async run(work) {
      order.push(work.account_id);
      await end(work);
    },
  });
  while (await worker.look()) await worker.wait();
  const sorted = accounts.toSorted();
  assert.deepEqual(order, [...sorted, ...sorted]);
});

test('a clock that is moved back delays nothing: what is due later, and what a dead server held', async () => {
  const hour = 3_600;
  const [later, dead] = [await insert(), await insert()];
  await claimDue(deps, { kind, leaseSeconds });
  const now = clock.now();
  const held = { account_id: account, work_id: later, epoch: 1 };
  await releaseWork(database.read, held, { outcome: 'failed', dueAt: new Date(now.getTime() + 60_000), now });
  clock.advance(-hour);
  await workOff();
  assert.ok((await readWork(later)) !== undefined && (await readWork(dead)) !== undefined);
  await hastenAfterClockChange(database.read, clock.now());
  await workOff();
  assert.equal(await readWork(later), undefined);
  clock.advance(leaseSeconds + 1);
  await workOff();
  assert.equal(await readWork(dead), undefined);
  clock.advance(hour);
});

test('a server that cannot work sets aside what no other one has taken for long', async () => {
  const id = await insert();
  const helpless = { canWork: async () => false, silentSeconds: 900, setAside: end };
  await workOff(helpless);
  assert.ok((await readWork(id)) !== undefined);
  clock.advance(901);
  await workOff(helpless);
  assert.equal(await readWork(id), undefined);
});

test('an end under a lease of before changes nothing', async () => {
  const id = await insert();
  const gate = Promise.withResolvers<void>();
  const slow = createWorker(
    {
      async run(held) {
        await gate.promise;
        clock.advance(leaseSeconds + 1);
        await claimDue(deps, { kind, leaseSeconds });
        await assert.rejects(end(held), LeaseLost);
        const now = clock.now();
        await assert.rejects(
          releaseWork(database.read, held, { outcome: 'done', dueAt: null, now }),
          LeaseLost,
        );
      },
    },
    { leases: silentLeases },
  );
  await slow.look();
  gate.resolve();
  await slow.wait();
  assert.equal((await readWork(id))?.interruptions, 1);
});

test('a lease is extended also while the clock of the server stands still', async (t) => {
  const id = await insert();
  const gate = Promise.withResolvers<void>();
  let isLost = false;
  const worker = createWorker({
    async run(held, signal) {
      signal.addEventListener('abort', () => {
        isLost = true;
      });
      await gate.promise;
      await end(held);
    },
  });
  const readTouched = async () => {
    const [row] = await server.database.query('select xmin::text from server_work where work_id = $1', [id]);
    return row?.xmin;
  };
  await worker.look();
  const { now } = performance;
  let passed = 0;
  t.mock.method(performance, 'now', () => now.call(performance) + passed);
  for (let time = 0; time < 3; time += 1) {
    const before = await readTouched();
    passed += leaseSeconds * 500;
    await waitUntil('another extension', 120, async () => (await readTouched()) !== before);
  }
  assert.equal(isLost, false);
  gate.resolve();
  await worker.wait();
});
