/** Pipeline executions: E23, and shapes.md, Executions. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type {
  AccountEventItem,
  ExecutionStatus,
  ExecutionStep,
  Page,
  PipelineExecution,
  Step,
} from '@headgate/contract';
import type { Account } from '../../testing/account.ts';
import { instanceOf } from '../../testing/agent.ts';
import { requireProblem } from '../../testing/client.ts';
import { smallPipeline, upload } from '../../testing/project.ts';
import { startTestServer } from '../../testing/server.ts';

const server = await startTestServer();
type Started = { pipelineExecutionId: string };
type Listed = { results: PipelineExecution[]; more?: string };

/** A project with the pipeline `main` in dev, and one agent. */
async function project(account?: Account) {
  const owner = account ?? (await server.account());
  const agent = account === undefined ? await owner.agent() : undefined;
  const made = await owner.project();
  await upload(owner.admin, made, [
    { name: 'main.orch.yaml', content: smallPipeline },
    { name: 'folder/Load it.orch.yaml', content: smallPipeline },
  ]);
  const executions = `${made.path}/pipeline-executions`;
  const { admin } = owner;
  const start = (given: object = {}) =>
    admin.post<Started>(executions, { pipelineName: 'main', environmentName: 'dev', ...given });
  const started = async (given: object = {}) => (await start(given)).body.pipelineExecutionId;
  const read = async (id: string) => (await admin.get<PipelineExecution>(`${executions}/${id}`)).body;
  const status = async (id: string) =>
    (await admin.get<{ status: ExecutionStatus }>(`${executions}/${id}/status`)).body.status;
  const cancel = (id: string, forceUpdate = false) =>
    admin.patch<Started>(`${executions}/${id}`, { status: 'CANCELLED', forceUpdate });
  const instance = agent === undefined ? undefined : instanceOf(agent);
  return { account: owner, admin, agent, instance, made, executions, start, started, read, status, cancel };
}

async function projectWithAgent() {
  const found = await project();
  const { agent, instance } = found;
  assert.ok(agent && instance);
  return { ...found, agent, instance };
}

test('a pipeline is started and found at its Location, running', async () => {
  const { admin, executions, made, start, status } = await project();
  const answer = await start({ executionTag: 'nightly' });
  assert.equal(answer.status, 201);
  const id = answer.body.pipelineExecutionId;
  assert.ok(answer.headers.location?.endsWith(`/dpc/v1${executions}/${id}`));
  assert.equal(await status(id), 'RUNNING');
  const { result, ...flat } = (
    await admin.get<PipelineExecution & { result: PipelineExecution }>(`${executions}/${id}`)
  ).body;
  assert.deepEqual(flat, {
    pipelineExecutionId: id,
    pipelineName: 'main.orch.yaml',
    pipelineType: 'ORCHESTRATION',
    projectId: made.projectId,
    environmentName: 'dev',
    versionName: 'v1',
    status: 'RUNNING',
    trigger: 'API',
    executionTag: 'nightly',
    startedAt: server.clock.now().toISOString(),
    user: 'a SUPER_ADMIN',
  });
  assert.deepEqual(result, flat, 'the members are at the top level and in `result`');
});

test('a pipeline is named by its path with or without the extension', async () => {
  const { started, read } = await project();
  for (const name of ['folder/Load it', 'folder/Load it.orch.yaml']) {
    assert.equal(
      (await read(await started({ pipelineName: name }))).pipelineName,
      'folder/Load it.orch.yaml',
    );
  }
});

test('a start that is not possible is refused with the reason', async () => {
  const { start } = await project();
  requireProblem(await start({ pipelineName: 'other' }), 404, 'pipeline-not-found');
  requireProblem(await start({ pipelineName: 'main.tran.yaml' }), 404, 'pipeline-not-found');
  requireProblem(await start({ environmentName: 'uat' }), 404, 'environment-not-found');
  requireProblem(await start({ environmentName: 'prod' }), 404, 'artifact-not-found');
  requireProblem(await start({ versionName: 'v9' }), 404, 'artifact-not-found');
  requireProblem(await start({ agentId: randomUUID() }), 422, 'unknown-agent');
  requireProblem(await start({ agentId: 'nobody' }), 422, 'unknown-agent');
  requireProblem(await start({ pipelineName: '' }), 400, 'invalid-request');
  requireProblem(await start({ executionTag: 'x'.repeat(256) }), 400, 'invalid-request');
  requireProblem(await start({ environmentName: undefined }), 400, 'invalid-request');
});

