/** What happens at the ticks of a schedule, by a clock that the test moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { createScheduled, daily, fireAll } from '../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ startsAt: new Date('2026-11-20T10:00:00.000Z') });
const everyMinute = { cronExpression: '* * * * *' };

/** Moves the clock to the next full minute. */
function startMinute(): void {
  server.clock.advance(60 - ((server.clock.now().getTime() / 1_000) % 60));
}

async function tickOnce(): Promise<Date> {
  startMinute();
  await fireAll(server);
  return server.clock.now();
}

test('a tick starts one run, which an agent claims', async () => {
  const { created, read, runsOf, instance, made } = await createScheduled(server);
  const id = await created(everyMinute, { scalarVariables: { city: 'Bodø' } });
  assert.deepEqual(await runsOf(id), [], 'no tick yet');
  const tick = await tickOnce();
  await fireAll(server);
  const [run, ...others] = await runsOf(id);
  assert.deepEqual(others, []);
  assert.deepEqual(run, {
    pipelineExecutionId: run?.pipelineExecutionId,
    pipelineName: 'main.orch.yaml',
    pipelineType: 'ORCHESTRATION',
    projectId: made.projectId,
    environmentName: 'dev',
    versionName: 'v1',
    status: 'RUNNING',
    trigger: 'SCHEDULE',
    scheduleId: id,
    scheduleTick: tick.toISOString(),
    startedAt: tick.toISOString(),
    user: 'a SUPER_ADMIN',
  });
  const { lastRunAt, nextRunAt, problem } = await read(id);
  assert.deepEqual([lastRunAt, problem], [tick.toISOString(), undefined]);
  assert.equal(nextRunAt, new Date(tick.getTime() + 60_000).toISOString());
  const { work } = await instance.claim();
  assert.deepEqual(
    work.map(({ payload }) => [payload.pipelineExecutionId, payload.scalarVariables]),
    [[run?.pipelineExecutionId, { city: 'Bodø' }]],
  );
});

test('each tick has one run, and its event names the tick', async () => {
  const { created, runsOf, eventsOf } = await createScheduled(server);
  const id = await created(everyMinute);
  const ticks = [await tickOnce(), await tickOnce(), await tickOnce()].map((each) => each.toISOString());
  const runs = await runsOf(id);
  assert.deepEqual(
    runs.map((run) => run.startedAt),
    ticks,
  );
  const [event] = await eventsOf(runs[0]?.pipelineExecutionId ?? '');
  assert.equal(event?.eventName, 'pipeline-execution-requested');
  const after = event?.additionalInfo.after as Record<string, unknown>;
  assert.deepEqual([after.trigger, after.scheduleId, after.scheduleTick], ['SCHEDULE', id, ticks[0]]);
});

test('without a version each tick runs the newest enabled one', async () => {
  const { created, runsOf, admin, made } = await createScheduled(server);
  const [newest, fixed] = [await created(everyMinute), await created(everyMinute, { versionName: 'v1' })];
  await tickOnce();
  await upload(admin, made, [{ name: 'main.orch.yaml', content: smallPipeline }], { versionName: 'v2' });
  await tickOnce();
  const versions = async (id: string) => (await runsOf(id)).map((run) => run.versionName);
  assert.deepEqual(await versions(newest), ['v1', 'v2']);
  assert.deepEqual(await versions(fixed), ['v1', 'v1']);
});

test('there is no tick before effectiveFrom', async () => {
  const { created, runsOf } = await createScheduled(server);
  startMinute();
  const from = new Date(server.clock.now().getTime() + 120_000).toISOString();
  const id = await created({ ...everyMinute, effectiveFrom: from });
  await tickOnce();
  assert.deepEqual(await runsOf(id), []);
  await tickOnce();
  assert.deepEqual(
    (await runsOf(id)).map((run) => run.startedAt),
    [from],
  );
});

