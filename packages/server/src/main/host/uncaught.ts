/**
 * Handles uncaught failures (docs/adr/0033). After an unhandled rejection the server continues, because it
 * leaves no half-changed state that the server needs. After an uncaught exception it continues only if the
 * exception comes from a request or a periodic job, or is a system error such as a broken connection
 * without a listener. After any other exception the server stops in order, and its supervisor starts it
 * again.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { FailureLog } from '../../kernel/failure-log.ts';
import type { UncaughtCounts } from '../../kernel/metrics.ts';

export type Origin = 'requests' | 'periodic jobs';

const origins = new AsyncLocalStorage<Origin>();

/**
 * Everything that `work` starts belongs to this origin: timers, accepted connections, and what these start.
 */
export function withOrigin<Result>(origin: Origin, work: () => Result): Result {
  return origins.run(origin, work);
}

/**
 * Logs and counts uncaught failures from now on, and calls `stop` after an exception that the server cannot
 * survive.
 */
export function catchUncaught(failures: FailureLog, stop: (failure: unknown) => void): UncaughtCounts {
  const counts: UncaughtCounts = { rejection: 0, exception: 0 };
  process.on('unhandledRejection', (failure) => {
    counts.rejection += 1;
    failures.recordFailure(nameFailure('rejection'), failure, 'unhandled rejection; the server continues');
  });
  process.on('uncaughtException', (failure) => {
    counts.exception += 1;
    if (origins.getStore() === undefined && !isSystemError(failure)) return stop(failure);
    failures.recordFailure(nameFailure('exception'), failure, 'uncaught exception; the server continues');
  });
  return counts;
}

function nameFailure(kind: keyof UncaughtCounts): string {
  const origin = origins.getStore();
  return origin === undefined ? `uncaught ${kind}` : `uncaught ${kind} of ${origin}`;
}

function isSystemError(failure: unknown): boolean {
  return failure instanceof Error && 'syscall' in failure && 'code' in failure;
}
