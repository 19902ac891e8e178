/** A job that looks for due work without end, at once after a wake-up, and otherwise every second. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Wakes } from '../database/wakes.ts';
import type { PeriodicJob } from './periodic-job.ts';

const lookMilliseconds = 1_000;

export interface Looker {
  /** Begins what is due. */
  look(): Promise<void>;
  /** Waits until what was begun has ended. */
  wait(): Promise<void>;
}

/** @param about.key of the wake-ups that announce work */
export function createLookJob(
  { wakes, stopping }: { wakes: Wakes; stopping: AbortSignal },
  { name, key: wanted, looker }: { name: string; key: string; looker: Looker },
): PeriodicJob {
  let ring = () => {};
  wakes.listen((key) => {
    if (key === undefined || key === wanted) ring();
  });
  return {
    name,
    everyMilliseconds: lookMilliseconds,
    firstAfterMilliseconds: 0,
    // One round lasts until the server stops, or the database fails.
    async run() {
      while (!stopping.aborted) {
        const rung = new AbortController();
        ring = () => rung.abort();
        await looker.look();
        const signal = AbortSignal.any([stopping, rung.signal]);
        await delay(lookMilliseconds, undefined, { signal }).catch(() => undefined);
      }
      await looker.wait();
      return false;
    },
  };
}
