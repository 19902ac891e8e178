/** Locks that a killed git has left. Until they are removed, the refs that they lock cannot be moved. */
import { randomUUID } from 'node:crypto';
import { link, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** No git of ours that locks refs may last as long: the default time limit of a call, and some seconds. */
const leftMilliseconds = 90_000;

/** Of our own files for a moment. One that a killed server has left is removed as an old lock is. */
const ownPrefix = '.left-';

/** Removes the old locks of all refs. Returns whether there were some. */
export async function removeLeftLocks(folder: string): Promise<boolean> {
  const top = await readdir(folder).catch(() => []);
  const own = top.filter((name) => name.startsWith(ownPrefix));
  const below = await readdir(join(folder, 'refs'), { recursive: true }).catch(() => []);
  const paths = ['HEAD.lock', 'packed-refs.lock', ...own, ...below.map((name) => join('refs', name))];
  let isSome = false;
  let now: number | undefined;
  for (const path of paths.filter((each) => each.endsWith('.lock'))) {
    const found = await stat(join(folder, path)).catch(() => undefined);
    if (found === undefined) continue;
    now ??= await readTimeOf(folder);
    if (now - found.mtimeMs < leftMilliseconds) continue;
    if (await removeLock(folder, path, found)) isSome = true;
  }
  return isSome;
}

export const makeOwnPath = (folder: string) => join(folder, `${ownPrefix}${randomUUID()}.lock`);

/** The clock of a file server, which dates the locks, may differ from ours. */
async function readTimeOf(folder: string): Promise<number> {
  const path = makeOwnPath(folder);
  try {
    await writeFile(path, '', { flag: 'wx' });
    return (await stat(path)).mtimeMs;
  } finally {
    await rm(path, { force: true });
  }
}

/**
 * Removes a lock that was judged old. Another server may have removed it since, and a git that runs may have
 * taken it again: that one is put back. @param path relative to the folder
 */
export async function removeLock(
  folder: string,
  path: string,
  judged: { ino: number; mtimeMs: number },
): Promise<boolean> {
  const lock = join(folder, path);
  const aside = makeOwnPath(folder);
  const isTaken = await rename(lock, aside).then(
    () => true,
    (failure: NodeJS.ErrnoException) => {
      if (failure.code === 'ENOENT') return false;
      throw failure;
    },
  );
  if (!isTaken) return false;
  const found = await stat(aside);
  const isJudged = found.ino === judged.ino && found.mtimeMs === judged.mtimeMs;
  if (!isJudged)
    await link(aside, lock).catch((failure: NodeJS.ErrnoException) => {
      // A third git has taken it meanwhile.
      if (failure.code !== 'EEXIST') throw failure;
    });
  await rm(aside, { recursive: true, force: true });
  return isJudged;
}
