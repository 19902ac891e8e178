/** Starting and listing pipeline executions. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { PipelineExecution } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createStartable, createStartableWithAgent } from '../../../testing/startable-project.ts';

const server = await startTestServer();
type Listed = { results: PipelineExecution[]; more?: string };

test('a pipeline is started and found at its Location, running', async () => {
  const { admin, executions, made, start, status } = await createStartable(server);
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
  const { started, read } = await createStartable(server);
  for (const name of ['folder/Load it', 'folder/Load it.orch.yaml']) {
    assert.equal(
      (await read(await started({ pipelineName: name }))).pipelineName,
      'folder/Load it.orch.yaml',
    );
  }
});

test('a start that is not possible is refused with the reason', async () => {
  const { start } = await createStartable(server);
  const other = requireProblem(await start({ pipelineName: 'other' }), 404, 'pipeline-not-found');
  assert.match(other.detail, /, the newest enabled one in the environment, has no pipeline "other"/);
  assert.doesNotMatch(other.detail, /Did you mean/);
  for (const pipelineName of ['mian', 'main.orch.yml']) {
    const mistyped = requireProblem(await start({ pipelineName }), 404, 'pipeline-not-found');
    assert.match(mistyped.detail, /Did you mean main\.orch\.yaml\?$/);
  }
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
  const { admin, made, start } = await createStartable(server);
  await admin.post(`${made.path}/variables`, { name: 'region', type: 'NUMBER', behaviour: 'SHARED' });
  const scalar = (values: object) => start({ scalarVariables: values });
  assert.equal((await scalar({ city: 'Bergen', limit: 2, region: '7' })).status, 201);
  assert.equal((await start({ gridVariables: { table: [['x'], [null]] } })).status, 201);
  requireProblem(await scalar({ nothing: 1 }), 422, 'unknown-pipeline-variable');
  requireProblem(await scalar({ inner: 'x' }), 422, 'unknown-pipeline-variable');
  requireProblem(await scalar({ constructor: 'x' }), 422, 'unknown-pipeline-variable');
  const { detail } = requireProblem(await scalar({ limit: 'many' }), 422, 'pipeline-variable-type');
  assert.equal(
    detail,
    'body.scalarVariables sets "limit", whose type is NUMBER: set it in `scalarVariables` to a number, such as 7 or "7.5".',
  );
  requireProblem(await scalar({ table: 'x' }), 422, 'pipeline-variable-type');
  requireProblem(await start({ gridVariables: { city: [['x']] } }), 422, 'pipeline-variable-type');
  requireProblem(await scalar({ city: true }), 400, 'invalid-request');
  requireProblem(await scalar({ city: ['x'] }), 400, 'invalid-request');
  const infinite = '{"pipelineName":"main","environmentName":"dev","scalarVariables":{"limit":1e999}}';
  const answer = await admin.post(`${made.path}/pipeline-executions`, infinite);
  assert.ok(answer.status === 400 || answer.status === 422, answer.text);
});

test('without a version the newest enabled one runs; a disabled one gets 410', async () => {
  const { account, admin, made, start, started, read } = await createStartable(server);
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
  const { account, admin, made, start, started, agent, instance } = await createStartableWithAgent(server);
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
  assert.equal((await createInstance(second).claim()).work[0]?.workId, named);
  await admin.post(`${made.path}/environments`, { name: 'uat', defaultAgentId: agent.agentId });
  await upload(admin, made, [{ name: 'main.orch.yaml', content: smallPipeline }], { environmentName: 'uat' });
  const byDefault = await started({ environmentName: 'uat' });
  assert.equal((await instance.claim()).work[0]?.workId, byDefault);
});

test('an account without an agent cannot start a pipeline', async () => {
  const account = await server.account();
  const { start } = await createStartable(server, account);
  requireProblem(await start(), 422, 'environment-without-agent');
});

test('a tag has one running execution in an environment, and can be used again after its end', async () => {
  const { admin, made, start, started, cancel, instance } = await createStartableWithAgent(server);
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
  const { start } = await createStartable(server);
  const answers = await Promise.all(Array.from({ length: 8 }, () => start({ executionTag: 'race' })));
  assert.deepEqual(answers.map((answer) => answer.status).toSorted(), [
    201,
    ...Array.from({ length: 7 }, () => 409),
  ]);
});

test('executions of the account are listed newest first, in pages by token', async () => {
  const { admin, started } = await createStartable(server);
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
  const { admin, account, made } = await createStartable(server);
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
  const one = await createStartable(server);
  const { admin } = one;
  const other = await createStartable(server, one.account);
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
  assert.deepEqual(await found('timeFrame=PT5S'), [elsewhere]);
  assert.deepEqual(await found('timeFrame=PT11S'), [elsewhere, load]);
  assert.deepEqual(await found('timeFrame=P1D'), [elsewhere, load, main]);
  assert.deepEqual(await found(`projectId=${randomUUID()}`), []);
  assert.deepEqual(await found('scheduleId=x'), []);
  for (const query of [
    'status=DONE',
    'startedAfter=yesterday',
    'startedAfter=2026-01-01',
    'projectId=x',
    'startedAfter=0000-01-01T00:00:00Z',
    'timeFrame=P',
    'timeFrame=PT',
    'timeFrame=24h',
    'timeFrame=-P1D',
  ]) {
    requireProblem(await admin.get(`/pipeline-executions?${query}`), 400, 'invalid-request');
  }
});

test('a list contains the executions that the caller may read by a role in the project or environment', async () => {
  const one = await createStartable(server);
  const other = await createStartable(server, one.account);
  const third = await createStartable(server, one.account);
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
  const one = await createStartable(server);
  const other = await createStartable(server, one.account);
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
