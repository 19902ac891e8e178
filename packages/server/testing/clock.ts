import type { Clock } from '../src/kernel/clock.ts';

export interface MovableClock extends Clock {
  /** Advances the clock. */
  advance(seconds: number): void;
}

/**
 * A clock that a test moves. It starts at the real time, so that nothing created by the database is in its
 * future.
 */
export function createMovableClock(start = new Date()): MovableClock {
  let milliseconds = start.getTime();
  return {
    now: () => new Date(milliseconds),
    advance(seconds) {
      milliseconds += seconds * 1_000;
    },
  };
}
