/** Periodic jobs. Every server runs them; a job that must run on one server at a time takes a lock. */
import type { Clock } from '../clock.ts';
import type { Database, Read } from '../database/database.ts';
import type { Metrics } from '../metrics.ts';
import type { Rest } from './retention.ts';

export interface PeriodicJob {
  /** Its name in the log. */
  name: string;
  everyMilliseconds: number;
  /** Delay before the first round; default `everyMilliseconds`. */
  firstAfterMilliseconds?: number;
  /** Runs one round. Returns whether there is more to do at once. */
  run(rest: Rest): Promise<boolean>;
}

const removalMilliseconds = 60_000;
const restMilliseconds = 50;

/**
 * Creates a job that deletes obsolete rows, one batch per round.
 *
 * @param about.kind how the metrics name the rows @param about.remove deletes up to `batch` rows and returns
 * how many
 */
export function createRemovalJob(
  services: { database: Database; metrics: Metrics; clock: Clock },
  about: { kind: string; batch: number; remove: (read: Read, now: Date) => Promise<number> },
): PeriodicJob {
  return {
    name: about.kind.replaceAll('-', ' '),
    everyMilliseconds: removalMilliseconds,
    async run(rest) {
      const removed = await about.remove(services.database.read, services.clock.now());
      services.metrics.countRemovedRows(about.kind, removed);
      await rest(restMilliseconds);
      return removed === about.batch;
    },
  };
}
