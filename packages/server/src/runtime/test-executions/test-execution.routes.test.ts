/** Test executions. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { AccountEventItem, Page, TestExecution } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { createPlace, mainPipeline, type Place } from '../../../testing/place.ts';
import { upload } from '../../../testing/project.ts';
import { passTime } from '../../../testing/runnable-project.ts';
import { startTestServer } from '../../../testing/server.ts';
import {
  createEndedTestExecution,
  createTestExecution,
  createTestFile,
  createTestingInstance,
  publishTests,
} from '../../../testing/tested-project.ts';

const server = await startTestServer();

const [counts, loads] = ['tests/main counts.orch.yaml', 'tests/main loads.orch.yaml'];

async function createTested() {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  const start = (body: object) =>
    admin.post<{ testExecutionId: string }>(`${place.project.path}/test-executions`, {
      environmentName: 'dev',
      agentId: place.agent.agentId,
      ...body,
    });
  const read = async (path: string) => (await admin.get<TestExecution>(path)).body;
  return { place, admin, start, read };
}

/** The names of the tests that the agent gets for a request. */
async function claimNames(place: Place): Promise<string[]> {
  const instance = await createTestingInstance(place);
  const work = await instance.claimTests();
  await instance.report(work, { type: 'started' });
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  return work.payload.tests.map(({ testName }) => testName);
}

test('a scope selects the tests: named ones, those of pipelines, or all of the version', async () => {
  const { place, start } = await createTested();
  const versionName = await publishTests(place);
  for (const [body, names] of [
    [{ scope: 'TEST', tests: [{ testName: 'tests/main loads' }, { testName: loads }] }, [loads]],
    [{ scope: 'PIPELINE', pipelines: [{ pipelineName: 'main' }] }, [counts, loads]],
    [{ scope: 'PROJECT' }, [counts, loads]],
  ] as const) {
    assert.equal((await start({ versionName, ...body })).status, 201);
    assert.deepEqual(await claimNames(place), names);
  }
});

test('unknown names are refused, all of them named, with the nearest known one', async () => {
  const { place, start } = await createTested();
  const versionName = await publishTests(place);
  const ofTests = await start({
    versionName,
    scope: 'TEST',
    tests: [{ testName: 'tests/main counts' }, { testName: 'tests/main count' }, { testName: 'main' }],
  });
  const { detail } = requireProblem(ofTests, 422, 'unknown-tests');
  assert.match(detail, /"tests\/main count", "main".*Did you mean tests\/main counts/);
  const ofPipelines = await start({ versionName, scope: 'PIPELINE', pipelines: [{ pipelineName: 'mian' }] });
  assert.match(
    requireProblem(ofPipelines, 422, 'unknown-tested-pipelines').detail,
    /"mian".*main\.orch\.yaml/,
  );
  const untested = await start({ versionName, scope: 'PIPELINE', pipelines: [{ pipelineName: counts }] });
  requireProblem(untested, 422, 'no-tests');
  requireProblem(await start({ scope: 'PROJECT', versionName: 'v1' }), 422, 'no-tests');
  requireProblem(await start({ scope: 'PROJECT', versionName: 'none' }), 404, 'artifact-not-found');
  requireProblem(await start({ scope: 'PROJECT', environmentName: 'none' }), 404, 'environment-not-found');
  requireProblem(await start({ scope: 'PROJECT', versionName, agentId: randomUUID() }), 422, 'unknown-agent');
});

test('a list that the scope needs is required, and another one is refused', async () => {
  const { start } = await createTested();
  for (const body of [
    { scope: 'TEST' },
    { scope: 'TEST', tests: [] },
    { scope: 'PIPELINE', tests: [{ testName: 'a' }] },
    { scope: 'PROJECT', pipelines: [{ pipelineName: 'main' }] },
  ])
    requireProblem(await start(body), 422, 'list-of-scope');
  for (const body of [{ scope: 'ALL' }, {}]) requireProblem(await start(body), 400, 'invalid-request');
});

test('a test execution shows its results as they come, and its end', async () => {
  const { place, read } = await createTested();
  const path = await createTestExecution(place);
  assert.deepEqual((await read(path)).results, []);
  const instance = await createTestingInstance(place);
  const work = await instance.claimTests();
  assert.equal(work.payload.testExecutionId, path.split('/').at(-1));
  assert.equal(work.payload.warehouse.kind, 'duckdb');
  assert.deepEqual(
    work.payload.variables.map(({ name, value }) => [name, value]),
    [['city', 'Bergen']],
  );
  await instance.report(work, { type: 'started' });
  await instance.report(work, {
    type: 'tested',
    results: [{ index: 1, status: 'PASSED', durationMs: 3 }],
  });
  const passed = { testName: loads, pipelineName: mainPipeline.name, status: 'PASSED', durationMs: 3 };
  const running = await read(path);
  assert.deepEqual([running.status, running.results], ['RUNNING', [passed]]);
  await instance.report(work, { type: 'completed', outcome: { status: 'FAILED', message: 'no' } });
  const final = await read(path);
  assert.deepEqual([final.status, final.message], ['FAILED', 'no']);
  assert.deepEqual(
    final.results.map(({ testName, status }) => [testName, status]),
    [
      [counts, 'ERRORED'],
      [loads, 'PASSED'],
    ],
  );
});

