/** The session's clock and random numbers, as an argument, so that a simulation can control them. */
import { setTimeout } from 'node:timers/promises';

export interface Time {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Resolves after the given time, or when `signal` is aborted. Never rejects. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** A signal that is aborted after the given time. */
  timeout(milliseconds: number): AbortSignal;
  /** A random number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
}

export const realTime: Time = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    setTimeout(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
  timeout: (milliseconds) => AbortSignal.timeout(milliseconds),
  random: Math.random,
};