test('after an outage the latest missed tick runs, says so, and leaves one event for the others', async () => {
  const { created, runsOf, eventsOf, read } = await createScheduled(server);
  const id = await created(everyMinute);
  const due = (await read(id)).nextRunAt ?? '';
  server.clock.advance(7_200);
  await fireAll(server);
  const [run, ...others] = await runsOf(id);
  assert.deepEqual(others, []);
  const now = server.clock.now();
  const last = new Date(now.getTime() - (now.getTime() % 60_000)).toISOString();
  assert.equal(
    run?.message,
    `Catch-up run: no server handled the tick at ${last} in time. The earlier ticks since ${due} did not run.`,
  );
  const missed = (await eventsOf(id)).filter((each) => each.eventName === 'schedule-tick-missed');
  assert.equal(missed.length, 1);
  const after = missed[0]?.additionalInfo.after as Record<string, unknown>;
  assert.deepEqual([after.tick, after.before, after.code], [due, last, 'late']);
  assert.ok(new Date((await read(id)).nextRunAt ?? 0) > now);
});

test('one missed tick of a daily schedule is caught up', async () => {
  const { created, runsOf, read } = await createScheduled(server);
  const id = await created(daily);
  const due = new Date((await read(id)).nextRunAt ?? 0);
  server.clock.advance((due.getTime() - server.clock.now().getTime()) / 1_000 + 3_600);
  await fireAll(server);
  const runs = await runsOf(id);
  assert.deepEqual(
    runs.map((run) => run.message),
    [`Catch-up run: no server handled the tick at ${due.toISOString()} in time.`],
  );
});

test('a tick that is a little late runs without a message, and each tick in between, too', async () => {
  const { created, runsOf } = await createScheduled(server);
  startMinute();
  const id = await created({ intervalExpression: { interval: 10, unit: 'SECONDS' } });
  server.clock.advance(35);
  await fireAll(server);
  const runs = await runsOf(id);
  assert.equal(runs.length, 3);
  assert.ok(runs.every((run) => run.message === undefined));
});

test('a clock that is set back repeats no tick, and loses none', async () => {
  const { created, runsOf, read, patch } = await createScheduled(server);
  startMinute();
  const id = await created(everyMinute);
  await tickOnce();
  const next = (await read(id)).nextRunAt;
  server.clock.advance(-3_600);
  await fireAll(server);
  // Not even when its times are written again.
  await patch(id, { cronExpression: '*/1 * * * *' });
  assert.equal((await read(id)).nextRunAt, next);
  await fireAll(server);
  assert.equal((await runsOf(id)).length, 1);
  server.clock.advance(3_600);
  await tickOnce();
  assert.equal((await runsOf(id)).length, 2);
});

test('a run that may not overlap is SKIPPED and names the run in the way', async () => {
  const { created, runsOf, instance, cancel, read, eventsOf } = await createScheduled(server);
  const id = await created({ ...everyMinute, allowConcurrentExecutions: false });
  const first = await tickOnce();
  await tickOnce();
  const [running, skipped] = await runsOf(id);
  assert.equal(skipped?.status, 'SKIPPED');
  const way = running?.pipelineExecutionId ?? '';
  assert.equal(
    skipped?.message,
    `The schedule does not allow concurrent executions, and its execution ${way} had not ended.`,
  );
  assert.equal(skipped?.finishedAt, skipped?.startedAt);
  assert.equal((await read(id)).lastRunAt, first.toISOString(), 'a skipped run is no run');
  const [outcome] = await eventsOf(skipped?.pipelineExecutionId ?? '');
  assert.equal(outcome?.eventName, 'pipeline-execution-ended');
  assert.equal((await instance.claim()).work.length, 1, 'a skipped run is no work');
  await cancel(way, true);
  await tickOnce();
  assert.equal((await runsOf(id)).at(-1)?.status, 'SKIPPED', 'it is still being cancelled');
  server.clock.advance(600);
  await server.sweep();
  await tickOnce();
  assert.equal((await runsOf(id)).at(-1)?.status, 'RUNNING');
});

test('a schedule that may overlap does', async () => {
  const { created, runsOf } = await createScheduled(server);
  const id = await created(everyMinute);
  await tickOnce();
  await tickOnce();
  assert.deepEqual(
    (await runsOf(id)).map((run) => run.status),
    ['RUNNING', 'RUNNING'],
  );
});

