/**
 * What nothing caught (docs/adr/0033). A rejection leaves nothing half done that the server would need, so it
 * goes on. An exception may: the server goes on when the exception comes from a request or a periodic job, or
 * is an error of the system, such as a broken connection that nothing listened to. After any other the server
 * stops in order, and whatever supervises it starts it again.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { FailureLog } from '../../kernel/failure-log.ts';
import type { UncaughtCounts } from '../../kernel/metrics.ts';

export type Origin = 'requests' | 'periodic jobs';

const origins = new AsyncLocalStorage<Origin>();

/**
 * Whatever `work` starts belongs to this origin: timers, connections that a server accepts, and what they
 * start.
 */
export function withOrigin<Result>(origin: Origin, work: () => Result): Result {
  return origins.run(origin, work);
}

/**
 * From now on what nothing caught is logged and counted; `stop` is called after an exception that the server
 * cannot go on with.
 */
export function catchUncaught(failures: FailureLog, stop: (failure: unknown) => void): UncaughtCounts {
  const counts: UncaughtCounts = { rejection: 0, exception: 0 };
  process.on('unhandledRejection', (failure) => {
    counts.rejection += 1;
    failures.recordFailure(nameOf('rejection'), failure, 'nothing handled a rejection; the server goes on');
  });
  process.on('uncaughtException', (failure) => {
    counts.exception += 1;
    if (origins.getStore() === undefined && !isOfSystem(failure)) return stop(failure);
    failures.recordFailure(nameOf('exception'), failure, 'nothing caught an exception; the server goes on');
  });
  return counts;
}

function nameOf(kind: keyof UncaughtCounts): string {
  const origin = origins.getStore();
  return origin === undefined ? `uncaught ${kind}` : `uncaught ${kind} of ${origin}`;
}

function isOfSystem(failure: unknown): boolean {
  return failure instanceof Error && 'syscall' in failure && 'code' in failure;
}