test('an ended test execution has expected and actual values, events, and cannot be cancelled', async () => {
  const { place, admin, read } = await createTested();
  const path = await createEndedTestExecution(place);
  const { status, results, finishedAt } = await read(path);
  assert.equal(status, 'FAILED');
  assert.ok(finishedAt !== undefined);
  assert.deepEqual([results[0]?.expected, results[0]?.actual], ['Equal To 3 rows', '2 rows']);
  requireProblem(await admin.patch(path, { status: 'CANCELLED' }), 409, 'tests-ended');
  const { body } = await admin.get<Page<AccountEventItem>>(
    `/events?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&subjectId=${path.split('/').at(-1)}`,
  );
  assert.deepEqual(
    body.results.map(({ eventName }) => eventName),
    ['test-execution-ended', 'test-execution-started', 'test-execution-claimed', 'test-execution-requested'],
  );
});

test('queued tests are cancelled at once, held ones by their agent', async () => {
  const { place, admin, read } = await createTested();
  const queued = await createTestExecution(place);
  assert.deepEqual((await admin.patch(queued, { status: 'CANCELLED' })).body, {
    testExecutionId: queued.split('/').at(-1),
  });
  const cancelled = await read(queued);
  assert.deepEqual(
    [cancelled.status, cancelled.results.map(({ status }) => status)],
    ['CANCELLED', ['CANCELLED', 'CANCELLED']],
  );
  for (const forceUpdate of [false, true]) {
    const held = await createTestExecution(place);
    const instance = await createTestingInstance(place);
    const work = await instance.claimTests();
    await instance.report(work, { type: 'started' });
    assert.equal((await admin.patch(held, { status: 'CANCELLED', forceUpdate })).status, 200);
    assert.equal((await read(held)).status, 'CANCELLING');
    const [notice] = await instance.heartbeat(work);
    assert.equal(notice?.command, forceUpdate ? 'force-cancel' : 'cancel');
    await instance.report(work, { type: 'completed', outcome: { status: 'CANCELLED' } });
    assert.equal((await read(held)).status, 'CANCELLED');
  }
  requireProblem(await admin.patch(queued, { status: 'RUNNING' }), 400, 'invalid-request');
  requireProblem(await admin.patch(queued, {}), 400, 'invalid-request');
});

test('an agent that cannot run tests does not get them; a silent one loses them', async () => {
  const { place, read } = await createTested();
  const path = await createTestExecution(place);
  const old = await createTestingInstance(place);
  await old.hello({ abilities: ['pipeline-execution'] });
  assert.deepEqual((await old.claim()).work, []);
  const instance = await createTestingInstance(place);
  const work = await instance.claimTests();
  await instance.report(work, { type: 'started' });
  const { leaseSeconds, graceSeconds } = server.deps.times;
  await passTime(server, leaseSeconds + 5);
  assert.equal((await read(path)).status, 'UNKNOWN');
  await passTime(server, graceSeconds + 5);
  const { status, results } = await read(path);
  assert.deepEqual([status, results.map((each) => each.status)], ['FAILED', ['ERRORED', 'ERRORED']]);
  const late = await instance.report(work, {
    type: 'tested',
    results: [{ index: 0, status: 'PASSED', durationMs: 1 }],
  });
  assert.equal(late.accepted, false);
});

test('a pipeline execution has no tests, and a test execution no steps', async () => {
  const { place, admin } = await createTested();
  await createTestExecution(place);
  const instance = await createTestingInstance(place);
  const tests = await instance.claimTests();
  const step = {
    stepId: randomUUID(),
    pipelineRunId: tests.workId,
    name: 'a step',
    componentType: 'sql',
    status: 'RUNNING' as const,
    startedAt: server.clock.now().toISOString(),
  };
  const refused = await instance.report(tests, { type: 'progress', steps: [step] });
  assert.equal(refused.accepted === false && refused.code, 'run-of-another-work');
  const body = {
    pipelineName: 'main',
    environmentName: 'dev',
    versionName: 'v1',
    agentId: place.agent.agentId,
  };
  await admin.post(`${place.project.path}/pipeline-executions`, body);
  const [run] = (await instance.claim()).work;
  assert.ok(run);
  const answer = await instance.report(run, {
    type: 'tested',
    results: [{ index: 0, status: 'PASSED', durationMs: 1 }],
  });
  assert.equal(answer.accepted === false && answer.code, 'run-of-another-work');
});

test('the tests of a disabled version do not start', async () => {
  const { place, admin, start } = await createTested();
  const parts = [mainPipeline, createTestFile('a test.orch.yaml', 'main')];
  await upload(admin, place.project, parts, { versionName: 'v2' });
  const body = { environmentName: 'dev', versionName: 'v2', enabled: false };
  await admin.patch(`${place.project.path}/artifacts`, body);
  requireProblem(await start({ scope: 'PROJECT', versionName: 'v2' }), 410, 'artifact-disabled');
});
