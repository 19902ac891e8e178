/** A request that waits for the end of work (design law 2): woken by it, and looking again by itself, because a wake-up may be lost. */

import { createWait, type Wakes } from '../database/wakes.ts';
import { problem } from '../http/problems.ts';

const lookAgainMilliseconds = 2_000;

export type Looked<Ended> = { ended: Ended } | { waitsFor: string };

/**
 * @param first what is waited for at first, and wakes
 * @param look what is so at this moment
 * @returns undefined when it has not ended in the time that a request waits. Throws `shutting-down`.
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
    // Waiting begins before looking: what ends meanwhile wakes us.
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
