/** Restarting an execution over the API: who may, what is refused, and what the agent gets. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Page, PipelineExecution, Step, StepRecord } from '@headgate/contract';
import fc from 'fast-check';
import { requireProblem } from '../../../testing/client.ts';
import { passTime } from '../../../testing/runnable-project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createStartableWithAgent } from '../../../testing/startable-project.ts';

const server = await startTestServer();
const abilities = ['pipeline-execution', 'restarted-execution'];

type Restarted = { pipelineExecutionId: string; restartOf: string };
type Startable = Awaited<ReturnType<typeof createStartableWithAgent>>;

async function createRestartable() {
  const found = await createStartableWithAgent(server);
  await found.instance.hello({ abilities, concurrency: 200 });
  const restart = (id: string, body: object = {}, client = found.admin) =>
    client.post<Restarted>(`${found.executions}/${id}/restart`, body);
  return { ...found, restart };
}

const at = () => server.clock.now().toISOString();
const stepOf = (
  pipelineRunId: string,
  name: string,
  restart?: StepRecord,
  input: Partial<Step> = {},
): Step => ({
  stepId: randomUUID(),
  pipelineRunId,
  name,
  componentType: 'sql-script',
  status: 'SUCCESS',
  startedAt: at(),
  ...(restart?.ended === undefined ? {} : { finishedAt: at() }),
  ...(restart === undefined ? {} : { restart }),
  ...input,
});

test('a restart names the members of a start that it does not take', async () => {
  const startable = await createRestartable();
  const input = {
    scalarVariables: { city: 'Ulm' },
    gridVariables: {},
    versionName: 'v9',
    agentId: 'x',
    other: 1,
  };
  const restarted = await startable.restart(await fail(startable, false), input);
  assert.equal(restarted.status, 201, restarted.text);
  const warning = String(restarted.headers['headgate-warning']);
  for (const name of ['scalarVariables', 'gridVariables', 'versionName', 'agentId'])
    assert.match(warning, new RegExp(`body\\.${name} was ignored: `));
  assert.match(warning, /scalarVariables was ignored: variables keep the values that they had/);
  assert.doesNotMatch(warning, /other/);
  const strict = { headers: { prefer: 'handling=strict' } };
  const path = `${startable.executions}/${await fail(startable, false)}/restart`;
  requireProblem(await startable.admin.post(path, input, strict), 400, 'invalid-request');
});

/** Runs `main` up to a failure in "Load". */
async function fail({ instance, started }: Startable, effect: boolean, input: object = {}): Promise<string> {
  const id = await started(input);
  const work = (await instance.claim()).work.find(({ workId }) => workId === id);
  assert.ok(work);
  await instance.report(work, { type: 'started' });
  const variables = [{ name: 'city', value: 'Ulm' }];
  const steps = [
    stepOf(id, 'Start', { began: 0, ended: 1, next: ['Load'], variables }, { componentType: 'start' }),
    stepOf(id, 'Load', { began: 1, ended: 2, next: [], effect }, { status: 'FAILED', attempt: 3 }),
  ];
  const project = { name: 'rate', type: 'NUMBER', source: 'override', value: 7 } as const;
  const request = { name: 'city', type: 'TEXT', source: 'request', value: 'Bodø' } as const;
  const recorded = [{ pipelineRunId: id, variables: [project, request] }];
  await instance.report(work, { type: 'progress', steps, variables: recorded });
  await instance.report(work, { type: 'completed', outcome: { status: 'FAILED', message: 'no' } });
  return id;
}

test('a restart is another execution with the same start, and its agent gets the plan', async () => {
  const found = await createRestartable();
  const { restart, read, admin, executions, instance } = found;
  const input = { executionTag: 'nightly', scalarVariables: { city: 'Bodø' } };
  const id = await fail(found, false, input);
  const before = await read(id);
  const answer = await restart(id, { from: 'FAILED' });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const { pipelineExecutionId: other, restartOf } = answer.body;
  assert.equal(restartOf, id);
  const { status: _, message, finishedAt, ...same } = before;
  assert.deepEqual(await read(other), {
    ...(await read(other)),
    ...same,
    pipelineExecutionId: other,
    startedAt: at(),
    restartOf: id,
    result: ((await read(other)) as PipelineExecution & { result: object }).result,
  });
  const listed = await admin.get<Page<PipelineExecution>>(
    `/pipeline-executions?projectId=${found.made.projectId}`,
  );
  assert.deepEqual(
    listed.body.results.map((each) => each.restartOf),
    [id, undefined],
  );
  const steps = await admin.get<Page<{ result: { attempt?: number } }>>(`${executions}/${id}/steps`);
  assert.deepEqual(
    steps.body.results.map(({ result }) => result.attempt),
    [undefined, 3],
  );
  const [work] = (await instance.claim()).work;
  assert.deepEqual(work?.payload.scalarVariables, { city: 'Bodø' });
  assert.deepEqual(work?.payload.restart, {
    restartOf: id,
    projectVariables: [{ name: 'rate', type: 'NUMBER', source: 'override', value: 7 }],
    runs: [
      {
        variables: [{ name: 'city', value: 'Ulm' }],
        kept: [{ component: 'Start', end: 'SUCCESS', next: ['Load'] }],
        open: [],
      },
    ],
  });
});

