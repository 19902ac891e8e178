/**
 * Waits for the end of work. It is woken when the work ends, and also checks periodically,
 * because a wake-up may be lost.
 */

import { createWait, type Wakes } from '../database/wakes.ts';
import { problem } from '../http/problems.ts';

const lookAgainMilliseconds = 2_000;

export type Looked<Ended> = { ended: Ended } | { waitsFor: string };

/**
 * @param first the first key to wait for @param look reads the current state @returns undefined if the work
 * has not ended in time. Throws `shutting-down`.
 */
export async function waitForEnd<Ended>(
  services: { wakes: Wakes; stopping: AbortSignal },
  seconds: number,
  first: string,
  look: () => Promise<Looked<Ended>>,
): Promise<Ended | undefined> {
  const until = Date.now() + seconds * 1_000;
  let waitsFor = first;
  for (;;) {
    // Start waiting before looking, so that an end in between wakes us.
    const wait = createWait(services.wakes, waitsFor);
    try {
      const looked = await look();
      if ('ended' in looked) return looked.ended;
      const isNext = looked.waitsFor !== waitsFor;
      waitsFor = looked.waitsFor;
      if (isNext) continue;
      const left = until - Date.now();
      if (services.stopping.aborted) throw problem('shutting-down');
      if (left <= 0) return undefined;
      await wait.waitAtMost(Math.min(left, lookAgainMilliseconds), services.stopping);
    } finally {
      wait.end();
    }
  }
}
