import { setTimeout as delay } from 'node:timers/promises';

const shortestPause = 20;
const longestPause = 200;

/**
 * Repeats `ask` until it returns something other than undefined or false. The pauses grow with the time that it
 * waits: questions to a server take much of a processor, which the server and other tests need.
 *
 * @throws with `what` in its message, after `seconds`
 */
export async function waitUntil<T>(
  what: string,
  seconds: number,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await ask();
    if (found !== undefined && found !== false) return found;
    const waited = performance.now() - start;
    if (waited > seconds * 1_000) throw new Error(`${what}: timed out after ${seconds} s`);
    await delay(Math.min(Math.max(waited / 8, shortestPause), longestPause));
  }
}
