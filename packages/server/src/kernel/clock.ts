/** Time as an argument (design law 9): the server has the system's clock, a test one that it moves. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** So many seconds after a time; before it with a negative number. */
export function addSeconds(time: Date, seconds: number): Date {
  return new Date(time.getTime() + seconds * 1_000);
}
