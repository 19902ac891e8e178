/** Time as an argument (design law 9): the server has the system's clock, a test one that it moves. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
