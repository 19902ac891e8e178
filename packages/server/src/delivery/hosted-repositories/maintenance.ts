/** Keeps hosted repositories small: few packs, no leftovers of servers that died. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../kernel/log.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { type Git, removeLeftLocks, removeLeftObjects } from '../git/index.ts';
import type { RepositoriesFolder } from './repositories-folder.ts';

const mostPacks = 50;
const longestMilliseconds = 1_800_000;
const everyMilliseconds = 3_600_000;
const tidying = new Map<string, Promise<void>>();

/** Packs are joined in the background when there are many; one repository at a time. */
export function tidyRepository(
  { git, log }: { git: Git; log: Log },
  at: { folder: string; accountId: string },
): void {
  if (tidying.size > 0) return;
  const work = tidy(git, at)
    .catch((failure: unknown) =>
      log.warn({ err: failure, folder: at.folder }, 'a hosted repository was not tidied'),
    )
    .finally(() => tidying.delete(at.folder));
  tidying.set(at.folder, work);
}

async function tidy(git: Git, { folder, accountId }: { folder: string; accountId: string }): Promise<void> {
  const objects = join(folder, 'objects');
  await removeLeftObjects(folder);
  const packs = (await readdir(join(objects, 'pack'))).filter((name) => name.endsWith('.pack'));
  if (packs.length <= mostPacks) return;
  const call = { folder, accountId, kind: 'long', timeoutMilliseconds: longestMilliseconds } as const;
  // What no ref reaches may belong to a push that has not moved its refs yet: it stays, loose, for two days.
  await git.run(['repack', '-A', '-d', '-l', '-q', '--unpack-unreachable=2.days.ago'], call);
  await git.run(['prune', '--expire=2.days.ago'], call);
  // Ended in time, so that an old lock is known to be left (ref-locks.ts).
  await removeLeftLocks(folder);
  await git.run(['pack-refs', '--all', '--prune'], { folder, accountId });
}

/** Removes what pushes and commits of servers that died have left, also where nobody pushes any more. */
export function createLeftoversJob({ hosted }: { hosted: { folder: RepositoriesFolder } }): PeriodicJob {
  return {
    name: 'leftovers of hosted repositories',
    everyMilliseconds,
    async run(rest) {
      const { folder } = hosted;
      if ((await folder.findFault()) !== undefined) return false;
      for (const name of await readdir(folder.path)) {
        if (!name.endsWith('.git')) continue;
        await rest(10);
        await removeLeftObjects(join(folder.path, name));
        await removeLeftLocks(join(folder.path, name));
      }
      return false;
    },
  };
}
