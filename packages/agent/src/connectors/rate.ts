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
  /** When the next request may be sent. */
  let next = 0;
  return {
    async wait(limit, signal) {
      const interval = limit === undefined ? 0 : (limit.seconds * 1_000) / limit.requests;
      const at = Math.max(now(), next);
      if (interval > 0) next = at + interval;
      // A pause may come while it waits.
      for (let due = at; due > now(); due = Math.max(due, interval > 0 ? due : next)) {
        await sleep(Math.min(due - now(), longestTimer), signal);
        signal.throwIfAborted();
      }
    },
    pause(milliseconds) {
      next = Math.max(next, now() + milliseconds);
    },
  };
}
