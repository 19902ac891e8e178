/** The steps of executions, and cancelling them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { AccountEventItem, ExecutionStep, Page, Step } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createStartable, createStartableWithAgent } from '../../../testing/startable-project.ts';

const server = await startTestServer();

const base = server.clock.now().getTime();
const at = (second: number) => new Date(base + second * 1_000).toISOString();
const stepOf = (pipelineRunId: string, name: string, second: number, input: Partial<Step> = {}): Step => ({
  stepId: randomUUID(),
  pipelineRunId,
  name,
  componentType: 'sql',
  status: 'RUNNING',
  startedAt: at(second),
  ...input,
});

test('steps are listed in the order of their start, in pages, each changed step once', async () => {
  const { admin, executions, instance, started } = await createStartableWithAgent(server);
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
  const { admin, executions, instance, started } = await createStartableWithAgent(server);
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
  const { started, status, read, cancel, instance } = await createStartableWithAgent(server);
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
  const { admin, started, cancel, instance } = await createStartableWithAgent(server);
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
  const { started, status, cancel, instance } = await createStartableWithAgent(server);
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
  const { admin, executions, started, status, instance } = await createStartableWithAgent(server);
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
  const { started, status, cancel, instance } = await createStartableWithAgent(server);
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await cancel(id);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  assert.equal(await status(id), 'SUCCESS');
});

test('a forced cancel ends at its time limit even if the agent never obeys', async () => {
  const { started, status, read, cancel, instance } = await createStartableWithAgent(server);
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
  const { started, cancel, instance } = await createStartableWithAgent(server);
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await cancel(id, true);
  await cancel(id, false);
  assert.equal((await instance.heartbeat(work))[0]?.command, 'force-cancel');
});

test('an ended execution cannot be cancelled', async () => {
  const { started, cancel, instance } = await createStartableWithAgent(server);
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  const { detail } = requireProblem(await cancel(id), 409, 'execution-ended');
  assert.match(detail, /SUCCESS/);
});

test('a cancel needs the status CANCELLED', async () => {
  const { admin, executions, started } = await createStartable(server);
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
  const { admin, executions, started, cancel, instance } = await createStartableWithAgent(server);
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
