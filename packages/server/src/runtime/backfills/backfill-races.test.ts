/** Backfills at two servers on one database, and while connections die. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { createBackfilled } from '../../../testing/backfilled-project.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { advanceBackfills } from './backfill-rounds.ts';

const startsAt = new Date('2026-11-20T10:00:00.000Z');
const one = await startTestServer({ startsAt });
const other = await startTestServer({ startsAt, database: one.database });
const hourly = { cronExpression: '0 0 * * * ?' };
const twoDays = { from: '2026-11-01T00:00:00Z', to: '2026-11-03T00:00:00Z' };
const advanceBoth = () => Promise.all([one, other, one, other].map(({ deps }) => advanceBackfills(deps)));

type Found = Awaited<ReturnType<typeof createBackfilled>>;

/** The ticks of the runs of a backfill. The ids of two servers whose clocks stand still have no order. */
async function listTicks(found: Found): Promise<string[]> {
  return (await found.runsOf(found.scheduleId)).map((run) => run.scheduleTick ?? '').sort();
}

const expected = Array.from({ length: 48 }, (_, hour) => new Date(Date.UTC(2026, 10, 1, hour)).toISOString());

test('two servers start each tick once, and never more at a time than asked', async () => {
  const found = await createBackfilled(one, hourly);
  const id = await found.begun({ ...twoDays, concurrency: 5 });
  for (let round = 0; round < 100; round++) {
    await advanceBoth();
    const { status, counts } = await found.readBackfill(id);
    assert.ok(counts.running <= 5, `${counts.running} at a time`);
    if (status === 'COMPLETED') break;
    await Promise.all([found.runClaimed(), advanceBoth()]);
  }
  const { status, counts } = await found.readBackfill(id);
  assert.deepEqual([status, counts.succeeded], ['COMPLETED', 48]);
  assert.deepEqual(await listTicks(found), expected);
});

test('a round whose connection is killed is done again, and no tick runs twice', async () => {
  const found = await createBackfilled(one, hourly);
  const id = await found.begun({ ...twoDays, concurrency: 4 });
  // Each second transaction that has written runs of a backfill loses its connection. A sequence never rolls back.
  await one.database.query('create sequence written_rounds');
  await one.database.query(
    `create function end_connection() returns trigger language plpgsql as $$ begin
       if nextval('written_rounds') % 2 = 1 then perform pg_terminate_backend(pg_backend_pid()); end if; return null; end $$`,
  );
  await one.database.query(
    `create trigger end_connection after insert on pipeline_execution
     for each statement execute function end_connection()`,
  );
  for (let round = 0; round < 20; round++) {
    await Promise.allSettled([one, other].map(({ deps }) => advanceBackfills(deps)));
    await found.runClaimed();
  }
  await one.database.query('drop trigger end_connection on pipeline_execution');
  const [{ written } = { written: 0 }] = await one.database.query<{ written: number }>(
    'select last_value::integer as written from written_rounds',
  );
  assert.ok(written >= 10, `${written} transactions have written runs`);
  for (let round = 0; round < 60; round++) {
    await advanceBoth();
    await found.runClaimed();
    if ((await found.readBackfill(id)).status === 'COMPLETED') break;
  }
  assert.equal((await found.readBackfill(id)).status, 'COMPLETED');
  assert.deepEqual(await listTicks(found), expected);
});

test('a cancel at the same moment as rounds leaves no run that was not cancelled', async () => {
  for (let round = 0; round < 10; round++) {
    const found = await createBackfilled(one, hourly);
    const id = await found.begun({ ...twoDays, concurrency: 20 });
    const [answer] = await Promise.all([found.stop(id), advanceBoth()]);
    assert.equal(answer.status, 200, answer.text);
    await advanceBoth();
    const { status, counts } = await found.readBackfill(id);
    assert.deepEqual([status, counts.running, counts.waiting], ['CANCELLED', 0, 0]);
    assert.equal(counts.cancelled + counts.skipped, 48);
  }
});

test('an environment that is deleted takes its backfills and their work along', async () => {
  const found = await createBackfilled(one, hourly);
  await found.begun({ ...twoDays, concurrency: 10 });
  const [deleted] = await Promise.all([
    found.admin.delete(`${found.made.path}/environments/dev?confirm=true`),
    advanceBoth(),
  ]);
  assert.equal(deleted.status, 204, deleted.text);
  await advanceBoth();
  one.clock.advance(1);
  await one.sweep();
  const [left] = await one.database.query<{ backfills: number; works: number }>(
    `select (select count(*)::int from backfill where account_id = $1) as backfills,
       (select count(*)::int from work where account_id = $1 and state <> 'ended') as works`,
    [found.account.accountId],
  );
  assert.deepEqual({ ...left }, { backfills: 0, works: 0 });
});

test('the ticks of a backfill are found without a lock on its schedule', async () => {
  const found = await createBackfilled(one, {
    cronExpression: '0 0 L,L-1,L-2,L-3,L-4,L-5,L-6,L-7,L-8,L-9,L-10,L-11,L-12,L-13,L-14,L-15 * 1',
    cronTimezone: 'America/St_Johns',
  });
  const client = new pg.Client(one.database.connection);
  await client.connect();
  try {
    await client.query('begin');
    await client.query('select from schedule where schedule_id = $1 for update', [found.scheduleId]);
    const answer = await found.begin({ from: '1970-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' });
    requireProblem(answer, 422, 'backfill-too-long');
  } finally {
    await client.end();
  }
});
