/**
 * A claimed work item, from its claim until its handler has ended and the server has accepted the last
 * report.
 */
import type { Outcome, WorkKey } from './outbox.ts';

/** Why work is killed, and what is reported then. */
export type Kill =
  | { report: 'nothing'; why: string }
  | { report: 'completed'; outcome: Outcome }
  | { report: 'released or failed'; why: string };

export interface HeldWork extends WorkKey {
  /** It takes a place for short work. */
  isShort: boolean;
  cancel: AbortController;
  kill: AbortController;
  killed: Kill | undefined;
  started: boolean;
  /** Resolves when the server has accepted the start; rejects with the reason of the kill. */
  begun: PromiseWithResolvers<void>;
  /** The handler has ended. */
  handled: boolean;
  /** The last report was accepted or dropped. */
  settled: boolean;
  /** When the last confirmed heartbeat was sent. */
  confirmedAt: number;
}

export function createHeldWork({ workId, epoch }: WorkKey, isShort: boolean, now: number): HeldWork {
  const begun = Promise.withResolvers<void>();
  // Avoids an unhandled rejection if the handler does not wait for it.
  begun.promise.catch(() => undefined);
  return {
    workId,
    epoch,
    isShort,
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

/** The outcome to report for work whose handler ended with `outcome`. */
export function getReportedOutcome(killed: Kill | undefined, outcome: Outcome): Outcome {
  if (!killed || killed.report === 'nothing') return outcome;
  if (killed.report === 'completed') return killed.outcome;
  return createFailedKill(`${killed.why} during the run; the running step may have had effects`).outcome;
}
