/** Backfills over the API: which ticks run, in which order, and what is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backfill, Page, PipelineExecution } from '@headgate/contract';
import { createBackfilled } from '../../../testing/backfilled-project.ts';
import { requireProblem } from '../../../testing/client.ts';
import { fireAll } from '../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { advanceBackfills } from './backfill-rounds.ts';

const server = await startTestServer({ startsAt: new Date('2026-11-20T10:00:00.000Z') });
const week = { from: '2026-11-01T00:00:00Z', to: '2026-11-08T00:00:00Z' };
const dayOf = (day: number) => `2026-11-0${day}T02:00:00.000Z`;
const advance = () => advanceBackfills(server.deps);

test('each tick of the range runs once, in order, with its logical time and at most so many at a time', async () => {
  const { begin, readBackfill, runClaimed, scheduleId } = await createBackfilled(server);
  const { body, headers } = await begin({ ...week, concurrency: 3 });
  const { backfillId: id, ...made } = body;
  assert.deepEqual(made, { ticks: 7, firstTick: dayOf(1), lastTick: dayOf(7) });
  assert.ok(headers.location?.endsWith(`/schedules/${scheduleId}/backfills/${id}`));
  assert.deepEqual((await readBackfill(id)).counts, {
    ...{ total: 7, waiting: 7, running: 0, succeeded: 0, failed: 0, cancelled: 0, forbidden: 0, skipped: 0 },
  });
  const ticks: (string | undefined)[] = [];
  for (const expected of [3, 3, 1]) {
    await advance();
    await advance();
    assert.equal((await readBackfill(id)).counts.running, expected);
    const works = await runClaimed();
    assert.equal(works.length, expected);
    ticks.push(...works.map(({ payload }) => payload.schedule?.tick));
  }
  assert.deepEqual(
    ticks,
    [1, 2, 3, 4, 5, 6, 7].map((day) => dayOf(day)),
  );
  await advance();
  const { status, endedAt, counts, user, startedTicks } = await readBackfill(id);
  assert.deepEqual(
    { status, endedAt, user, startedTicks },
    {
      status: 'COMPLETED',
      endedAt: server.clock.now().toISOString(),
      user: 'a SUPER_ADMIN',
      startedTicks: 7,
    },
  );
  assert.deepEqual(counts, {
    ...{ total: 7, waiting: 0, running: 0, succeeded: 7, failed: 0, cancelled: 0, forbidden: 0, skipped: 0 },
  });
  assert.equal(await advance(), false, 'nothing is left to do');
});

test('its executions name the schedule, the tick and the backfill, and can be listed', async () => {
  const { begun, admin, scheduleId, runsOf, eventsOf, runClaimed } = await createBackfilled(server);
  const id = await begun(week);
  await advance();
  await runClaimed('FAILED');
  await advance();
  const list = async (query: string) =>
    (await admin.get<{ results: PipelineExecution[] }>(`/pipeline-executions?${query}`)).body.results;
  const runs = await list(`backfillId=${id}`);
  assert.deepEqual(
    runs.map(({ trigger, scheduleId: of, scheduleTick, backfillId, status }) => ({
      ...{ trigger, of, scheduleTick, backfillId, status },
    })),
    [
      { trigger: 'SCHEDULE', of: scheduleId, scheduleTick: dayOf(2), backfillId: id, status: 'RUNNING' },
      { trigger: 'SCHEDULE', of: scheduleId, scheduleTick: dayOf(1), backfillId: id, status: 'FAILED' },
    ],
    'a run that fails does not end the backfill',
  );
  assert.deepEqual(await list(`backfillId=${id}&status=FAILED`), runs.slice(1));
  assert.deepEqual(await list(`backfillId=${id}&scheduleId=${scheduleId}`), runs);
  assert.deepEqual(await list(`backfillId=${id}&scheduleId=${id}`), []);
  assert.deepEqual(await list('backfillId=none'), []);
  assert.equal((await runsOf(scheduleId)).length, 2);
  const [created] = await eventsOf(id);
  assert.deepEqual([created?.eventName, created?.eventSubjectType], ['backfill-created', 'backfill']);
});

test('it runs ticks before effectiveFrom, of a paused schedule, and beside the ticks of the schedule', async () => {
  const schedule = {
    cronExpression: '0 0 * * * ?',
    effectiveFrom: '2026-11-20T00:00:00Z',
    allowConcurrentExecutions: false,
  };
  const { begun, readBackfill, admin, schedules, scheduleId, runsOf } = await createBackfilled(
    server,
    schedule,
  );
  const id = await begun({ from: '2026-11-01T00:00:00Z', to: '2026-11-01T06:00:00Z', concurrency: 2 });
  await advance();
  server.clock.advance(3600);
  await fireAll(server);
  const runs = await runsOf(scheduleId);
  assert.deepEqual(
    runs.map(({ status, backfillId }) => [status, backfillId]),
    [
      ['RUNNING', id],
      ['RUNNING', id],
      ['RUNNING', undefined],
    ],
  );
  assert.equal((await admin.post(`${schedules}/${scheduleId}/pause`)).status, 200);
  for (const { pipelineExecutionId } of runs) {
    const path = `${schedules.replace('schedules', 'pipeline-executions')}/${pipelineExecutionId}`;
    await admin.patch(path, { status: 'CANCELLED' });
  }
  await advance();
  const { counts } = await readBackfill(id);
  assert.deepEqual([counts.running, counts.cancelled, counts.waiting], [2, 2, 2]);
});

test('its ticks are chosen when it is created; what they run is the schedule as it is then', async () => {
  const { begun, patch, scheduleId, runClaimed } = await createBackfilled(server);
  await begun({ ...week, concurrency: 1 });
  await patch(scheduleId, { cronExpression: '0 0 5 * * ?', scalarVariables: { city: 'Bodø' } });
  await advance();
  const [work] = await runClaimed();
  assert.deepEqual(
    [work?.payload.schedule?.tick, work?.payload.scalarVariables],
    [dayOf(1), { city: 'Bodø' }],
  );
});

test('a range that is wrong is refused, and so is one with too many ticks', async () => {
  const { begin } = await createBackfilled(server, { cronExpression: '0 * * * * ?' });
  const refuse = async (body: object, code: 'backfill-range' | 'backfill-too-long', detail: RegExp) => {
    const { detail: found } = requireProblem(await begin(body), 422, code);
    assert.match(found ?? '', detail);
  };
  const from = '2026-11-01T00:00:00Z';
  await refuse({ from, to: from }, 'backfill-range', /^body\.to: "2026-11-01T00:00:00Z" is not after `from`/);
  await refuse(
    { from, to: '2027-01-01T00:00:00Z' },
    'backfill-range',
    /is in the future: .* Use a time up to 2026/,
  );
  await refuse(
    { from: '2026-11-01T00:00:01Z', to: '2026-11-01T00:00:59Z' },
    'backfill-range',
    /has no tick from .* The first tick after it is 2026-11-01T00:01:00.000Z/,
  );
  await refuse(
    { from, to: '2026-11-08T00:00:00Z' },
    'backfill-too-long',
    /has 10080 ticks, and a backfill may have 10000: .* `to` 2026-11-07T22:40:00.000Z/,
  );
  await refuse(
    { from: '2020-01-01T00:00:00Z', to: '2026-11-08T00:00:00Z' },
    'backfill-too-long',
    /has more than 20000 ticks/,
  );
  for (const body of [
    {},
    { from },
    { from, to: 'yesterday' },
    { ...week, concurrency: 0 },
    { ...week, concurrency: 101 },
  ])
    requireProblem(await begin(body), 400, 'invalid-request');
});

test('10,000 ticks are accepted', async () => {
  const { begin, stop } = await createBackfilled(server, { cronExpression: '0 * * * * ?' });
  const { body } = await begin({
    from: '2026-11-01T00:00:00Z',
    to: '2026-11-07T22:40:00Z',
    concurrency: 100,
  });
  assert.equal(body.ticks, 10_000);
  await advance();
  assert.equal((await stop(body.backfillId)).status, 200);
});

test('a project has a limit of backfills that have not ended', async () => {
  const { begin, begun, scheduleId, made, account } = await createBackfilled(server);
  await begun(week);
  await server.database.query(
    `insert into backfill (account_id, backfill_id, project_id, schedule_id, environment_name, status, range_from, range_to,
       concurrency, ticks, tick_count, started_count, requested_by, user_name, next_round_at, created_at)
     select account_id, gen_random_uuid(), project_id, schedule_id, environment_name, status, range_from, range_to, concurrency,
       ticks, tick_count, started_count, requested_by, user_name, 'infinity', created_at
     from backfill, generate_series(1, 99) where account_id = $1 and schedule_id = $2`,
    [account.accountId, scheduleId],
  );
  requireProblem(await begin(week), 409, 'too-many-backfills');
  await server.database.query('delete from backfill where project_id = $1', [made.projectId]);
});

test('a schedule with a backfill that has not ended cannot be deleted; then its backfills go with it', async () => {
  const { begun, admin, schedules, scheduleId, stop, backfills } = await createBackfilled(server);
  const id = await begun(week);
  const { detail } = requireProblem(
    await admin.delete(`${schedules}/${scheduleId}`),
    409,
    'schedule-has-backfill',
  );
  assert.ok(detail?.includes(id));
  await stop(id);
  await advance();
  assert.equal((await admin.delete(`${schedules}/${scheduleId}`)).status, 204);
  requireProblem(await admin.get(`${backfills}/${id}`), 404, 'backfill-not-found');
  requireProblem(await admin.get(backfills), 404, 'schedule-not-found');
});

test('backfills of a schedule are listed newest first; unknown ones are 404', async () => {
  const { begun, stop, admin, backfills, schedules } = await createBackfilled(server);
  const ids = [await begun(week), await begun({ ...week, concurrency: 5 })];
  const { body } = await admin.get<Page<Backfill>>(backfills);
  assert.deepEqual(
    body.results.map(({ backfillId, concurrency, ticks }) => ({ backfillId, concurrency, ticks })),
    [
      { backfillId: ids[1], concurrency: 5, ticks: 7 },
      { backfillId: ids[0], concurrency: 1, ticks: 7 },
    ],
  );
  assert.equal(body.total, 2);
  await stop(ids[0] ?? '');
  await advance();
  for (const [status, expected] of [
    ['CANCELLED', [ids[0]]],
    ['RUNNING', [ids[1]]],
    ['FAILED', []],
  ] as const) {
    const some = await admin.get<Page<Backfill>>(`${backfills}?status=${status}`);
    assert.deepEqual(
      some.body.results.map(({ backfillId }) => backfillId),
      expected,
    );
    assert.equal(some.body.total, expected.length);
  }
  requireProblem(await admin.get(`${backfills}?status=DONE`), 400, 'invalid-request');
  requireProblem(await admin.get(`${backfills}/none`), 404, 'backfill-not-found');
  requireProblem(await admin.post(`${schedules}/none/backfills`, week), 404, 'schedule-not-found');
  requireProblem(await admin.patch(`${backfills}/none`, { status: 'CANCELLED' }), 404, 'backfill-not-found');
  const other = await createBackfilled(server);
  requireProblem(await other.admin.get(`${backfills}/${ids[0]}`), 404, 'project-not-found');
  requireProblem(await other.admin.post(backfills, week), 404, 'project-not-found');
});

test('a restarted run has the tick of the first, and does not count for the backfill', async () => {
  const { begun, instance, admin, executions, readBackfill, runClaimed } = await createBackfilled(server);
  await instance.hello({ abilities: ['pipeline-execution', 'restarted-execution'] });
  const id = await begun(week);
  await advance();
  const [work] = await runClaimed('FAILED');
  const { body, status, text } = await admin.post<{ pipelineExecutionId: string }>(
    `${executions}/${work?.workId}/restart`,
    {},
  );
  assert.equal(status, 201, text);
  const [restarted] = (await instance.claim()).work;
  assert.equal(restarted?.workId, body.pipelineExecutionId);
  assert.equal(restarted?.payload.schedule?.tick, dayOf(1));
  assert.deepEqual((await readBackfill(id)).counts.running, 0);
});
