/** The session's clock and random numbers, as an argument, so that a simulation can control them. */
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

/** Milliseconds that a timer can run, about 24 days. A longer one would end at once. */
export const longestTimer = 2 ** 31 - 1;

export const realTime: Time = {
  now: () => performance.now(),
  // The function of node:timers/promises makes two errors for each sleep that is aborted.
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      signal?.addEventListener('abort', end);
      if (signal?.aborted === true) end();
    }),
  timeout: (milliseconds) => AbortSignal.timeout(milliseconds),
  random: Math.random,
};
