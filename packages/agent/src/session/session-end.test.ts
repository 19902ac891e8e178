import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { FakeServer } from '../../testing/fake-server.ts';
import { openSession, type SessionOptions, waitForKill } from '../../testing/open-session.ts';
import type { Handler } from '../handlers/handler.ts';
import type { Session } from './session.ts';

const artifactDigest = 'a'.repeat(64);

describe('the end of a session of the agent', () => {
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

  it('releases work that has not started when it stops, and fails work that has', async () => {
    const { promise: bothHeld, resolve: held } = Promise.withResolvers<void>();
    let count = 0;
    connect(async (work, context) => {
      if (work.payload.environmentName === 'started') context.reportStarted();
      count += 1;
      if (count === 2) held();
      await waitForKill(context);
      return { status: 'SUCCESS' };
    });
    const fresh = server.work(server.enqueue({ artifactDigest, environmentName: 'fresh' }));
    const underWay = server.work(server.enqueue({ artifactDigest, environmentName: 'started' }));
    await bothHeld;
    await session.stop('the test says so');
    await running;
    assert.deepEqual(fresh.reports, ['released']);
    assert.equal(underWay.outcome?.status, 'FAILED');
    assert.match(underWay.outcome?.message ?? '', /the agent was stopped during the run/);
  });

  it('says goodbye when it stops, and again when nothing is held', async () => {
    let finish = () => {};
    connect(
      (_work, context) => {
        context.reportStarted();
        return new Promise((resolve) => {
          finish = () => resolve({ status: 'SUCCESS' });
        });
      },
      { shutdownSeconds: 120 },
    );
    const workId = server.enqueue({ artifactDigest });
    await server.until(() => server.work(workId).reports.includes('started'), 'the start');
    const stopped = session.stop('the test says so');
    await server.until(() => server.goodbyes.length === 1, 'the first goodbye');
    assert.deepEqual(server.goodbyes, ['stopping']);
    finish();
    await stopped;
    assert.deepEqual(server.goodbyes, ['stopping', 'stopped']);
    assert.deepEqual([server.work(workId).outcome?.status, await running], ['SUCCESS', 'stopped']);
  });

  it('restarts on request after its work has ended, and claims nothing more', async () => {
    let finish = () => {};
    // Longer than the shutdown time.
    connect(
      (_work, context) => {
        context.reportStarted();
        return new Promise((resolve) => {
          finish = () => resolve({ status: 'SUCCESS' });
        });
      },
      { shutdownSeconds: 0.1 },
    );
    const workId = server.enqueue({ artifactDigest });
    await server.until(() => server.work(workId).reports.includes('started'), 'the start');
    server.commandAgent('restart');
    await server.until(() => server.goodbyes.length === 1, 'the first goodbye');
    const next = server.enqueue({ artifactDigest });
    finish();
    assert.deepEqual(await server.outcome(workId), { status: 'SUCCESS' });
    assert.equal(await running, 'restart');
    assert.deepEqual(server.goodbyes, ['stopping', 'stopped']);
    assert.equal(server.work(next).state, 'queued');
  });

  it('stops within the shutdown time even while it waits to restart', async () => {
    connect(async (_work, context) => {
      context.reportStarted();
      await waitForKill(context);
      return { status: 'SUCCESS' };
    });
    const workId = server.enqueue({ artifactDigest });
    await server.until(() => server.work(workId).reports.includes('started'), 'the start');
    server.commandAgent('restart');
    await server.until(() => server.goodbyes.length === 1, 'the first goodbye');
    await session.stop('the test says so');
    assert.equal(await running, 'stopped');
    assert.equal(server.work(workId).outcome?.status, 'FAILED');
  });

  it('shuts down cleanly if the server does not know goodbyes or is gone', async () => {
    server.knowsGoodbye = false;
    connect(async () => ({ status: 'SUCCESS' }));
    await server.outcome(server.enqueue({ artifactDigest }));
    await session.stop('the test says so');
    assert.equal(await running, 'stopped');
    connect(async () => ({ status: 'SUCCESS' }));
    await server.outcome(server.enqueue({ artifactDigest }));
    await server.stop();
    await session.stop('the test says so');
    assert.equal(await running, 'stopped');
  });
});
