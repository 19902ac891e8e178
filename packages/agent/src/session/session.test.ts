import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Step } from '@headgate/contract';
import { FakeServer } from '../../testing/fake-server.ts';
import { openSession, type SessionOptions, waitForKill } from '../../testing/open-session.ts';
import type { Handler } from '../handlers/handler.ts';
import type { Session } from './session.ts';

const artifactDigest = 'a'.repeat(64);

function step(name: string, message?: string): Step {
  return {
    stepId: randomUUID(),
    pipelineRunId: randomUUID(),
    name,
    componentType: 'sql-script',
    status: 'RUNNING',
    startedAt: new Date().toISOString(),
    ...(message === undefined ? {} : { message }),
  };
}

describe('a session of the agent', () => {
  let server: FakeServer;
  let session: Session;
  let running: Promise<'stopped' | 'restart'>;

  function connect(handler: Handler, options: SessionOptions = {}): void {
    ({ session, running } = openSession(server, handler, options));
  }

  beforeEach(async () => {
    server = await new FakeServer().start();
  });
  afterEach(async () => {
    await session.stop('the test is over');
    await running;
    await server.stop();
    assert.deepEqual(server.violations, []);
  });

  it('masks all texts in reports of a work item once its handler sets a mask', async () => {
    connect(async (_work, context) => {
      context.step(step('before'));
      await context.reportStarted();
      context.conceal((text) => text.replaceAll('canary', '***'));
      const childPipeline = { id: randomUUID(), name: 'a canary' };
      context.step({ ...step('the canary', 'canary'.repeat(2)), childPipeline });
      throw new Error('failed of a canary');
    });
    const id = server.enqueue({ artifactDigest });
    assert.deepEqual(await server.outcome(id), { status: 'FAILED', message: 'failed of a ***' });
    assert.deepEqual(
      [...server.work(id).steps.values()].map(({ name, message, childPipeline }) => [
        ...[name, message, childPipeline?.name],
      ]),
      [
        ['before', undefined, undefined],
        ['the ***', '******', 'a ***'],
      ],
    );
  });

  it('claims work, reports its progress in order and its end', async () => {
    connect(async (_work, context) => {
      context.reportStarted();
      context.step(step('first', 'x'.repeat(20_000)));
      context.step(step('second', 'with \0 and \ud800'));
      return { status: 'SUCCESS' };
    });
    const workId = server.enqueue({ artifactDigest });
    assert.deepEqual(await server.outcome(workId), { status: 'SUCCESS' });
    const { reports, steps } = server.work(workId);
    assert.deepEqual(reports, ['started', 'progress', 'completed']);
    assert.deepEqual(
      [...steps.values()].map(({ message }) => message?.length),
      [10_000, 'with \0 and \ud800'.length],
    );
  });

  for (const path of ['/agent/v1/heartbeats', '/oauth/dpc/token']) {
    it(`keeps the lease if the server never answers a request to ${path}`, async () => {
      Object.assign(server, { heartbeatSeconds: 1, leaseSeconds: 30 });
      const over = Promise.withResolvers<void>();
      connect(async (_work, context) => {
        await context.reportStarted();
        await over.promise;
        return { status: 'SUCCESS' };
      });
      const id = server.enqueue({ artifactDigest });
      await server.until(() => server.heartbeats.length > 0, 'a heartbeat');
      server.hang.set(path, 1);
      if (path.includes('token')) server.forgetTokens();
      await server.until(() => server.hang.get(path) === 0, 'a request that hangs');
      const before = server.heartbeats.length;
      await server.until(() => server.heartbeats.length > before, 'a heartbeat after it');
      const gap = (server.heartbeats[before] ?? 0) - (server.heartbeats[before - 1] ?? 0);
      assert.ok(gap < 30_000, `no heartbeat for ${Math.round(gap)} ms`);
      over.resolve();
      assert.deepEqual(await server.outcome(id), { status: 'SUCCESS' });
    });
  }

  it('claims no more than its concurrency, and fills a place as soon as it is free', async () => {
    server.claimWaitSeconds = 25;
    const ends: (() => void)[] = [];
    connect(
      (_work, context) =>
        new Promise((resolve) => {
          context.reportStarted();
          ends.push(() => resolve({ status: 'SUCCESS' }));
        }),
      { concurrency: 2 },
    );
    const works = [1, 2, 3].map(() => server.enqueue({ artifactDigest }));
    const held = () => works.filter((workId) => server.work(workId).state === 'held');
    await server.until(
      () => works.filter((id) => server.work(id).reports.includes('started')).length === 2,
      'two runs',
    );
    assert.equal(held().length, 2);
    ends[0]?.();
    await server.until(
      () => works.every((id) => server.work(id).reports.includes('started')),
      'the third run',
    );
    for (const end of ends) end();
    await Promise.all(works.map((workId) => server.outcome(workId)));
  });

  it('ends work as FAILED with the message of the handler’s error', async () => {
    connect(async () => {
      throw new Error('the artifact is gone');
    });
    const workId = server.enqueue({ artifactDigest });
    assert.deepEqual(await server.outcome(workId), { status: 'FAILED', message: 'the artifact is gone' });
  });

  it('passes a graceful cancel on and reports the handler’s outcome', async () => {
    connect(async (_work, context) => {
      context.reportStarted();
      await new Promise((resolve) => context.cancel.addEventListener('abort', resolve));
      return { status: 'CANCELLED', message: 'after the running step' };
    });
    const workId = server.enqueue({ artifactDigest });
    await server.until(() => server.work(workId).reports.includes('started'), 'the start');
    server.command(workId, 'cancel');
    assert.deepEqual(await server.outcome(workId), {
      status: 'CANCELLED',
      message: 'after the running step',
    });
  });

  it('kills work at a forced cancel and reports CANCELLED, whatever the handler returns', async () => {
    connect(async (_work, context) => {
      context.reportStarted();
      await waitForKill(context);
      return { status: 'SUCCESS' };
    });
    const workId = server.enqueue({ artifactDigest });
    await server.until(() => server.work(workId).reports.includes('started'), 'the start');
    server.command(workId, 'force-cancel');
    assert.equal((await server.outcome(workId)).status, 'CANCELLED');
  });

  it('kills work that another instance holds, and reports nothing more about it', async () => {
    const { promise: exit, resolve: end } = Promise.withResolvers<void>();
    connect(async (_work, context) => {
      context.reportStarted();
      await waitForKill(context);
      end();
      return { status: 'SUCCESS' };
    });
    const workId = server.enqueue({ artifactDigest });
    await server.until(() => server.work(workId).reports.includes('started'), 'the start');
    server.takeAway(workId);
    await exit;
    const next = server.enqueue({ artifactDigest });
    await server.until(() => server.work(next).state === 'held', 'the next claim');
    assert.deepEqual(server.work(workId).reports, ['started']);
    server.command(next, 'force-cancel');
    await server.outcome(next);
  });

  it('sends a report again if the answer was lost, and it is applied once', async () => {
    server.loseAnswers.set('/agent/v1/reports', 3);
    connect(async (_work, context) => {
      context.reportStarted();
      context.step(step('only'));
      return { status: 'SUCCESS' };
    });
    const workId = server.enqueue({ artifactDigest });
    await server.outcome(workId);
    await session.stop('all is said');
    assert.deepEqual(server.work(workId).reports, ['started', 'progress', 'completed']);
    assert.equal(server.loseAnswers.get('/agent/v1/reports'), 0);
  });

  it('sends lines and variables with the steps, numbered, and again if the answer was lost', async () => {
    server.loseAnswers.set('/agent/v1/reports', 2);
    const printing = step('printing');
    connect(async (_work, context) => {
      await context.reportStarted();
      context.conceal((text) => text.replaceAll('canary', '***'));
      const line = { stepId: printing.stepId, stream: 'stdout', timestamp: printing.startedAt } as const;
      context.variables({
        pipelineRunId: printing.pipelineRunId,
        variables: [{ name: 'n', type: 'TEXT', source: 'default', value: 'a canary\0' }],
      });
      context.step(printing);
      for (let number = 1; number <= 2_500; number += 1)
        context.line({ ...line, text: `a canary ${number}` });
      return { status: 'SUCCESS' };
    });
    const workId = server.enqueue({ artifactDigest });
    await server.outcome(workId);
    const { lines, variables } = server.work(workId);
    assert.deepEqual(
      lines.map(({ sequence, text }) => [sequence, text]),
      Array.from({ length: 2_500 }, (_, index) => [index + 1, `a *** ${index + 1}`]),
    );
    assert.deepEqual(
      variables.map((record) => record.variables[0]?.value),
      ['a ***\uFFFD'],
    );
  });

  it('lets work have effects only after the server accepted its start', async () => {
    let isTold = false;
    connect(async (work, context) => {
      server.loseAnswers.set('/agent/v1/reports', 2);
      await context.reportStarted();
      isTold = server.work(work.workId).reports.includes('started');
      return { status: 'SUCCESS' };
    });
    await server.outcome(server.enqueue({ artifactDigest }));
    assert.equal(server.loseAnswers.get('/agent/v1/reports'), 0, 'an answer is what it waits for');
    assert.ok(isTold);
  });

  it('does not start work that was killed before the server accepted its start', async () => {
    const { promise: exit, resolve: end } = Promise.withResolvers<unknown>();
    connect(async (_work, context) => {
      server.loseAnswers.set('/agent/v1/reports', 1_000);
      await context.reportStarted().then(() => end('begun'), end);
      return { status: 'SUCCESS' };
    });
    const workId = server.enqueue({ artifactDigest });
    await server.until(() => server.work(workId).reports.includes('started'), 'the start');
    server.takeAway(workId);
    assert.match(String(await exit), /the run was killed/);
    server.loseAnswers.clear();
  });

  it('continues work while the server is unavailable, and reports its end afterwards', async () => {
    let finish = () => {};
    connect(
      (_work, context) =>
        new Promise((resolve) => {
          context.reportStarted();
          finish = () => resolve({ status: 'SUCCESS' });
        }),
    );
    const workId = server.enqueue({ artifactDigest });
    await server.until(() => server.work(workId).reports.includes('started'), 'the start');
    await server.stop();
    finish();
    server.forgetTokens();
    await server.start();
    assert.deepEqual(await server.outcome(workId), { status: 'SUCCESS' });
    await server.until(() => server.hellos > 1, 'another hello');
  });

  it('renews its token before it expires, and when it is refused', async () => {
    server.tokenSeconds = 1;
    connect(async () => ({ status: 'SUCCESS' }));
    await server.outcome(server.enqueue({ artifactDigest }));
    server.tokenSeconds = 1_800;
    server.forgetTokens();
    await server.outcome(server.enqueue({ artifactDigest }));
  });

  it('fails a run whose progress the server refuses, and reports the others', async () => {
    connect(async (work, context) => {
      context.reportStarted();
      if (work.payload.environmentName === 'odd') {
        context.step({ ...step('odd'), stepId: 'no uuid' });
        await waitForKill(context);
      }
      return { status: 'SUCCESS' };
    });
    const odd = server.enqueue({ artifactDigest, environmentName: 'odd' });
    const { message, stepsRefused } = await server.outcome(odd);
    assert.match(message ?? '', /the server refused the progress of the run/);
    assert.equal(stepsRefused, true);
    assert.deepEqual(await server.outcome(server.enqueue({ artifactDigest })), { status: 'SUCCESS' });
    server.violations.length = 0;
  });
});
