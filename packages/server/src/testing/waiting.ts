import { setTimeout as delay } from 'node:timers/promises';

/**
 * Repeats `ask` until it returns something other than undefined or false.
 *
 * @throws with `what` in its message, after `seconds`
 */
export async function waitUntil<T>(
  what: string,
  seconds: number,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const end = performance.now() + seconds * 1_000;
  for (;;) {
    const found = await ask();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`${what}: timed out after ${seconds} s`);
    await delay(20);
  }
}
