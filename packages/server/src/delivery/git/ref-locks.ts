/** Locks that a killed git has left. Until they are removed, the refs that they lock cannot be moved. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** No git of ours that locks refs may last as long: the default time limit of a call, and some seconds. */
const leftMilliseconds = 90_000;

/** Removes the old locks of all refs. Returns whether there were some. */
export async function removeLeftLocks(folder: string): Promise<boolean> {
  const below = await readdir(join(folder, 'refs'), { recursive: true }).catch(() => []);
  const paths = ['HEAD.lock', 'packed-refs.lock', ...below.map((name) => join('refs', name))];
  let isSome = false;
  for (const path of paths.filter((each) => each.endsWith('.lock'))) {
    const lock = join(folder, path);
    const found = await stat(lock).catch(() => undefined);
    if (found === undefined || Date.now() - found.mtimeMs < leftMilliseconds) continue;
    await rm(lock, { force: true });
    isSome = true;
  }
  return isSome;
}
