/** One claim of one work in this instance: from the claim until its handler has ended and the server knows how. */
import type { Outcome, WorkKey } from './outbox.ts';

/** Why a run is killed, and with it what is reported. */
export type Kill =
  | { report: 'nothing'; why: string }
  | { report: 'completed'; outcome: Outcome }
  | { report: 'released or failed'; why: string };

export interface HeldWork extends WorkKey {
  cancel: AbortController;
  kill: AbortController;
  killed: Kill | undefined;
  started: boolean;
  /** Settles when the server knows that it has started, or with the reason of the kill. */
  begun: PromiseWithResolvers<void>;
  /** Its handler has ended. */
  handled: boolean;
  /** Its last report was taken or dropped. */
  settled: boolean;
  /** When a heartbeat that the server answered with `held` was sent. */
  confirmedAt: number;
}

export function createHeldWork({ workId, epoch }: WorkKey, now: number): HeldWork {
  const begun = Promise.withResolvers<void>();
  // Of a handler that does not wait for it nobody is told.
  begun.promise.catch(() => undefined);
  return {
    workId,
    epoch,
    cancel: new AbortController(),
    kill: new AbortController(),
    killed: undefined,
    started: false,
    begun,
    handled: false,
    settled: false,
    confirmedAt: now,
  };
}

export function createFailedKill(message: string): Extract<Kill, { report: 'completed' }> {
  return { report: 'completed', outcome: { status: 'FAILED', message } };
}

/** What is reported of work whose handler ended with `outcome`. */
export function getReportedOutcome(killed: Kill | undefined, outcome: Outcome): Outcome {
  if (!killed || killed.report === 'nothing') return outcome;
  if (killed.report === 'completed') return killed.outcome;
  return createFailedKill(`${killed.why} while the run was under way; its running step may have had effects`)
    .outcome;
}