test('an effect has to be accepted by name', async () => {
  const found = await createRestartable();
  const id = await fail(found, true);
  for (const acceptEffects of [undefined, [], ['load'], ['Start']]) {
    const refused = await found.restart(id, { acceptEffects });
    const { detail, errors } = requireProblem(refused, 409, 'restart-repeats-effects');
    assert.match(detail, /"Load"/);
    assert.deepEqual(errors, [
      { pointer: '/body/acceptEffects', detail: '"Load" failed, and may have changed data before' },
    ]);
  }
  assert.equal((await found.restart(id, { acceptEffects: ['Load', 'more'] })).status, 201);
});

test('an execution that is under way, succeeded or was restarted is refused', async () => {
  const found = await createRestartable();
  const { restart, started, instance, cancel } = found;
  const queued = await started();
  const waiting = await restart(queued);
  const { detail } = requireProblem(waiting, 409, 'execution-not-restartable');
  assert.match(detail, /its status is RUNNING/);
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  requireProblem(await restart(queued), 409, 'execution-not-restartable');
  const id = await fail(found, false);
  const answers = await Promise.all([restart(id), restart(id), restart(id)]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
  for (const answer of answers.filter(({ status }) => status === 409))
    requireProblem(answer, 409, 'execution-not-restartable');
  const cancelled = await started();
  await cancel(cancelled);
  assert.equal((await restart(cancelled)).status, 201);
});

test('the version, the agent and the tag are checked as for a start', async () => {
  const found = await createRestartable();
  const { restart, started, made } = found;
  const tagged = await fail(found, false, { executionTag: 'one' });
  await started({ executionTag: 'one' });
  requireProblem(await restart(tagged), 409, 'execution-tag-running');
  const id = await fail(found, false);
  await server.database.query(
    `update artifact_version set enabled = false where project_id = '${made.projectId}'`,
  );
  requireProblem(await restart(id), 410, 'artifact-disabled');
  await server.database.query(`delete from artifact_version where project_id = '${made.projectId}'`);
  requireProblem(await restart(id), 404, 'artifact-not-found');
});

test('it needs the permission to run in the environment of the execution', async () => {
  const found = await createRestartable();
  const { account, made } = found;
  const id = await fail(found, false);
  const { projectId } = made;
  const viewer = await account.actor('MEMBER', { projectId, environmentName: 'dev', role: 'VIEWER' });
  const other = await account.actor('MEMBER', { projectId, environmentName: 'prod', role: 'OPERATOR' });
  for (const client of [viewer, other]) assert.equal((await found.restart(id, {}, client)).status, 403);
  const stranger = await server.account();
  assert.equal((await stranger.admin.post(`${found.executions}/${id}/restart`, {})).status, 404);
  const operator = await account.actor('MEMBER', { projectId, environmentName: 'dev', role: 'OPERATOR' });
  assert.equal((await found.restart(id, {}, operator)).status, 201);
});

test('only an instance that can continue an execution gets it', async () => {
  const found = await createRestartable();
  const id = await fail(found, false);
  const { pipelineExecutionId: other } = (await found.restart(id)).body;
  await found.instance.hello({ abilities: ['pipeline-execution'] });
  assert.deepEqual((await found.instance.claim()).work, []);
  await found.instance.hello({ abilities, concurrency: 200 });
  assert.deepEqual(
    (await found.instance.claim()).work.map(({ workId }) => workId),
    [other],
  );
});

test('a lost agent may have run more than it reported', async () => {
  const found = await createRestartable();
  const { instance, started, restart, status } = found;
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'started' });
  const steps = [stepOf(id, 'Start', { began: 0, ended: 1, next: ['Load'] }, { componentType: 'start' })];
  await instance.report(work, { type: 'progress', steps });
  const { leaseSeconds, graceSeconds } = server.deps.times;
  await passTime(server, leaseSeconds + graceSeconds + 10);
  assert.equal(await status(id), 'FAILED');
  const refused = await restart(id);
  const { violations } = requireProblem(refused, 409, 'restart-repeats-effects');
  assert.deepEqual(violations, ['body.acceptEffects: "Load" was next when the agent was lost']);
});

