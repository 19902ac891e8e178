/**
 * Limits requests per minute: those of an account, and of each of its callers, so that one of them cannot use up the
 * account's (docs/adr/0079). Requests that are refused for their token count against their address instead. Each
 * process counts separately, in windows that start with the first request. Headers:
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
import type { Clock } from '../clock.ts';
import { problem, withHeaders } from '../http/problems.ts';
import { buildAddressKey } from './address-key.ts';

const windowSeconds = 60;
/** How long a caller that was found inactive is refused without asking the database again. */
const rememberedSeconds = 5;
/** Entries of each table. Beyond it the oldest window is dropped, which never refuses a request. */
const mostWindows = 50_000;

export interface RateLimits {
  ofAccount: number;
  ofCaller: number;
  /** Requests of one address whose tokens are refused. */
  refusedOfAddress: number;
}

export interface LimitedCaller {
  accountId: string;
  actorId: string;
  userCredentialId?: string | undefined;
  sessionId?: string | undefined;
}

export interface Counted {
  /** The rate limit headers. */
  headers: Readonly<Record<string, string>>;
  /** For a caller that turns out to be inactive: gives the request back to the account, and remembers the caller. */
  refuse(): void;
}

export interface RateLimit {
  /** Counts a request whose token is good. Throws `rate-limited` above the limit of the caller or the account. */
  count(caller: LimitedCaller): Counted;
  /** Counts a request whose token was refused. Throws `rate-limited` above the limit of its address. */
  countRefused(address: string): void;
  /** Whether the caller was found inactive a moment ago. */
  isRefused(caller: LimitedCaller): boolean;
}

const uncounted: Counted = { headers: {}, refuse: () => undefined };
export const noRateLimit: RateLimit = {
  count: () => uncounted,
  countRefused: () => undefined,
  isRefused: () => false,
};

export function createRateLimit(limits: RateLimits, clock: Clock): RateLimit {
  const accounts = createWindows('account', limits.ofAccount, clock);
  const callers = createWindows('caller', limits.ofCaller, clock);
  const addresses = createWindows('address', limits.refusedOfAddress, clock);
  const policy = `${accounts.policy}, ${callers.policy}`;
  // Its windows end by themselves, so this is a table of times too.
  const inactive = createWindows('inactive', 1, clock, rememberedSeconds);

  return {
    count(caller) {
      // The caller first: what its own limit refuses does not count against the account.
      const ofCaller = callers.open(caller.actorId);
      const ofAccount = accounts.open(caller.accountId);
      for (const each of [ofCaller, ofAccount]) {
        if (each.left() > 0) continue;
        const headers = { 'RateLimit-Policy': policy, RateLimit: each.describe() };
        throw refuse(each, headers);
      }
      ofCaller.add(1);
      ofAccount.add(1);
      // The one that ends first comes first, for clients that read only one.
      const both = [ofAccount, ofCaller].toSorted((one, other) => one.left() - other.left());
      return {
        headers: { 'RateLimit-Policy': policy, RateLimit: both.map((each) => each.describe()).join(', ') },
        refuse() {
          ofAccount.add(-1);
          inactive.open(buildCallerKey(caller)).add(1);
        },
      };
    },
    countRefused(address) {
      const window = addresses.open(buildAddressKey(address));
      if (window.left() === 0)
        throw refuse(window, {
          'RateLimit-Policy': addresses.policy,
          RateLimit: window.describe(),
        });
      window.add(1);
    },
    isRefused: (caller) => inactive.find(buildCallerKey(caller))?.left() === 0,
  };
}

const buildCallerKey = ({ actorId, userCredentialId, sessionId }: LimitedCaller) =>
  `${actorId} ${userCredentialId ?? sessionId ?? ''}`;

function refuse(window: Window, headers: Record<string, string>): Error {
  const { of, limit } = window;
  const seconds = window.seconds();
  const refusal = problem('rate-limited', { seconds, of, limit });
  return withHeaders(refusal, { ...headers, 'Retry-After': String(seconds) });
}

interface Window {
  of: string;
  /** Requests in a window. */
  limit: number;
  left(): number;
  /** Until it ends; at least 1. */
  seconds(): number;
  add(count: 1 | -1): void;
  /** The item of the header `RateLimit`. */
  describe(): string;
}

/** Windows by key, in the order of their starts. */
function createWindows(name: string, limit: number, clock: Clock, lastSeconds = windowSeconds) {
  const windows = new Map<string, { startedAt: number; used: number }>();
  const milliseconds = lastSeconds * 1_000;

  function dropEnded(now: number): void {
    for (const [key, { startedAt }] of windows) {
      if (now - startedAt < milliseconds && windows.size < mostWindows) return;
      windows.delete(key);
    }
  }

  function present(window: { startedAt: number; used: number }): Window {
    const left = () => Math.max(0, limit - window.used);
    const seconds = () =>
      Math.max(1, Math.ceil((window.startedAt + milliseconds - clock.now().getTime()) / 1_000));
    return {
      of: name,
      limit,
      left,
      seconds,
      add(count) {
        window.used += count;
      },
      describe: () => `"${name}";r=${left()};t=${seconds()}`,
    };
  }

  return {
    policy: `"${name}";q=${limit};w=${lastSeconds}`,
    find(key: string): Window | undefined {
      const found = windows.get(key);
      const isOpen = found !== undefined && clock.now().getTime() - found.startedAt < milliseconds;
      return isOpen ? present(found) : undefined;
    },
    open(key: string): Window {
      const open = this.find(key);
      if (open !== undefined) return open;
      const now = clock.now().getTime();
      // Again at the end: its start is the latest.
      windows.delete(key);
      dropEnded(now);
      const window = { startedAt: now, used: 0 };
      windows.set(key, window);
      return present(window);
    },
  };
}