test('a start sets public variables of the pipeline and variables of the project, checked by type', async () => {
  const { admin, made, start } = await project();
  await admin.post(`${made.path}/variables`, { name: 'region', type: 'NUMBER', behaviour: 'SHARED' });
  const scalar = (values: object) => start({ scalarVariables: values });
  assert.equal((await scalar({ city: 'Bergen', limit: 2, region: '7' })).status, 201);
  assert.equal((await start({ gridVariables: { table: [['x'], [null]] } })).status, 201);
  requireProblem(await scalar({ nothing: 1 }), 422, 'unknown-pipeline-variable');
  requireProblem(await scalar({ inner: 'x' }), 422, 'unknown-pipeline-variable');
  requireProblem(await scalar({ constructor: 'x' }), 422, 'unknown-pipeline-variable');
  requireProblem(await scalar({ limit: 'many' }), 422, 'pipeline-variable-type');
  requireProblem(await scalar({ table: 'x' }), 422, 'pipeline-variable-type');
  requireProblem(await start({ gridVariables: { city: [['x']] } }), 422, 'pipeline-variable-type');
  requireProblem(await scalar({ city: true }), 400, 'invalid-request');
  requireProblem(await scalar({ city: ['x'] }), 400, 'invalid-request');
  const infinite = '{"pipelineName":"main","environmentName":"dev","scalarVariables":{"limit":1e999}}';
  const answer = await admin.post(`${made.path}/pipeline-executions`, infinite);
  assert.ok(answer.status === 400 || answer.status === 422, answer.text);
});

test('without a version the newest enabled one runs; a disabled one gets 410', async () => {
  const { account, admin, made, start, started, read } = await project();
  server.clock.advance(1);
  await upload(admin, made, [{ name: 'main.orch.yaml', content: smallPipeline }], { versionName: 'v2' });
  assert.equal((await read(await started())).versionName, 'v2');
  assert.equal((await read(await started({ versionName: 'v1' }))).versionName, 'v1');
  await server.database.query(
    `update artifact_version set enabled = false where account_id = $1 and version_name = 'v2'`,
    [account.accountId],
  );
  assert.equal((await read(await started())).versionName, 'v1');
  requireProblem(await start({ versionName: 'v2' }), 410, 'artifact-disabled');
});

test('the agent is that of the request, else of the environment, else the only one of the account', async () => {
  const { account, admin, made, start, started, agent, instance } = await projectWithAgent();
  const onlyId = await started();
  assert.deepEqual(
    (await instance.claim()).work.map((work) => work.workId),
    [onlyId],
  );
  const second = await account.agent();
  const stillFirst = await started();
  assert.equal(
    (await instance.claim()).work[0]?.workId,
    stillFirst,
    'the environment kept it as its default',
  );
  await admin.patch(`${made.path}/environments/dev`, { defaultAgentId: '' });
  requireProblem(await start(), 422, 'environment-without-agent');
  const named = await started({ agentId: second.agentId });
  assert.equal((await instanceOf(second).claim()).work[0]?.workId, named);
  await admin.post(`${made.path}/environments`, { name: 'uat', defaultAgentId: agent.agentId });
  await upload(admin, made, [{ name: 'main.orch.yaml', content: smallPipeline }], { environmentName: 'uat' });
  const byDefault = await started({ environmentName: 'uat' });
  assert.equal((await instance.claim()).work[0]?.workId, byDefault);
});

test('an account without an agent cannot start a pipeline', async () => {
  const account = await server.account();
  const { start } = await project(account);
  requireProblem(await start(), 422, 'environment-without-agent');
});

test('a tag has one running execution in an environment, and can be used again after its end', async () => {
  const { admin, made, start, started, cancel, instance } = await projectWithAgent();
  const first = await started({ executionTag: 'load' });
  requireProblem(await start({ executionTag: 'load' }), 409, 'execution-tag-running');
  await upload(admin, made, [{ name: 'main.orch.yaml', content: smallPipeline }], {
    environmentName: 'prod',
  });
  const inProd = await start({ executionTag: 'load', environmentName: 'prod' });
  assert.equal(inProd.status, 201, 'another environment');
  assert.equal((await start({ executionTag: 'other' })).status, 201);
  const work = (await instance.claim()).work.find((each) => each.workId === first);
  assert.ok(work);
  await instance.report(work, { type: 'completed', outcome: { status: 'FAILED', message: 'no such file' } });
  const second = await started({ executionTag: 'load' });
  await cancel(second);
  assert.equal((await start({ executionTag: 'load' })).status, 201);
});