test('an agent that says that its steps were refused may have run more than it reported', async () => {
  const found = await createRestartable();
  const { instance, started, restart } = found;
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'started' });
  const steps = [stepOf(id, 'Start', { began: 0, ended: 1, next: ['Load'] }, { componentType: 'start' })];
  await instance.report(work, { type: 'progress', steps });
  await instance.report(work, { type: 'completed', outcome: { status: 'FAILED', stepsRefused: true } });
  const { violations } = requireProblem(await restart(id), 409, 'restart-repeats-effects');
  assert.deepEqual(violations, ['body.acceptEffects: "Load" was next when the agent was lost']);
});

test('an agent whose steps were refused may have run more than it reported', async () => {
  const found = await createRestartable();
  const { instance, started, restart, status } = found;
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'started' });
  const steps = [stepOf(id, 'Load', { began: 0, effect: true }, { startedAt: '2000-01-01T00:00:00Z' })];
  await instance.report(work, { type: 'progress', steps });
  assert.equal(await status(id), 'FAILED');
  requireProblem(await restart(id), 409, 'restart-repeats-effects');
});

test('an execution whose steps retention may have deleted is refused', async () => {
  const found = await createRestartable();
  const id = await fail(found, false);
  await server.database.query(
    `update pipeline_execution set finished_at = finished_at - interval '90 days' where execution_id = '${id}'`,
  );
  const { detail } = requireProblem(await found.restart(id), 409, 'execution-not-restartable');
  assert.match(detail, /more than 90 days ago/);
});

test('any body is answered, never by a 500', async () => {
  const found = await createRestartable();
  const id = await fail(found, true);
  const member = fc.constantFrom('from', 'acceptEffects', 'acceptEffect', '__proto__');
  const body = fc.oneof(fc.jsonValue(), fc.dictionary(member, fc.oneof(fc.jsonValue(), fc.string())));
  await fc.assert(
    fc.asyncProperty(body, async (input) => {
      const { status } = await found.restart(id, input as object);
      assert.ok([400, 409, 422].includes(status), `${status} for ${JSON.stringify(input)}`);
    }),
    { numRuns: 60 },
  );
  const odd = await found.restart(id, { from: '\u0000' });
  assert.ok([400, 422].includes(odd.status), String(odd.status));
});

test('any record of a step is taken or refused, and never breaks a restart', async () => {
  const found = await createRestartable();
  const { instance, started, restart } = found;
  const name = fc.constantFrom('A', 'B', '__proto__', 'x'.repeat(255));
  const record = fc.record(
    {
      began: fc.oneof(fc.nat(), fc.constant(-1)),
      ended: fc.oneof(fc.integer(), fc.constant('1')),
      parent: fc.oneof(fc.uuid(), fc.string()),
      iteration: fc.constantFrom('k', 'k'.repeat(32)),
      next: fc.oneof(fc.array(name), fc.jsonValue()),
      branch: fc.boolean(),
      effect: fc.boolean(),
      variables: fc.oneof(fc.array(fc.record({ name, value: fc.jsonValue() })), fc.jsonValue()),
    },
    { requiredKeys: ['began'] },
  );
  await fc.assert(
    fc.asyncProperty(record, async (input) => {
      const id = await started();
      const work = (await instance.claim()).work.find(({ workId }) => workId === id);
      assert.ok(work);
      const steps = [stepOf(id, 'A', input as StepRecord, { finishedAt: at(), status: 'FAILED' })];
      await instance.report(work, { type: 'progress', steps }).catch(() => undefined);
      await instance
        .report(work, { type: 'completed', outcome: { status: 'FAILED' } })
        .catch(() => undefined);
      const { status } = await restart(id);
      assert.ok(status === 201 || status === 409, String(status));
    }),
    { numRuns: 40 },
  );
});
