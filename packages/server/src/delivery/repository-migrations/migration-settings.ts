/** The bounds of migrations. */
import type { Limits } from './hosts.ts';

const gibibyte = 1024 ** 3;

export const migrationSettings: { limits: Limits; retryMilliseconds: readonly number[] } = {
  limits: { mostRefs: 50_000, mostBytes: 16 * gibibyte, idleMilliseconds: 120_000 },
  retryMilliseconds: [1_000, 5_000, 15_000],
};
