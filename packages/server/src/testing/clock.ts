import type { Clock } from '../kernel/clock.ts';

export interface MovableClock extends Clock {
  /** Moves the time on, by seconds. */
  advance(seconds: number): void;
}

/** Time that stands still until a test moves it; it begins at the real time, so that nothing made by the database lies in its future. */
export function createMovableClock(start = new Date()): MovableClock {
  let milliseconds = start.getTime();
  return {
    now: () => new Date(milliseconds),
    advance(seconds) {
      milliseconds += seconds * 1_000;
    },
  };
}