test('of 8 concurrent starts with one tag one succeeds', async () => {
  const { start } = await project();
  const answers = await Promise.all(Array.from({ length: 8 }, () => start({ executionTag: 'race' })));
  assert.deepEqual(answers.map((answer) => answer.status).toSorted(), [
    201,
    ...Array.from({ length: 7 }, () => 409),
  ]);
});

test('executions of the account are listed newest first, in pages by token', async () => {
  const { admin, started } = await project();
  const ids: string[] = [];
  for (let run = 0; run < 5; run += 1) {
    server.clock.advance(1);
    ids.unshift(await started());
  }
  const seen: string[] = [];
  let path = '/pipeline-executions?limit=2';
  for (;;) {
    const { results, more } = (await admin.get<Listed>(path)).body;
    seen.push(...results.map((execution) => execution.pipelineExecutionId));
    if (more === undefined) break;
    assert.equal(results.length, 2);
    path = `/pipeline-executions?limit=2&paginationToken=${encodeURIComponent(more)}`;
  }
  assert.deepEqual(seen, ids);
  const all = (await admin.get<Listed>('/pipeline-executions?limit=5')).body;
  assert.ok(!('more' in all), 'a full last page has no `more`');
});

test('a limit above 100 is reduced to 100; one below 1 and an invalid token are refused', async () => {
  const { admin, account, made } = await project();
  await server.database.query(
    `insert into pipeline_execution (account_id, execution_id, project_id, environment_name, pipeline_name, pipeline_type, version_name,
       manifest_digest, agent_id, status, trigger, scalar_variables, grid_variables, started_at)
     select $1, gen_random_uuid(), $2, 'dev', 'main', 'ORCHESTRATION', 'v1', '', gen_random_uuid(), 'SUCCESS', 'API', '{}', '{}', now()
     from generate_series(1, 101)`,
    [account.accountId, made.projectId],
  );
  const { results, more } = (await admin.get<Listed>('/pipeline-executions?limit=5000')).body;
  assert.equal(results.length, 100);
  assert.ok(more);
  for (const query of [
    'limit=0',
    'limit=-1',
    'limit=x',
    'paginationToken=x',
    'paginationToken=',
    'paginationToken=MTp4',
  ]) {
    requireProblem(await admin.get(`/pipeline-executions?${query}`), 400, 'invalid-request');
  }
});

test('executions are filtered by project, environment, part of the name, status and time', async () => {
  const one = await project();
  const { admin } = one;
  const other = await project(one.account);
  server.clock.advance(10);
  const begin = server.clock.now();
  const main = await one.started();
  server.clock.advance(10);
  const load = await one.started({ pipelineName: 'folder/Load it' });
  server.clock.advance(10);
  await upload(admin, other.made, [{ name: 'main.orch.yaml', content: smallPipeline }], {
    environmentName: 'prod',
  });
  const elsewhere = await other.started({ environmentName: 'prod' });
  await one.cancel(main);
  const found = async (query: string) =>
    (await admin.get<Listed>(`/pipeline-executions?${query}`)).body.results.map(
      (each) => each.pipelineExecutionId,
    );
  assert.deepEqual(await found(`projectId=${one.made.projectId}`), [load, main]);
  assert.deepEqual(await found('environmentName=prod'), [elsewhere]);
  assert.deepEqual(await found('pipelineName=LOAD%20I'), [load]);
  assert.deepEqual(await found('pipelineName=%25'), [], 'a percent sign is matched literally');
  assert.deepEqual(await found('status=CANCELLED'), [main]);
  assert.deepEqual(await found('status=CANCELLED&status=RUNNING'), [elsewhere, load, main]);
  assert.deepEqual(await found('status=SUCCESS'), []);
  const at = (seconds: number) =>
    encodeURIComponent(new Date(begin.getTime() + seconds * 1_000).toISOString());
  assert.deepEqual(await found(`startedAfter=${at(5)}&startedBefore=${at(15)}`), [load]);
  assert.deepEqual(await found(`startedAfter=${at(10)}`), [elsewhere], 'startedAfter is exclusive');
  assert.deepEqual(await found(`projectId=${randomUUID()}`), []);
  assert.deepEqual(await found('scheduleId=x'), []);
  for (const query of [
    'status=DONE',
    'startedAfter=yesterday',
    'startedAfter=2026-01-01',
    'projectId=x',
    'startedAfter=0000-01-01T00:00:00Z',
  ]) {
    requireProblem(await admin.get(`/pipeline-executions?${query}`), 400, 'invalid-request');
  }
});

