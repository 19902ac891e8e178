/** The bounds of migrations. */
import type { Limits } from './hosts.ts';

export interface MigrationSettings {
  limits: Limits;
  /** Before another attempt, after the connection failed. */
  retryMilliseconds: readonly number[];
}

const gibibyte = 1_073_741_824;

/** @param mostBytes of a repository, which git may not exceed */
export function createMigrationSettings(mostBytes: number): MigrationSettings {
  return {
    limits: {
      mostRefs: 50_000,
      mostObjects: 5_000_000,
      writesMilliseconds: 300_000,
      mostLfsObjects: 100_000,
      mostLfsBytes: 100 * gibibyte,
      mostBytes,
      idleMilliseconds: 120_000,
      totalMilliseconds: 6 * 3_600_000,
    },
    retryMilliseconds: [1_000, 5_000, 15_000],
  };
}
