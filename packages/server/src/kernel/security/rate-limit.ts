import type { Clock } from '../clock.ts';
import { problem, withHeaders } from '../http/problems.ts';

const windowSeconds = 60;

export interface RateLimit {
  /**
   * Counts one request of an account and returns the rate limit headers. Throws `rate-limited` above the
   * limit.
   */
  count(accountId: string): Readonly<Record<string, string>>;
}

const nothing = {};
export const noRateLimit: RateLimit = { count: () => nothing };

/**
 * Limits requests per minute and account. Each process counts separately (decisions.md §2), in windows that
 * start with an account's first request. Headers: draft-ietf-httpapi-ratelimit-headers-10.
 */
export function createRateLimit(requestsPerMinute: number, clock: Clock): RateLimit {
  const windows = new Map<string, { startedAt: number; used: number }>();
  const policy = `"account";q=${requestsPerMinute};w=${windowSeconds}`;
  let sweptAt = 0;

  function sweep(now: number): void {
    if (now - sweptAt < windowSeconds * 1_000) return;
    sweptAt = now;
    for (const [accountId, window] of windows) {
      if (now - window.startedAt >= windowSeconds * 1_000) windows.delete(accountId);
    }
  }

  return {
    count(accountId) {
      const now = clock.now().getTime();
      sweep(now);
      let window = windows.get(accountId);
      if (window === undefined || now - window.startedAt >= windowSeconds * 1_000) {
        window = { startedAt: now, used: 0 };
        windows.set(accountId, window);
      }
      window.used += 1;
      const seconds = Math.max(1, Math.ceil((window.startedAt + windowSeconds * 1_000 - now) / 1_000));
      const left = Math.max(0, requestsPerMinute - window.used);
      const headers = { 'RateLimit-Policy': policy, RateLimit: `"account";r=${left};t=${seconds}` };
      if (window.used > requestsPerMinute) {
        throw withHeaders(problem('rate-limited', { seconds }), {
          ...headers,
          'Retry-After': String(seconds),
        });
      }
      return headers;
    },
  };
}