test('a list contains the executions that the caller may read by a role in the project or environment', async () => {
  const one = await project();
  const other = await project(one.account);
  const third = await project(one.account);
  const [mine, shared] = [await one.started(), await other.started(), await third.started()];
  const roles = { projectId: one.made.projectId, role: 'VIEWER' } as const;
  const inDev = { projectId: other.made.projectId, environmentName: 'dev', role: 'OPERATOR' } as const;
  const inProd = { projectId: third.made.projectId, environmentName: 'prod', role: 'OWNER' } as const;
  const reader = await one.account.actor('MEMBER', roles, inDev, inProd);
  const { results } = (await reader.get<Listed>('/pipeline-executions')).body;
  assert.deepEqual(
    results.map((each) => each.pipelineExecutionId),
    [shared, mine],
  );
});

test('an execution is found only in its own project', async () => {
  const one = await project();
  const other = await project(one.account);
  const id = await one.started();
  for (const path of [id, `${id}/status`, `${id}/steps`]) {
    requireProblem(await one.admin.get(`${other.executions}/${path}`), 404, 'execution-not-found');
    requireProblem(
      await one.admin.get(`${one.executions}/${path.replace(id, 'unknown')}`),
      404,
      'execution-not-found',
    );
  }
  requireProblem(await other.cancel(id), 404, 'execution-not-found');
  assert.equal(await one.status(id), 'RUNNING');
});

const base = server.clock.now().getTime();
const at = (second: number) => new Date(base + second * 1_000).toISOString();
const stepOf = (pipelineRunId: string, name: string, second: number, given: Partial<Step> = {}): Step => ({
  stepId: randomUUID(),
  pipelineRunId,
  name,
  componentType: 'sql',
  status: 'RUNNING',
  startedAt: at(second),
  ...given,
});

test('steps are listed in the order of their start, in pages, each changed step once', async () => {
  const { admin, executions, instance, started } = await projectWithAgent();
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  const [first, second, third] = [stepOf(id, 'first', 1), stepOf(id, 'second', 2), stepOf(id, 'third', 3)];
  await instance.report(work, { type: 'progress', steps: [third, first] });
  const done: Step = { ...first, status: 'SUCCESS', finishedAt: at(9), rowCount: 7, message: 'seven' };
  await instance.report(work, { type: 'progress', steps: [second, done] });
  const steps = async (query: string) =>
    (await admin.get<Page<ExecutionStep>>(`${executions}/${id}/steps${query}`)).body;
  const all = await steps('');
  assert.deepEqual([all.total, all.results.map((step) => step.name)], [3, ['first', 'second', 'third']]);
  assert.deepEqual(all.results[0], {
    id: first.stepId,
    name: 'first',
    result: { status: 'SUCCESS', startedAt: at(1), finishedAt: at(9), rowCount: 7, message: 'seven' },
  });
  const page = await steps('?page=1&size=2');
  assert.deepEqual([page.total, page.results.map((step) => step.name)], [3, ['third']]);
});

test('the steps of a child pipeline are listed by its own id', async () => {
  const { admin, executions, instance, started } = await projectWithAgent();
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  const child = randomUUID();
  const caller = stepOf(id, 'Run the child', 1, { childPipeline: { id: child, name: 'folder/Load it' } });
  await instance.report(work, { type: 'progress', steps: [caller, stepOf(child, 'inside', 2)] });
  const names = async (run: string) =>
    (await admin.get<Page<ExecutionStep>>(`${executions}/${run}/steps`)).body.results.map((step) => [
      step.name,
      step.childPipeline,
    ]);
  assert.deepEqual(await names(id), [['Run the child', { id: child, name: 'folder/Load it' }]]);
  assert.deepEqual(await names(child), [['inside', undefined]]);
});

