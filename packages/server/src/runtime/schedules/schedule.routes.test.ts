/** Creating, reading, changing and deleting schedules. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import {
  type AccountEventItem,
  type Page,
  type ProblemCode,
  type Schedule,
  scheduleLimit,
} from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { createScheduled, daily } from '../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ startsAt: new Date('2026-11-20T10:00:30.500Z') });

test('a schedule is created, and read with its next tick', async () => {
  const { admin, create, schedules, agent } = await createScheduled(server);
  const answer = await create(
    { name: 'Nightly', ...daily, cronTimezone: 'Europe/Oslo', effectiveFrom: '2026-11-24T00:00:00Z' },
    {
      pipelineName: 'folder/Load it',
      versionName: 'v1',
      agentId: agent.agentId,
      scalarVariables: { city: 'Bodø', limit: 3 },
      gridVariables: { table: [['a']] },
    },
  );
  assert.equal(answer.status, 201);
  const id = answer.body.scheduleId;
  assert.deepEqual(answer.body, {
    scheduleId: id,
    cronTimezone: 'Europe/Oslo',
    nextRunAt: '2026-11-24T01:00:00.000Z',
  });
  assert.ok(answer.headers.location?.endsWith(`/dpc/v1${schedules}/${id}`));
  const read = await admin.get<Schedule>(`${schedules}/${id}`);
  assert.equal(read.etag, answer.etag);
  assert.deepEqual(read.body, {
    scheduleId: id,
    name: 'Nightly',
    pipelineName: 'folder/Load it.orch.yaml',
    environmentName: 'dev',
    versionName: 'v1',
    agentId: agent.agentId,
    cronExpression: '0 0 2 * * ?',
    cronTimezone: 'Europe/Oslo',
    effectiveFrom: '2026-11-24T00:00:00.000Z',
    nextRunAt: '2026-11-24T01:00:00.000Z',
    scheduleEnabled: true,
    allowConcurrentExecutions: true,
    scalarVariables: { city: 'Bodø', limit: 3 },
    gridVariables: { table: [['a']] },
    user: 'a SUPER_ADMIN',
  });
});

test('other spellings of the time zone are read, and must not contradict', async () => {
  const { create, patch } = await createScheduled(server);
  for (const [index, name] of (['timezone', 'timeZone', 'cronTimeZone'] as const).entries()) {
    const made = await create({ name: `${index}`, ...daily, [name]: 'Europe/Oslo' });
    assert.equal(made.body.cronTimezone, 'Europe/Oslo', name);
    const patched = await patch(made.body.scheduleId, { [name]: 'Asia/Tokyo' });
    assert.equal((patched.body as Schedule).cronTimezone, 'Asia/Tokyo', name);
  }
  const both = { ...daily, cronTimezone: 'Europe/Oslo', timezone: 'UTC' };
  const refused = requireProblem(await create(both), 400, 'schedule-time-zones');
  assert.equal(
    refused.detail,
    'body.schedule.timezone is "UTC", and cronTimezone is "Europe/Oslo": send one of them.',
  );
});

test('an interval counts from the creation, or from effectiveFrom', async () => {
  const { read, created } = await createScheduled(server);
  const every = { intervalExpression: { interval: 90, unit: 'minutes' } };
  const first = await read(await created(every));
  assert.deepEqual(first.intervalExpression, { interval: 90, unit: 'minutes' });
  assert.equal(first.cronExpression, undefined);
  assert.equal(first.cronTimezone, 'UTC');
  assert.equal(first.nextRunAt, '2026-11-20T11:30:30.000Z');
  const later = await read(await created({ ...every, effectiveFrom: '2026-11-20T12:00:00Z' }));
  assert.equal(later.nextRunAt, '2026-11-20T12:00:00.000Z');
});

test('what is wrong with the times of a schedule is 422 and names the field', async () => {
  const { create, created, patch } = await createScheduled(server);
  const id = await created();
  const wrong: [object, string][] = [
    [{ cronExpression: 'every day' }, 'cronExpression'],
    [{ cronExpression: '0 0 30 2 *' }, 'cronExpression'],
    [{ cronExpression: '0 0 0 1 1 ? 2020' }, 'cronExpression'],
    [{ cronExpression: '0 0 * * *', cronTimezone: 'Europe/Olso' }, 'cronTimezone'],
    [{ intervalExpression: { interval: 3, unit: 'months' } }, 'intervalExpression'],
    [{ cronExpression: '0 0 * * *', effectiveFrom: '2200-01-01T00:00:00Z' }, 'cronExpression'],
  ];
  for (const [timing, member] of wrong) {
    const refused = requireProblem(await create(timing), 422, 'schedule-expression');
    assert.ok(refused.detail.startsWith(`body.schedule.${member}: `), refused.detail);
    const patched = requireProblem(await patch(id, timing), 422, 'schedule-expression');
    assert.ok(patched.detail.startsWith(`body.${member}: `), patched.detail);
  }
  const both = { cronExpression: '0 0 * * *', intervalExpression: { interval: 1, unit: 'HOURS' } };
  for (const timing of [{}, both]) requireProblem(await create(timing), 422, 'schedule-expressions');
  requireProblem(await patch(id, both), 422, 'schedule-expressions');
});

test('a schedule is checked like a start', async () => {
  const { create, created, patch, admin, schedules } = await createScheduled(server);
  const id = await created();
  const other = await (await server.account()).agent();
  const wrong: [object, number, ProblemCode][] = [
    [{ pipelineName: 'mian' }, 404, 'pipeline-not-found'],
    [{ environmentName: 'nowhere' }, 404, 'environment-not-found'],
    [{ environmentName: 'prod' }, 404, 'artifact-not-found'],
    [{ versionName: 'v9' }, 404, 'artifact-not-found'],
    [{ agentId: other.agentId }, 422, 'unknown-agent'],
    [{ agentId: 'no uuid' }, 422, 'unknown-agent'],
    [{ scalarVariables: { town: 'Bodø' } }, 422, 'unknown-pipeline-variable'],
    [{ scalarVariables: { limit: 'many' } }, 422, 'pipeline-variable-type'],
    [{ gridVariables: { city: [['a']] } }, 422, 'pipeline-variable-type'],
  ];
  for (const [pipeline, status, code] of wrong) {
    const { detail } = requireProblem(await create(daily, pipeline), status, code);
    if (code.includes('variable')) assert.match(detail, /^body\.pipeline\./);
    if ('pipelineName' in pipeline || 'environmentName' in pipeline) continue;
    requireProblem(await patch(id, pipeline), status, code);
  }
  assert.equal((await admin.get<Page<Schedule>>(schedules)).body.total, 1);
});

test('a PATCH of any subset keeps the other members', async () => {
  const { read, created, patch, agent } = await createScheduled(server);
  const id = await created(daily, { scalarVariables: { city: 'Bodø' } });
  const before = await read(id);
  const changes: object[] = [
    { name: 'Renamed' },
    { allowConcurrentExecutions: false },
    { versionName: 'v1' },
    { agentId: agent.agentId },
    { scalarVariables: { city: 'Oslo' } },
    { gridVariables: { table: [] } },
    { cronTimezone: 'Asia/Tokyo', effectiveFrom: '2026-12-01T00:00:00.000Z' },
    { scheduleEnabled: false },
  ];
  let expected = before;
  for (const change of changes) {
    const answer = await patch(id, change);
    assert.equal(answer.status, 200, answer.text);
    const { nextRunAt: _, ...kept } = answer.body;
    const { nextRunAt: __, ...wanted } = { ...expected, ...change };
    assert.deepEqual(kept, wanted);
    expected = { ...expected, ...change };
  }
  const cleared = await patch(id, { versionName: '', agentId: '', effectiveFrom: '', scheduleEnabled: true });
  assert.deepEqual(
    [cleared.body.versionName, cleared.body.agentId, cleared.body.effectiveFrom],
    [undefined, undefined, undefined],
  );
  assert.equal(cleared.body.nextRunAt, '2026-11-20T17:00:00.000Z');
  const interval = await patch(id, { intervalExpression: { interval: 1, unit: 'DAYS' } });
  assert.equal(interval.body.cronExpression, undefined);
  const cron = await patch(id, { cronExpression: '0 12 * * *' });
  assert.equal(cron.body.intervalExpression, undefined);
  assert.deepEqual(await read(id), cron.body);
});

test('the answer of a PATCH names who wrote it', async () => {
  const { account, made, created, schedules } = await createScheduled(server);
  const id = await created();
  const contributor = await account.actor('MEMBER', { projectId: made.projectId, role: 'CONTRIBUTOR' });
  const answer = await contributor.patch<Schedule>(`${schedules}/${id}`, { name: 'mine' });
  assert.equal(answer.body.user, 'a MEMBER');
});

test('a schedule is paused and resumed, and its next tick is after the resumption', async () => {
  const { admin, read, created, schedules } = await createScheduled(server);
  const id = await created({ intervalExpression: { interval: 1, unit: 'MINUTES' } });
  const paused = await admin.post<Schedule>(`${schedules}/${id}/pause`);
  assert.equal(paused.status, 200);
  assert.deepEqual([paused.body.scheduleEnabled, paused.body.nextRunAt], [false, undefined]);
  const ticks = await admin.get<{ results: object[] }>(`${schedules}/${id}/ticks?count=2`);
  assert.equal(ticks.body.results.length, 2, 'the ticks of a paused schedule can be read');
  const resumed = await admin.post<Schedule>(`${schedules}/${id}/resume`);
  assert.equal(resumed.body.scheduleEnabled, true);
  assert.ok(new Date(resumed.body.nextRunAt ?? 0) > server.clock.now());
  assert.deepEqual(await read(id), resumed.body);
});

test('the next ticks are listed with their local time', async () => {
  const { admin, created, schedules } = await createScheduled(server);
  const id = await created({
    cronExpression: '30 2 * * *',
    cronTimezone: 'Europe/Berlin',
    effectiveFrom: '2027-03-27T00:00:00Z',
  });
  const ticks = await admin.get(`${schedules}/${id}/ticks?count=3`);
  assert.deepEqual(ticks.body, {
    cronTimezone: 'Europe/Berlin',
    results: [
      { tick: '2027-03-27T01:30:00.000Z', localTime: '2027-03-27T02:30:00+01:00' },
      { tick: '2027-03-28T01:00:00.000Z', localTime: '2027-03-28T03:00:00+02:00' },
      { tick: '2027-03-29T00:30:00.000Z', localTime: '2027-03-29T02:30:00+02:00' },
    ],
  });
  const utc = await created({ cronExpression: '0 0 1 1 *' });
  const far = await admin.get<{ results: { localTime: string }[] }>(`${schedules}/${utc}/ticks?count=100`);
  assert.equal(far.body.results[0]?.localTime, '2027-01-01T00:00:00+00:00');
  const past = await admin.get<{ results: object[] }>(
    `${schedules}/${utc}/ticks?count=1&from=2020-01-01T00:00:00Z`,
  );
  assert.deepEqual(past.body.results, [
    { tick: '2020-01-01T00:00:00.000Z', localTime: '2020-01-01T00:00:00+00:00' },
  ]);
  requireProblem(await admin.get(`${schedules}/${utc}/ticks?from=now`), 400, 'invalid-request');
  for (const count of ['0', '101', 'x', '1.5'])
    requireProblem(await admin.get(`${schedules}/${utc}/ticks?count=${count}`), 400, 'invalid-request');
});

test('the list is newest first and can be filtered', async () => {
  const { admin, created, schedules } = await createScheduled(server);
  const first = await created({ ...daily, name: 'Nightly load' });
  const second = await created({ ...daily, name: 'Hourly' }, { pipelineName: 'folder/Load it' });
  const list = async (query: string) =>
    (await admin.get<Page<Schedule>>(`${schedules}?${query}`)).body.results.map((each) => each.scheduleId);
  assert.deepEqual(await list(''), [second, first]);
  assert.deepEqual(await list('size=1&page=1'), [first]);
  assert.deepEqual(await list('name=NIGHT'), [first]);
  assert.deepEqual(await list('pipelineName=load'), [second]);
  assert.deepEqual(await list('environmentName=prod'), []);
  assert.deepEqual(await list('environmentName=dev&name=hour'), [second]);
});

test('a paused schedule cannot get a version, an agent or variables that do not exist', async () => {
  const { read, created, patch } = await createScheduled(server);
  const id = await created({ ...daily, scheduleEnabled: false });
  const stored = await read(id);
  const { detail } = requireProblem(await patch(id, { agentId: 'x' }), 422, 'unknown-agent');
  assert.match(detail, /"x"/);
  requireProblem(await patch(id, { versionName: 'v9' }), 404, 'artifact-not-found');
  requireProblem(await patch(id, { scalarVariables: { nobody: 1 } }), 422, 'unknown-pipeline-variable');
  requireProblem(await patch(id, { gridVariables: { nobody: [['a']] } }), 422, 'unknown-pipeline-variable');
  assert.deepEqual(await read(id), stored);
  assert.equal((await patch(id, { versionName: '', agentId: '', scalarVariables: {} })).status, 200);
});

test('a proposal for a time zone ends with its question mark', async () => {
  const { create } = await createScheduled(server);
  const typo = await create({ ...daily, cronTimezone: 'Europe/Olso' });
  const { detail } = requireProblem(typo, 422, 'schedule-expression');
  assert.match(detail, /Did you mean Europe\/Oslo\?$/);
});

test('a name is taken once in a project', async () => {
  const { create, created, patch } = await createScheduled(server);
  const target = { ...daily, name: 'Taken' };
  await created(target);
  requireProblem(await create(target), 409, 'schedule-name-taken');
  requireProblem(await patch(await created(), { name: 'Taken' }), 409, 'schedule-name-taken');
});

test('a deleted schedule is gone, and its event has what it was', async () => {
  const { admin, read, created, schedules, made } = await createScheduled(server);
  const id = await created();
  const was = await read(id);
  assert.equal((await admin.delete(`${schedules}/${id}`)).status, 204);
  for (const each of [id, randomUUID(), 'none'])
    requireProblem(await admin.get(`${schedules}/${each}`), 404, 'schedule-not-found');
  const range = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
  const { body } = await admin.get<Page<AccountEventItem>>(`/events?${range}&projectId=${made.projectId}`);
  const [event] = body.results;
  assert.equal(event?.eventName, 'schedule-deleted');
  assert.equal(event?.eventSubjectId, id);
  assert.deepEqual(event?.additionalInfo.before, was);
});

test('a project has a limited number of schedules', async () => {
  const { account, made, create, created } = await createScheduled(server);
  await created();
  await server.database.query(
    `insert into schedule (account_id, schedule_id, project_id, environment_name, name, pipeline_name, cron_expression,
       cron_timezone, enabled, allows_concurrent, scalar_variables, grid_variables, written_by, version, created_at)
     select $1, gen_random_uuid(), $2, 'dev', 'n' || n, 'main.orch.yaml', '0 0 * * *', 'UTC', false, true, '{}', '{}', $1, 1, now()
     from generate_series(2, $3::integer) n`,
    [account.accountId, made.projectId, scheduleLimit],
  );
  requireProblem(await create(), 409, 'too-many-schedules');
});

test('deleting an environment deletes its schedules, each with an event, and names them', async () => {
  const { admin, created, schedules, made } = await createScheduled(server);
  const ids = [await created({ ...daily, name: 'b' }), await created({ ...daily, name: 'a' })];
  assert.equal((await admin.delete(`${made.path}/environments/dev?confirm=true`)).status, 204);
  for (const id of ids) requireProblem(await admin.get(`${schedules}/${id}`), 404, 'schedule-not-found');
  const range = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
  const { body } = await admin.get<Page<AccountEventItem>>(`/events?${range}&projectId=${made.projectId}`);
  const deleted = body.results.filter((each) => each.eventName === 'schedule-deleted');
  assert.deepEqual(new Set(deleted.map((each) => each.eventSubjectId)), new Set(ids));
  const environment = body.results.find((each) => each.eventName === 'environment-deleted');
  const before = environment?.additionalInfo.before as { schedules?: string[]; scheduleCount?: number };
  assert.deepEqual([before.schedules, before.scheduleCount], [['a', 'b'], 2]);
});

test('running a schedule now needs permission in its environment; writing one, in the project', async () => {
  const { account, made, created, schedules, create } = await createScheduled(server);
  const id = await created();
  const { projectId } = made;
  const operator = await account.actor('MEMBER', { projectId, environmentName: 'dev', role: 'OPERATOR' });
  const elsewhere = await account.actor('MEMBER', { projectId, environmentName: 'prod', role: 'OPERATOR' });
  assert.equal((await operator.post(`${schedules}/${id}/run`)).status, 201);
  requireProblem(await elsewhere.post(`${schedules}/${id}/run`), 403, 'forbidden');
  requireProblem(await operator.patch(`${schedules}/${id}`, { name: 'x' }), 403, 'forbidden');
  requireProblem(await operator.post(`${schedules}/${id}/pause`), 403, 'forbidden');
  assert.equal((await create()).status, 201);
});
