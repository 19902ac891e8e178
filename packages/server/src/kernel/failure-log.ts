/**
 * Logs repeated failures, such as those of a job that runs every second on a full disk, once a minute with a
 * count.
 */
import type { Clock } from './clock.ts';

const quietMilliseconds = 60_000;

export interface FailureLog {
  /**
   * Logs that `job` failed. If the same failure was logged less than a minute ago, it is only counted, and
   * the next line has the count as `repeated`.
   */
  recordFailure(
    job: string,
    failure: unknown,
    message: string,
    fields?: Readonly<Record<string, unknown>>,
  ): void;
  /** Logs that `job` works again, if it had failed. */
  recordSuccess(job: string): void;
}

interface Seen {
  loggedAt: number;
  /** Since the last log line. */
  repeated: number;
}

/** The part of a log that this needs. */
export interface LineLog {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
}

export function createFailureLog(log: LineLog, clock: Clock): FailureLog {
  const jobs = new Map<string, { total: number; seen: Map<string, Seen> }>();
  return {
    recordFailure(job, failure, message, fields = {}) {
      const now = clock.now().getTime();
      const about = jobs.get(job) ?? { total: 0, seen: new Map<string, Seen>() };
      jobs.set(job, about);
      about.total += 1;
      const kind = findKind(failure);
      const before = about.seen.get(kind);
      if (before !== undefined && now - before.loggedAt < quietMilliseconds) {
        before.repeated += 1;
        return;
      }
      const repeated = before === undefined || before.repeated === 0 ? {} : { repeated: before.repeated };
      log.warn({ ...fields, job, err: failure, ...repeated }, message);
      about.seen.set(kind, { loggedAt: now, repeated: 0 });
    },
    recordSuccess(job) {
      const about = jobs.get(job);
      if (about === undefined) return;
      jobs.delete(job);
      log.info({ job, failures: about.total }, 'works again');
    },
  };
}

/** Not the message, which may differ each time. */
function findKind(failure: unknown): string {
  if (!(failure instanceof Error)) return typeof failure;
  return 'code' in failure ? String(failure.code) : failure.name;
}