test('a queued execution is cancelled at once', async () => {
  const { started, status, read, cancel, instance } = await projectWithAgent();
  for (const forced of [false, true]) {
    const id = await started();
    const answer = await cancel(id, forced);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { pipelineExecutionId: id });
    assert.equal(await status(id), 'CANCELLED');
    assert.equal((await read(id)).finishedAt, server.clock.now().toISOString());
    assert.deepEqual((await instance.claim()).work, []);
  }
});

test('cancelling writes an event of type UPDATE, whether an agent holds the execution or not', async () => {
  const { admin, started, cancel, instance } = await projectWithAgent();
  const ever = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
  const held = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'started' });
  const queued = await started();
  for (const [id, status] of [
    [held, 'CANCELLING'],
    [queued, 'CANCELLED'],
  ] as const) {
    await cancel(id);
    const { body } = await admin.get<Page<AccountEventItem>>(
      `/events?${ever}&subjectId=${id}&eventName=pipeline-execution-cancel-requested`,
    );
    assert.deepEqual(
      body.results.map(({ eventType, additionalInfo }) => [eventType, additionalInfo.after]),
      [['UPDATE', { status, command: 'cancel' }]],
    );
  }
});

test('an execution held by an agent is CANCELLING until the agent reports its end', async () => {
  const { started, status, cancel, instance } = await projectWithAgent();
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'started' });
  await cancel(id);
  assert.equal(await status(id), 'CANCELLING');
  await instance.report(work, { type: 'completed', outcome: { status: 'CANCELLED' } });
  assert.equal(await status(id), 'CANCELLED');
});

test('a cancel without forceUpdate is graceful', async () => {
  const { admin, executions, started, status, instance } = await projectWithAgent();
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  const answer = await admin.patch(`${executions}/${id}`, { status: 'CANCELLED' });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body, { pipelineExecutionId: id });
  assert.equal(await status(id), 'CANCELLING');
  assert.equal((await instance.heartbeat(work))[0]?.command, 'cancel');
});

test('a run that finishes while being cancelled keeps its own result', async () => {
  const { started, status, cancel, instance } = await projectWithAgent();
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await cancel(id);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  assert.equal(await status(id), 'SUCCESS');
});

test('a forced cancel ends at its time limit even if the agent never obeys', async () => {
  const { started, status, read, cancel, instance } = await projectWithAgent();
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'progress', steps: [stepOf(id, 'endless', 1)] });
  await cancel(id, true);
  const { leaseSeconds, graceSeconds } = server.deps.times;
  for (let passed = 0; passed <= leaseSeconds + graceSeconds; passed += 5) {
    await instance.heartbeat(work);
    await server.sweep();
    assert.equal(await status(id), 'CANCELLING');
    // Repeating the request does not extend the limit.
    await cancel(id, true);
    server.clock.advance(5);
  }
  await server.sweep();
  assert.equal(await status(id), 'CANCELLED');
  assert.match((await read(id)).message ?? '', /did not confirm the cancellation/);
});

test('a graceful cancel does not replace a forced one', async () => {
  const { started, cancel, instance } = await projectWithAgent();
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await cancel(id, true);
  await cancel(id, false);
  assert.equal((await instance.heartbeat(work))[0]?.command, 'force-cancel');
});

test('an ended execution cannot be cancelled', async () => {
  const { started, cancel, instance } = await projectWithAgent();
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  const { detail } = requireProblem(await cancel(id), 409, 'execution-ended');
  assert.match(detail, /SUCCESS/);
});

test('a cancel needs the status CANCELLED', async () => {
  const { admin, executions, started } = await project();
  const id = await started();
  for (const body of [
    {},
    { forceUpdate: true },
    { status: 'CANCELLED', forceUpdate: 'yes' },
    { status: 'FAILED', forceUpdate: true },
  ]) {
    requireProblem(await admin.patch(`${executions}/${id}`, body), 400, 'invalid-request');
  }
});

test('the ETag of an execution changes with its status', async () => {
  const { admin, executions, started, cancel, instance } = await projectWithAgent();
  const id = await started();
  const tag = async () => (await admin.get(`${executions}/${id}`)).etag;
  const running = await tag();
  assert.equal(await tag(), running);
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await cancel(id);
  const cancelling = await tag();
  assert.notEqual(cancelling, running);
  await instance.report(work, { type: 'completed', outcome: { status: 'CANCELLED' } });
  assert.notEqual(await tag(), cancelling);
});
