import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Exponential backoff up to a limit. Each wait is shortened randomly by up to half, to spread many agents.
 */
export interface Backoff {
  /** Milliseconds to wait before the next attempt. */
  next(): number;
  reset(): void;
}

export function createBackoff(
  options: { firstMilliseconds?: number; limitMilliseconds?: number; random?: () => number } = {},
): Backoff {
  const { firstMilliseconds = 250, limitMilliseconds = 10_000, random = Math.random } = options;
  let attempts = 0;
  return {
    next() {
      const full = Math.min(limitMilliseconds, firstMilliseconds * 2 ** attempts);
      attempts = Math.min(attempts + 1, 30);
      return full * (1 - random() / 2);
    },
    reset() {
      attempts = 0;
    },
  };
}

/**
 * Calls `attempt` until it succeeds, as long as `again` returns true for its error.
 *
 * @throws the last error, after `limit` attempts or if `again` returns false; or the signal's reason.
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  options: { limit: number; signal: AbortSignal; again: (error: unknown) => boolean; backoff?: Backoff },
): Promise<T> {
  const backoff = options.backoff ?? createBackoff();
  for (let count = 1; ; count++) {
    options.signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      options.signal.throwIfAborted();
      if (count >= options.limit || !options.again(error)) throw error;
      await sleep(backoff.next(), undefined, { signal: options.signal });
    }
  }
}
