/** A session that is connected to a server of a test. */
import { randomUUID } from 'node:crypto';
import type { Handler, WorkContext } from '../src/handlers/handler.ts';
import { createLog } from '../src/log.ts';
import { createControlPlane } from '../src/session/control-plane.ts';
import { Session } from '../src/session/session.ts';
import { type FakeServer, testCredential } from './fake-server.ts';

export interface SessionOptions {
  concurrency?: number;
  shutdownSeconds?: number;
}

/** @param handler does pipeline executions */
export function openSession(
  server: FakeServer,
  handler: Handler,
  { concurrency = 2, shutdownSeconds = 2 }: SessionOptions,
): { session: Session; running: Promise<'stopped' | 'restart'> } {
  const session = new Session({
    controlPlane: createControlPlane({ serverUrl: server.url, ...testCredential }),
    handlers: { 'pipeline-execution': handler },
    instanceId: randomUUID(),
    agentVersion: '0',
    concurrency,
    shortConcurrency: 10,
    shutdownSeconds,
    log: createLog({ level: 'error', write: () => undefined }),
  });
  return { session, running: session.run() };
}

/** Settles when the work is killed. */
export function waitForKill(context: WorkContext): Promise<void> {
  return new Promise((resolve) => context.kill.addEventListener('abort', () => resolve()));
}
