/** Keeps hosted repositories small: few packs, no leftovers of servers that died. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import { Problem, problem } from '../../kernel/http/problems.ts';
import type { Log } from '../../kernel/log.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { type Git, mostPacks, removeLeftLocks, removeLeftObjects } from '../git/index.ts';
import type { RepositoriesFolder } from './repositories-folder.ts';

interface Place {
  folder: string;
  accountId: string;
}

const longestMilliseconds = 1_800_000;
const everyMilliseconds = 3_600_000;
/** What no ref reaches may belong to a push that has not moved its refs yet: it stays for two days. */
const keptMilliseconds = 2 * 86_400_000;
const spared = '2.days.ago';
const tidying = new Map<string, Promise<void>>();
/** By folder: when space was last freed because a write was refused. */
const freedAt = new Map<string, number>();

/** Packs are joined in the background when there are many; one repository at a time. */
export function tidyRepository(services: { git: Git; log: Log }, at: Place): void {
  start(services, at, mostPacks);
}

/** Frees space in a repository that has refused a write for its size: at most once an hour, few packs too. */
export function tidyFullRepository(services: { git: Git; log: Log; clock: Clock }, at: Place): void {
  const now = services.clock.now().getTime();
  for (const [folder, time] of freedAt) if (now - time >= everyMilliseconds) freedAt.delete(folder);
  if (!freedAt.has(at.folder) && start(services, at, 0)) freedAt.set(at.folder, now);
}

/** For a write that failed: frees space if it was refused for the size of the repository. */
export function tidyIfFull(services: { git: Git; log: Log; clock: Clock }, at: Place) {
  return (failure: unknown): never => {
    if (failure instanceof Problem && failure.code === 'repository-too-large')
      tidyFullRepository(services, at);
    throw failure;
  };
}

/** Returns false if another repository is being tidied. */
function start({ git, log }: { git: Git; log: Log }, at: Place, most: number): boolean {
  if (tidying.size > 0) return false;
  const work = tidy(git, at, most)
    .catch((failure: unknown) => logFailure(log, at.folder, failure))
    .finally(() => tidying.delete(at.folder));
  tidying.set(at.folder, work);
  return true;
}

function logFailure(log: Log, folder: string, failure: unknown): void {
  log.warn({ err: failure, folder }, 'a hosted repository was not tidied');
}

async function tidy(git: Git, { folder, accountId }: Place, most: number): Promise<void> {
  const objects = join(folder, 'objects');
  await removeLeftObjects(folder);
  const packs = (await readdir(join(objects, 'pack'))).filter((name) => name.endsWith('.pack'));
  if (packs.length <= most) return;
  const timeoutMilliseconds = longestMilliseconds;
  const call = { folder, accountId, kind: 'long', isBackground: true, timeoutMilliseconds } as const;
  // What no ref reaches becomes loose objects, which keep the time of their pack.
  await git.run(['repack', '-A', '-d', '-l', '-q', `--unpack-unreachable=${spared}`], call);
  await git.run(['prune', `--expire=${spared}`], call);
  // Ended in time, so that an old lock is known to be left (ref-locks.ts).
  await removeLeftLocks(folder);
  await git.run(['pack-refs', '--all', '--prune'], { folder, accountId });
}

export interface LeftoversNeeds {
  hosted: { folder: RepositoriesFolder };
  git: Git;
  log: Log;
}

/** Removes what pushes and commits of servers that died have left, also where nobody pushes any more. */
export function createLeftoversJob({ hosted, git, log }: LeftoversNeeds): PeriodicJob {
  return {
    name: 'leftovers of hosted repositories',
    everyMilliseconds,
    async run(rest) {
      const { folder } = hosted;
      if ((await folder.findFault()) !== undefined) return false;
      const before = Date.now() - keptMilliseconds;
      for (const name of await readdir(folder.path)) {
        if (!name.endsWith('.git')) continue;
        await rest(10);
        const path = join(folder.path, name);
        // One that cannot be tidied must not keep the others.
        await removeLeftovers(git, path, before).catch((failure: unknown) => logFailure(log, path, failure));
      }
      return false;
    },
  };
}

async function removeLeftovers(git: Git, folder: string, before: number): Promise<void> {
  await removeLeftObjects(folder);
  await removeLeftLocks(folder);
  if (!(await hasLooseObject(join(folder, 'objects'), before))) return;
  // The job has a turn of its own, so it takes none from an account.
  const call = { folder, accountId: 'leftovers', kind: 'long', isBackground: true } as const;
  const args = ['prune', `--expire=${spared}`];
  const pruned = await git.run(args, { ...call, timeoutMilliseconds: longestMilliseconds });
  if (pruned.code !== 0) throw problem('git-failed', { command: 'prune', words: pruned.stderr });
}

/** Whether one was written before that time. Without it, git would read the whole history and find none. */
async function hasLooseObject(objects: string, before: number): Promise<boolean> {
  const folders = (await readdir(objects).catch(() => [])).filter((name) => /^[0-9a-f]{2}$/.test(name));
  for (const name of folders)
    for (const object of await readdir(join(objects, name)).catch(() => [])) {
      const found = await stat(join(objects, name, object)).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < before) return true;
    }
  return false;
}
