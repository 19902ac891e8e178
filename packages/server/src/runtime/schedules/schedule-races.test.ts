/** Ticks at two servers on one database, and at the same moment as other writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { createScheduled, fireAll } from '../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { fireDueSchedules } from './schedule-ticks.ts';

const startsAt = new Date('2026-11-20T10:00:00.000Z');
const one = await startTestServer({ startsAt });
const other = await startTestServer({ startsAt, database: one.database });
const everyMinute = { cronExpression: '* * * * *' };

function moveBoth(seconds: number): void {
  for (const { clock } of [one, other]) clock.advance(seconds);
}

test('two servers that take the same schedules at once start each once a tick', async () => {
  const { created, runsOf } = await createScheduled(one);
  const ids = await Promise.all(Array.from({ length: 60 }, () => created(everyMinute)));
  for (let tick = 0; tick < 5; tick++) {
    moveBoth(60);
    await Promise.all([one, other, one, other].map(({ deps }) => fireDueSchedules(deps)));
    await Promise.all([fireAll(one), fireAll(other)]);
  }
  const counts = await Promise.all(ids.map(async (id) => (await runsOf(id)).length));
  assert.deepEqual(
    counts,
    ids.map(() => 5),
  );
});

test('a server whose clock is behind does not repeat the ticks of another', async () => {
  const { created, runsOf } = await createScheduled(one);
  const id = await created(everyMinute);
  one.clock.advance(60);
  await fireAll(one);
  await fireAll(other);
  other.clock.advance(60);
  await fireAll(other);
  assert.equal((await runsOf(id)).length, 1);
});

test('runs now and ticks at the same moment never overlap where they may not', async () => {
  const { created, runsOf, admin, schedules, cancel } = await createScheduled(one);
  const id = await created({ ...everyMinute, allowConcurrentExecutions: false });
  for (let round = 0; round < 10; round++) {
    moveBoth(60);
    const response = [1, 2, 3].map(() => admin.post(`${schedules}/${id}/run`));
    const [answers] = await Promise.all([Promise.all(response), fireAll(one), fireAll(other)]);
    const running = (await runsOf(id)).filter((run) => run.status === 'RUNNING');
    assert.equal(running.length, 1);
    for (const answer of answers.filter(({ status }) => status !== 201))
      requireProblem(answer, 409, 'schedule-running');
    await cancel(running[0]?.pipelineExecutionId ?? '');
  }
});

test('an environment or a project that is deleted during ticks leaves no schedule and no work that runs', async () => {
  for (const path of ['environments/dev', '']) {
    const { created, admin, made, account } = await createScheduled(one);
    const ids = await Promise.all(Array.from({ length: 30 }, () => created(everyMinute)));
    moveBoth(60);
    const [deleted] = await Promise.all([
      admin.delete(`${made.path}/${path}`.replace(/\/$/, '')),
      fireAll(one),
      fireAll(other),
    ]);
    assert.equal(deleted.status, 204, deleted.text);
    moveBoth(60);
    await fireAll(one);
    await one.sweep();
    const [left] = await one.database.query<{ schedules: number; works: number }>(
      `select (select count(*)::int from schedule where schedule_id = any ($1)) as schedules,
         (select count(*)::int from work where account_id = $2 and state <> 'ended') as works`,
      [ids, account.accountId],
    );
    assert.deepEqual({ ...left }, { schedules: 0, works: 0 });
  }
});

test('a change during ticks is not lost, and neither is the tick', async () => {
  const { created, patch, read, runsOf } = await createScheduled(one);
  const id = await created(everyMinute);
  for (let round = 1; round <= 10; round++) {
    moveBoth(60);
    const city = `city ${round}`;
    await Promise.all([patch(id, { scalarVariables: { city } }), fireAll(one), fireAll(other)]);
    assert.deepEqual((await read(id)).scalarVariables, { city });
    assert.equal((await runsOf(id)).length, round);
  }
});
