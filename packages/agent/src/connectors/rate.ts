/** How fast one server is called: all loads of this agent share the pace, and pauses that the server asks for. */
import type { RateLimit } from '@headgate/pipelines';
import { longestTimer, type Time } from '../time.ts';

export interface Pace {
  /** Resolves when the next request may be sent. @throws the reason of the signal */
  wait(limit: RateLimit | undefined, signal: AbortSignal): Promise<void>;
  /** No request is sent before the time is over. */
  pause(milliseconds: number): void;
}

export interface Paces {
  /** @param key the server, and what tells its callers apart */
  find(key: string): Pace;
}

/** Servers whose pace is remembered. */
const paceLimit = 1_000;

export function createPaces(time: Pick<Time, 'now' | 'sleep'>): Paces {
  const paces = new Map<string, Pace>();
  return {
    find(key) {
      const known = paces.get(key);
      if (known !== undefined) return known;
      const [oldest] = paces.keys();
      if (paces.size >= paceLimit && oldest !== undefined) paces.delete(oldest);
      const pace = createPace(time);
      paces.set(key, pace);
      return pace;
    },
  };
}

function createPace({ now, sleep }: Pick<Time, 'now' | 'sleep'>): Pace {
  /** When the next request may be sent by the limit. */
  let next = 0;
  let pausedUntil = 0;
  return {
    async wait(limit, signal) {
      const interval = limit === undefined ? 0 : (limit.seconds * 1_000) / limit.requests;
      let at: number;
      do {
        at = Math.max(now(), pausedUntil, interval > 0 ? next : 0);
        if (interval > 0) next = at + interval;
        while (at > now()) {
          await sleep(Math.min(at - now(), longestTimer), signal);
          signal.throwIfAborted();
        }
        // A pause may have come while it waited.
      } while (at < pausedUntil);
    },
    pause(milliseconds) {
      pausedUntil = Math.max(pausedUntil, now() + milliseconds);
    },
  };
}
