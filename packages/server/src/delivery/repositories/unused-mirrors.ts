/** Removes mirrors that are of no use: of projects without a repository elsewhere, and those unused for 30 days. */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { removeLeftObjects } from '../git/index.ts';
import type { Mirrors } from '../git-remotes/index.ts';
import { findRepository } from './repository.store.ts';

export interface UnusedMirrorsNeeds {
  database: Database;
  clock: Clock;
  mirrors: Mirrors;
}

const hourMilliseconds = 3_600_000;
const keptMilliseconds = 30 * 24 * hourMilliseconds;

export function createUnusedMirrorsJob({ database, clock, mirrors }: UnusedMirrorsNeeds): PeriodicJob {
  return {
    name: 'unused mirrors',
    everyMilliseconds: hourMilliseconds,
    async run(rest) {
      const since = clock.now().getTime() - keptMilliseconds;
      for (const mirror of await mirrors.list()) {
        await rest(10);
        const row = mirror.usedAt.getTime() < since ? undefined : await findRepository(database.read, mirror);
        if (row === undefined || row.clone_url === null)
          await mirrors.remove(mirror.accountId, mirror.projectId);
        else await removeLeftObjects(mirror.folder);
      }
      return false;
    },
  };
}
