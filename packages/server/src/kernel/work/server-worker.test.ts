/**
 * Work that servers hold: turns, interruptions and stops, for all kinds. The kind of these tests is none of the
 * server.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { claimDue } from '../../../testing/server-work.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { createPlaces } from './places.ts';
import { type HeldWork, hastenAfterClockChange, releaseWork } from './server-work.ts';
import { createServerWorker, createWorkerJob } from './server-worker.ts';
import { createTestWork, kind, leaseSeconds, wake } from './test-work-fixture.ts';

const {
  server,
  clock,
  deps,
  database,
  accounts,
  account,
  insert,
  readWork,
  end,
  createKind,
  createWorker,
  workOff,
} = await createTestWork();

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