test('run now starts a run of its own and leaves the next tick', async () => {
  const { admin, created, runsOf, read, schedules, instance } = await createScheduled(server);
  const id = await created({ ...daily, allowConcurrentExecutions: false });
  const before = await read(id);
  const answer = await admin.post<{ pipelineExecutionId: string }>(`${schedules}/${id}/run`);
  assert.equal(answer.status, 201);
  const [run] = await runsOf(id);
  assert.deepEqual(
    [run?.pipelineExecutionId, run?.trigger, run?.status],
    [answer.body.pipelineExecutionId, 'SCHEDULE_RUN_NOW', 'RUNNING'],
  );
  const after = await read(id);
  assert.equal(after.nextRunAt, before.nextRunAt);
  assert.equal(after.lastRunAt, run?.startedAt);
  const refused = requireProblem(await admin.post(`${schedules}/${id}/run`), 409, 'schedule-running');
  assert.ok(refused.detail.includes(answer.body.pipelineExecutionId));
  assert.equal((await instance.claim()).work.length, 1);
});

test('a paused schedule does not run by itself, and nothing is made up for when it resumes', async () => {
  const { admin, created, runsOf, schedules } = await createScheduled(server);
  const id = await created(everyMinute);
  await admin.post(`${schedules}/${id}/pause`);
  await tickOnce();
  await tickOnce();
  assert.equal((await admin.post(`${schedules}/${id}/run`)).status, 201);
  await admin.post(`${schedules}/${id}/resume`);
  await fireAll(server);
  await tickOnce();
  assert.deepEqual(
    (await runsOf(id)).map((run) => run.trigger),
    ['SCHEDULE_RUN_NOW', 'SCHEDULE'],
  );
});

test('a change of anything but its times does not lose a tick that is due', async () => {
  const { created, runsOf, patch } = await createScheduled(server);
  const id = await created(everyMinute);
  startMinute();
  await patch(id, { name: `renamed ${id}` });
  await fireAll(server);
  assert.equal((await runsOf(id)).length, 1);
});

test('a schedule after its last tick is kept and has no next one', async () => {
  const { created, runsOf, read } = await createScheduled(server);
  startMinute();
  const at = new Date(server.clock.now().getTime() + 60_000);
  const id = await created({
    cronExpression: `0 ${at.getUTCMinutes()} ${at.getUTCHours()} ${at.getUTCDate()} ${at.getUTCMonth() + 1} ? ${at.getUTCFullYear()}`,
  });
  await tickOnce();
  assert.equal((await runsOf(id)).length, 1);
  assert.equal((await read(id)).nextRunAt, undefined);
});

test('the filter scheduleId of the list of executions works with the others', async () => {
  const { admin, created, started, runsOf } = await createScheduled(server);
  const [id, other] = [await created(everyMinute), await created(everyMinute)];
  await started();
  await tickOnce();
  await tickOnce();
  const list = async (query: string) =>
    (await admin.get<{ results: { scheduleId: string }[]; more?: string }>(`/pipeline-executions?${query}`))
      .body;
  assert.equal((await list(`scheduleId=${id}&status=RUNNING`)).results.length, 2);
  assert.equal((await list(`scheduleId=${id}&status=SUCCESS`)).results.length, 0);
  assert.equal((await list(`scheduleId=${id}&environmentName=prod`)).results.length, 0);
  assert.equal((await list('scheduleId=none')).results.length, 0);
  const page = await list(`scheduleId=${id}&limit=1`);
  const rest = await list(`scheduleId=${id}&limit=1&paginationToken=${page.more}`);
  assert.equal(rest.more, undefined);
  assert.deepEqual(
    [...page.results, ...rest.results].map((each) => each.scheduleId),
    [id, id],
  );
  assert.equal((await runsOf(other)).length, 2);
  const stranger = await (await server.account()).admin.get<{ results: object[] }>(
    `/pipeline-executions?scheduleId=${id}`,
  );
  assert.deepEqual(stranger.body.results, []);
});
