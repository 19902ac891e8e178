/** When a process of runs gets no further run, and how many wait for one. */

export interface RetirementBounds {
  /** Runs of one process. */
  runs: number;
  /** Age of a process at which it gets no further run. */
  milliseconds: number;
  /** Resident memory between two runs. */
  megabytes: number;
  /**
   * A run's process sends a message every second, even while SQL runs. If it is silent for longer, an
   * expression blocks it in a built-in function.
   */
  silenceMilliseconds: number;
}

const defaultBounds: RetirementBounds = {
  runs: 1_000,
  milliseconds: 600_000,
  megabytes: 200,
  silenceMilliseconds: 15_000,
};

export interface PoolBounds extends RetirementBounds {
  /** Started processes that belong to no environment yet. */
  spares: number;
  /** Processes of environments that wait for a run. */
  idle: number;
  /** Resident memory of those. */
  idleMegabytes: number;
  /** How long one waits for a run. */
  idleMilliseconds: number;
}

export const defaultPoolBounds: PoolBounds = {
  ...defaultBounds,
  spares: 2,
  idle: 20,
  idleMegabytes: 1_024,
  idleMilliseconds: 20_000,
};
