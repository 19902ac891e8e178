/**
 * The contract of cancelling: whatever the order of start, request, delivery and end, an execution has one
 * end. The end that its agent reports counts; without a report, the server's time limit.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ExecutionStatus, ExecutionStep, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createStartableWithAgent } from '../../../testing/startable-project.ts';

const server = await startTestServer();

type Act = 'graceful' | 'forced' | 'deliver' | 'silence' | 'SUCCESS' | 'FAILED' | 'CANCELLED' | 'release';

/** What happens after the start, in this order, and how the execution ends. */
const orders: [acts: readonly Act[], end: ExecutionStatus][] = [];
const ends = ['SUCCESS', 'FAILED', 'CANCELLED'] as const;
for (const request of [['graceful'], ['forced'], ['graceful', 'forced'], ['forced', 'graceful']] as const) {
  for (const end of ends) {
    orders.push([[...request, end], end]);
    orders.push([[...request, 'deliver', end], end]);
    orders.push([[...request, 'silence', end], end]);
    orders.push([[end, ...request], end]);
    orders.push([[request[0], 'deliver', ...request.slice(1), 'deliver', end], end]);
  }
  orders.push([[...request, 'release'], 'CANCELLED']);
}

test('the first end of an execution counts, in every order of cancelling and ending', async () => {
  for (const [acts, expected] of orders) {
    const what = acts.join(', ');
    const found = await createStartableWithAgent(server);
    const { started, instance, cancel, status } = found;
    const id = await started();
    const [work] = (await instance.claim()).work;
    assert.ok(work, what);
    if (!acts.includes('release')) await instance.report(work, { type: 'started' });
    let isEnded = false;
    for (const act of acts) {
      if (act === 'graceful' || act === 'forced') {
        const answer = await cancel(id, act === 'forced');
        if (isEnded) requireProblem(answer, 409, 'execution-ended');
        else assert.equal(answer.status, 200, what);
        if (!isEnded) assert.match(await status(id), /^(CANCELLING|UNKNOWN)$/, what);
      } else if (act === 'deliver') {
        const [held] = await instance.heartbeat(work);
        assert.match(held?.command ?? '', /cancel$/, what);
        assert.equal(held?.requestedBy, 'a SUPER_ADMIN', what);
      } else if (act === 'silence') {
        server.clock.advance(server.deps.times.leaseSeconds + 1);
        await server.sweep();
        assert.equal(await status(id), 'UNKNOWN', what);
      } else {
        const report =
          act === 'release'
            ? ({ type: 'released', reason: 'stopping' } as const)
            : ({ type: 'completed', outcome: { status: act } } as const);
        assert.equal((await instance.report(work, report)).accepted, true, what);
        isEnded = true;
      }
    }
    assert.equal(await status(id), expected, what);
    // A late report changes nothing.
    const late = { type: 'completed', outcome: { status: 'FAILED' } } as const;
    assert.equal((await instance.report(work, late)).accepted, false, what);
    assert.equal(await status(id), expected, what);
  }
});

test('a cancelled execution whose agent is dead ends at its time limit: its own end never comes', async () => {
  const { started, instance, cancel, status, read } = await createStartableWithAgent(server);
  const { leaseSeconds, graceSeconds } = server.deps.times;
  for (const forced of [false, true]) {
    const id = await started();
    const [work] = (await instance.claim()).work;
    assert.ok(work);
    await instance.report(work, { type: 'started' });
    await cancel(id, forced);
    for (let passed = 0; passed <= leaseSeconds + graceSeconds + 5; passed += 5) {
      server.clock.advance(5);
      await server.sweep();
    }
    assert.equal(await status(id), 'CANCELLED');
    assert.match(
      (await read(id)).message ?? '',
      /^Cancelled by "a SUPER_ADMIN"\. The agent .* did not confirm/,
    );
  }
});

test('the steps and the message name the caller that cancelled', async () => {
  const { admin, executions, started, instance, cancel, read } = await createStartableWithAgent(server);
  const queued = await started();
  await cancel(queued);
  assert.equal((await read(queued)).message, 'Cancelled by "a SUPER_ADMIN" before an agent claimed it.');
  const id = await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  const step = {
    stepId: randomUUID(),
    pipelineRunId: id,
    name: 'Endless',
    componentType: 'sql-script',
    status: 'RUNNING' as const,
    startedAt: server.clock.now().toISOString(),
  };
  const iteration = { ...step, stepId: randomUUID(), name: 'Second', message: 'iteration 1 of 3' };
  await instance.report(work, { type: 'progress', steps: [step, iteration] });
  await cancel(id, true);
  await instance.report(work, { type: 'completed', outcome: { status: 'CANCELLED' } });
  const [shown, second] = (await admin.get<Page<ExecutionStep>>(`${executions}/${id}/steps`)).body.results;
  assert.equal(shown?.result.status, 'CANCELLED');
  assert.equal(shown?.result.message, 'Cancelled by "a SUPER_ADMIN"; the step may have had effects.');
  assert.equal(
    second?.result.message,
    'iteration 1 of 3\nCancelled by "a SUPER_ADMIN"; the step may have had effects.',
  );
  assert.equal((await read(id)).message, 'Cancelled by "a SUPER_ADMIN".');
});
