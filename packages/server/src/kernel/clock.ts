/** Time as an argument: the server uses the system clock, a test one that it moves. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** Adds seconds to a time; a negative number subtracts. */
export function addSeconds(time: Date, seconds: number): Date {
  return new Date(time.getTime() + seconds * 1_000);
}
