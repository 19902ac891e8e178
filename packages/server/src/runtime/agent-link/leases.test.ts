/** How long an agent holds work: leases, silence, release and time limits. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createInstance } from '../../../testing/agent.ts';
import {
  claimSingle,
  completed,
  createClaimed,
  createRunnable,
  passTime,
} from '../../../testing/runnable-project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({
  settings: { HEADGATE_QUEUE_LIMIT_SECONDS: '600', HEADGATE_RUN_LIMIT_SECONDS: '3000' },
});
const { leaseSeconds, graceSeconds } = server.deps.times;

test('heartbeats renew a lease without limit', async () => {
  const { instance, work, id, status } = await createClaimed(server);
  await instance.report(work, { type: 'started' });
  await passTime(server, 20 * leaseSeconds, () => instance.heartbeat(work));
  assert.equal(await status(id), 'RUNNING');
});

test('an agent that was silent and returns continues its work', async () => {
  const { instance, work, id, status } = await createClaimed(server);
  await instance.report(work, { type: 'started' });
  await passTime(server, leaseSeconds + 1);
  assert.equal(await status(id), 'UNKNOWN');
  assert.deepEqual(await instance.heartbeat(work), [{ workId: id, epoch: 1, state: 'held' }]);
  assert.equal(await status(id), 'RUNNING');
  await passTime(server, leaseSeconds + 1);
  assert.equal(await status(id), 'UNKNOWN');
  assert.ok((await instance.report(work, completed)).accepted, 'a report is a sign of life');
  assert.equal(await status(id), 'SUCCESS');
});

test('an execution that was being cancelled is CANCELLING again when its agent returns', async () => {
  const { instance, work, id, status, cancel } = await createClaimed(server);
  await instance.report(work, { type: 'started' });
  await cancel(id);
  await passTime(server, leaseSeconds + 1);
  assert.equal(await status(id), 'UNKNOWN');
  await instance.heartbeat(work);
  assert.equal(await status(id), 'CANCELLING');
});

test('an execution cancelled while its agent is silent ends as CANCELLED after the grace period', async () => {
  const { instance, work, id, status, cancel } = await createClaimed(server);
  await instance.report(work, { type: 'started' });
  await passTime(server, leaseSeconds + 1);
  await cancel(id);
  assert.ok(['UNKNOWN', 'CANCELLING'].includes(await status(id)));
  await passTime(server, graceSeconds + 5);
  assert.equal(await status(id), 'CANCELLED');
});

test('a run whose agent stays silent fails with the reason, and so do its steps', async () => {
  const { admin, agent, made, instance, work, id, read } = await createClaimed(server);
  const step = {
    stepId: randomUUID(),
    pipelineRunId: id,
    name: 'load',
    componentType: 'sql',
    status: 'RUNNING',
    startedAt: server.clock.now().toISOString(),
  } as const;
  await instance.report(work, { type: 'progress', steps: [step] });
  await passTime(server, leaseSeconds + 1);
  await passTime(server, graceSeconds + 1);
  const { status, message } = await read(id);
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', new RegExp(`"${agent.name}" stopped responding`));
  const late = await instance.report(work, completed);
  assert.ok(!late.accepted && late.code === 'stale-epoch');
  assert.equal((await read(id)).status, 'FAILED');
  const steps = await admin.get<{ results: { result: { status: string } }[] }>(
    `${made.path}/pipeline-executions/${id}/steps`,
  );
  assert.equal(steps.body.results[0]?.result.status, 'FAILED');
});

test('all claimed work ends within lease and grace period if its agent dies', async () => {
  const { work, instance, id, read } = await createClaimed(server);
  await instance.report(work, { type: 'started' });
  const begin = server.clock.now().getTime();
  while ((await read(id)).status !== 'FAILED') {
    server.clock.advance(1);
    await server.sweep();
    assert.ok(server.clock.now().getTime() - begin <= (leaseSeconds + graceSeconds + 3) * 1_000, 'too late');
  }
});

test('work claimed but not begun is given to another instance, and the old epoch is refused', async () => {
  const { agent, instance, work, id, status } = await createClaimed(server);
  await passTime(server, leaseSeconds + 1);
  await passTime(server, graceSeconds + 1);
  assert.equal(await status(id), 'RUNNING', 'it is queued again');
  assert.deepEqual(await instance.heartbeat(work), [{ workId: id, epoch: 1, state: 'lost' }]);
  const early = await instance.report(work, { type: 'started' });
  assert.ok(!early.accepted && early.code === 'stale-epoch');
  const second = createInstance(agent);
  const next = await claimSingle(second);
  assert.deepEqual([next.workId, next.epoch], [id, 2]);
  assert.deepEqual(await instance.heartbeat(work), [{ workId: id, epoch: 1, state: 'lost' }]);
  for (const said of [{ type: 'started' }, completed, { type: 'released', reason: 'x' }] as const) {
    const refused = await instance.report(work, said);
    assert.ok(!refused.accepted && refused.code === 'stale-epoch');
  }
  assert.deepEqual(await second.heartbeat(next), [{ workId: id, epoch: 2, state: 'held' }]);
  await second.report(next, completed);
  assert.equal(await status(id), 'SUCCESS');
});

test('released work can be claimed again at once, with the next epoch', async () => {
  const { agent, instance, work, id, status } = await createClaimed(server);
  await instance.report(work, { type: 'started' });
  const second = createInstance(agent);
  const waiting = second.claim(1, 25);
  await instance.report(work, { type: 'released', reason: 'the agent is restarted' });
  const [next] = (await waiting).work;
  assert.ok(next);
  assert.deepEqual([next.workId, next.epoch], [id, 2]);
  const late = await instance.report(work, completed);
  assert.ok(!late.accepted && late.code === 'stale-epoch');
  await second.report(next, { type: 'started' });
  await second.report(next, completed);
  assert.equal(await status(id), 'SUCCESS');
});

test('work released while it is being cancelled ends as CANCELLED', async () => {
  const { instance, work, id, status, cancel } = await createClaimed(server);
  await cancel(id);
  await instance.report(work, { type: 'released', reason: 'the agent stops' });
  assert.equal(await status(id), 'CANCELLED');
  assert.deepEqual((await instance.claim()).work, []);
});

test('work released after a long run gets the full queue limit again', async () => {
  const { agent, instance, work, id, status } = await createClaimed(server);
  await instance.report(work, { type: 'started' });
  await passTime(server, 700, () => instance.heartbeat(work));
  await instance.report(work, { type: 'released', reason: 'the agent is restarted' });
  await server.sweep();
  assert.equal(await status(id), 'RUNNING');
  assert.equal((await claimSingle(createInstance(agent))).epoch, 2);
});

test('work that no agent claims fails at the queue limit, with the reason', async () => {
  const { start, read, instance } = await createRunnable(server);
  const id = await start();
  await passTime(server, 595);
  assert.equal((await read(id)).status, 'RUNNING');
  await passTime(server, 10);
  const { status, message } = await read(id);
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', /did not claim the work within 600 s/);
  assert.deepEqual((await instance.claim()).work, []);
});

test('a run that never ends fails at its time limit, despite heartbeats', async () => {
  const { instance, work, id, read } = await createClaimed(server);
  await instance.report(work, { type: 'started' });
  for (let passed = 0; passed < 3_000 + graceSeconds + 10; passed += 10) {
    server.clock.advance(10);
    await instance.heartbeat(work);
    if (passed % 200 === 0) await server.sweep();
  }
  await server.sweep();
  const { status, message } = await read(id);
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', /did not finish the work within 3000 s/);
  assert.equal((await instance.heartbeat(work))[0]?.state, 'lost');
});
