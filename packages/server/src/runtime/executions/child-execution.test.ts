/**
 * A child pipeline can be read as an execution by its id, and what an execution
 * returns about itself.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ExecutionStep, Page, PipelineExecutionDetail, Step } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { makePipelineUsing, publishShared } from '../../../testing/shared-pipelines.ts';

const server = await startTestServer();

async function running(main = smallPipeline) {
  const account = await server.account();
  const agent = await account.agent();
  const { admin } = account;
  await publishShared(admin, [{ name: 'check.orch.yaml', content: smallPipeline }], { versionName: '3' });
  const made = await account.project();
  await upload(admin, made, [{ name: 'main.orch.yaml', content: main }]);
  const executions = `${made.path}/pipeline-executions`;
  const body = { pipelineName: 'main', environmentName: 'dev', executionTag: 'nightly' };
  const { pipelineExecutionId: id } = (await admin.post<{ pipelineExecutionId: string }>(executions, body))
    .body;
  const instance = createInstance(agent);
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  const child = randomUUID();
  const stepId = randomUUID();
  const report = (changes: Partial<Step>) =>
    instance.report(work, {
      type: 'progress',
      steps: [
        {
          stepId,
          pipelineRunId: id,
          name: 'Call',
          componentType: 'run-orchestration',
          status: 'RUNNING',
          startedAt: server.clock.now().toISOString(),
          childPipeline: { id: child, name: 'sub/child.orch.yaml' },
          ...changes,
        },
      ],
    });
  const get = <Body>(path: string) => admin.get<Body>(`${executions}/${path}`);
  const read = async (path: string) => (await get<PipelineExecutionDetail & { result: object }>(path)).body;
  return { account, admin, made, id, child, work, instance, report, get, read };
}

test('a child pipeline can be read as an execution, with its status and steps', async () => {
  const { made, id, child, report, get, read } = await running();
  requireProblem(await get(child), 404, 'execution-not-found');
  await report({});
  const { result, ...flat } = await read(child);
  const startedAt = server.clock.now().toISOString();
  assert.deepEqual(flat, {
    pipelineExecutionId: child,
    pipelineName: 'sub/child.orch.yaml',
    pipelineType: 'ORCHESTRATION',
    projectId: made.projectId,
    environmentName: 'dev',
    versionName: 'v1',
    status: 'RUNNING',
    trigger: 'API',
    executionTag: 'nightly',
    startedAt,
    user: 'a SUPER_ADMIN',
  });
  assert.deepEqual(result, flat);
  const steps = await get<Page<ExecutionStep>>(`${child}/steps`);
  assert.deepEqual([steps.status, steps.body.total], [200, 0], 'readable before its first step');
  await report({ status: 'FAILED', message: 'why', finishedAt: startedAt });
  const outcome = await read(child);
  assert.deepEqual([outcome.status, outcome.message, outcome.finishedAt], ['FAILED', 'why', startedAt]);
  assert.deepEqual((await get(`${child}/status`)).body, { status: 'FAILED' });
  assert.equal((await read(id)).status, 'RUNNING');
});

test('a running child has the status CANCELLING while its execution is being cancelled', async () => {
  const { admin, made, id, child, report, get } = await running();
  await report({});
  const path = `${made.path}/pipeline-executions/${id}`;
  await admin.patch(path, { status: 'CANCELLED', forceUpdate: false });
  assert.deepEqual((await get(`${child}/status`)).body, { status: 'CANCELLING' });
});

test('a child pipeline of another project is not found', async () => {
  const { account, admin, child, report } = await running();
  await report({});
  const other = await account.project();
  for (const path of [child, `${child}/status`, `${child}/steps`])
    requireProblem(await admin.get(`${other.path}/pipeline-executions/${path}`), 404, 'execution-not-found');
});

test('an execution lists the versions of shared pipelines that it uses', async () => {
  const main = makePipelineUsing(
    { prefix: 'Checks' },
    { prefix: 'Checks', versionName: '3' },
    { prefix: 'Gone' },
  );
  const { id, read } = await running(main);
  const chosen = [{ sharedPipelineIdPrefix: 'Checks', versionName: '3' }];
  const { result, sharedPipelines } = await read(id);
  assert.deepEqual(sharedPipelines, chosen);
  assert.deepEqual((result as PipelineExecutionDetail).sharedPipelines, chosen);
  const without = await running();
  assert.equal('sharedPipelines' in (await without.read(without.id)), false);
});

test('the agent gets the dialect of the project, and whether statements of access have no effect', async () => {
  const account = await server.account();
  const instance = createInstance(await account.agent());
  const { admin } = account;
  const sql = { sqlDialect: 'REDSHIFT', ignoreAccessStatements: true };
  const expected = { name: randomUUID(), agentDeploymentType: 'HYBRID', ...sql };
  const { projectId } = (await admin.post<{ projectId: string }>('/projects', expected)).body;
  const project = { projectId, path: `/projects/${projectId}` };
  await admin.post(`${project.path}/environments`, { name: 'dev' });
  await upload(admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }]);
  await admin.post(`${project.path}/pipeline-executions`, { pipelineName: 'main', environmentName: 'dev' });
  const [work] = (await instance.claim()).work;
  assert.deepEqual(work?.payload.warehouse, { kind: 'duckdb', ...sql });
});

test('the agent gets the warehouse of the project, by default DUCKDB', async () => {
  const account = await server.account();
  const instance = createInstance(await account.agent());
  const { admin } = account;
  for (const [warehouse, kind] of [
    [undefined, 'duckdb'],
    ['SNOWFLAKE', 'snowflake'],
    ['POSTGRES', 'postgres'],
  ] as const) {
    const expected = { name: randomUUID(), warehouse, agentDeploymentType: 'HYBRID' };
    const made = await admin.post<{ projectId: string }>('/projects', expected);
    assert.equal(made.status, 201, made.text);
    const project = { ...made.body, path: `/projects/${made.body.projectId}` };
    await admin.post(`${project.path}/environments`, { name: 'dev' });
    await upload(admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }]);
    await admin.post(`${project.path}/pipeline-executions`, { pipelineName: 'main', environmentName: 'dev' });
    const [work] = (await instance.claim()).work;
    assert.equal(work?.payload.warehouse.kind, kind);
  }
});
