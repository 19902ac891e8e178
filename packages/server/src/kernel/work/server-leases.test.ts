/** Leases of work that servers hold: losses, extensions, and ends under an older one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimDue, silentLeases } from '../../../testing/server-work.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import type { Database } from '../database/database.ts';
import { createLeases } from './lease.ts';
import { LeaseLost, releaseWork, writeAsHolder } from './server-work.ts';
import { createTestWork, kind, leaseSeconds, wake } from './test-work-fixture.ts';

const { server, clock, deps, database, insert, readWork, end, createWorker } = await createTestWork();

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
