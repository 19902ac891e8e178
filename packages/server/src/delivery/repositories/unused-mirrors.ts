/** Removes mirrors that are of no use: of projects without a repository elsewhere, and those unused for 30 days. */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { Log } from '../../kernel/log.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { removeLeftObjects } from '../git/index.ts';
import type { Mirrors } from '../git-remotes/index.ts';
import { findRepository } from './repository.store.ts';

export interface UnusedMirrorsNeeds {
  database: Database;
  clock: Clock;
  mirrors: Mirrors;
  log: Log;
}

const hourMilliseconds = 3_600_000;
const keptMilliseconds = 30 * 24 * hourMilliseconds;

export function createUnusedMirrorsJob({ database, clock, mirrors, log }: UnusedMirrorsNeeds): PeriodicJob {
  return {
    name: 'unused mirrors',
    everyMilliseconds: hourMilliseconds,
    async run(rest) {
      const since = clock.now().getTime() - keptMilliseconds;
      for (const mirror of await mirrors.list()) {
        await rest(10);
        const row = mirror.usedAt.getTime() < since ? undefined : await findRepository(database.read, mirror);
        const isUnused = row === undefined || row.clone_url === null;
        const { accountId, projectId, folder } = mirror;
        // A folder that cannot be removed must not keep the others.
        await (isUnused ? mirrors.remove(accountId, projectId) : removeLeftObjects(folder)).catch(
          (failure: unknown) => log.warn({ err: failure, folder }, 'a mirror was not tidied'),
        );
      }
      return false;
    },
  };
}
