/** Time and chance as the session uses them: an argument, so that a simulation can move the one and repeat the other. */
import { setTimeout } from 'node:timers/promises';

export interface Time {
  /** Milliseconds of a clock that only moves forward. */
  now(): number;
  /** Settles after so long, or when `signal` is aborted. Never rejects. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Aborted after so long. */
  timeout(milliseconds: number): AbortSignal;
  /** From 0 to below 1. */
  random(): number;
}

export const realTime: Time = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    setTimeout(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
  timeout: (milliseconds) => AbortSignal.timeout(milliseconds),
  random: Math.random,
};
