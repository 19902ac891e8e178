/**
 * Objects on their way into a repository: in a folder of their own until they have been checked. What is
 * refused or cut leaves nothing.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitCall } from './git.ts';

/** Of the names of these folders, among the objects of a repository. */
const incomingPrefix = 'incoming-';

/** Longer than any push, or repack. */
const leftMilliseconds = 7_200_000;

/** Removes what servers that died have left. */
export async function removeLeftObjects(folder: string, now = Date.now()): Promise<void> {
  const objects = join(folder, 'objects');
  for (const name of await readdir(objects).catch(() => [])) {
    if (!name.startsWith(incomingPrefix)) continue;
    const found = await stat(join(objects, name)).catch(() => undefined);
    if (found !== undefined && now - found.mtimeMs > leftMilliseconds)
      await rm(join(objects, name), { recursive: true, force: true });
  }
  await removeLeftPacks(join(objects, 'pack'), now);
}

/**
 * Files of packs that git does not see, because their index comes last: they would count as part of the repository
 * forever. `.tmp-` and `tmp_` begin the names of what a killed repack has left.
 */
async function removeLeftPacks(folder: string, now: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const seen = new Set(names.filter((name) => name.endsWith('.idx')).map((name) => name.slice(0, -4)));
  for (const name of names) {
    const pack = /^(pack-[0-9a-f]{40})\./.exec(name)?.[1];
    const isLeft = pack === undefined ? /^(\.tmp-|tmp_)/.test(name) : !seen.has(pack);
    if (!isLeft) continue;
    // Not the time of its content, which a backup being restored keeps.
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found !== undefined && now - found.ctimeMs > leftMilliseconds)
      await rm(join(folder, name), { force: true });
  }
}

export interface IncomingObjects {
  /** With it, git writes objects here, and sees those of the repository too. */
  environment: Readonly<Record<string, string>>;
  /** The paths of the packs. */
  listPacks(): Promise<string[]>;
  /** Bytes of the packs. */
  measure(): Promise<number>;
  /** Leaves one pack with all objects that `tips` need and `present` does not. */
  packWhole(tips: readonly string[], present: readonly string[], call: GitCall): Promise<void>;
  /**
   * Adds a pack of what `tips` need, and neither refs reach nor a pack with a `.keep` file here has.
   * @returns false if an object is missing
   */
  packMissing(tips: readonly string[], call: GitCall): Promise<boolean>;
  /** Makes the packs part of the repository. */
  release(): Promise<void>;
  remove(): Promise<void>;
}

export async function makeIncomingObjects(git: Git, folder: string, id: string): Promise<IncomingObjects> {
  const objects = join(folder, 'objects');
  const aside = join(objects, `${incomingPrefix}${id}`);
  const packs = join(aside, 'pack');
  await git.makeFolder(packs);
  async function listPacks(): Promise<string[]> {
    const names = await readdir(packs);
    return names.filter((name) => name.endsWith('.pack')).map((name) => join(packs, name));
  }

  return {
    environment: { GIT_OBJECT_DIRECTORY: aside, GIT_ALTERNATE_OBJECT_DIRECTORIES: objects },
    listPacks,
    async measure() {
      const found = await Promise.all((await listPacks()).map((path) => stat(path)));
      return found.reduce((sum, { size }) => sum + size, 0);
    },
    async packMissing(tips, call) {
      const refs = await git.run(['for-each-ref', '--format=%(objectname)'], call);
      if (refs.code !== 0) throw problem('git-failed', { command: 'for-each-ref', words: refs.stderr });
      const stdin = `${tips.join('\n')}\n--not\n${refs.stdout.toString('latin1')}`;
      const args = ['pack-objects', '--revs', '--honor-pack-keep', '--non-empty', '--quiet'];
      return (await git.run([...args, join(packs, 'pack')], { ...call, stdin })).code === 0;
    },
    async packWhole(tips, present, call) {
      const partial = await listPacks();
      const revisions = [...tips, ...present.map((id) => `^${id}`)].map((line) => `${line}\n`).join('');
      const args = ['pack-objects', '--revs', '--quiet', '--delta-base-offset', join(packs, 'pack')];
      const { code, stdout, stderr } = await git.run(args, { ...call, stdin: revisions });
      if (code !== 0) throw problem('git-failed', { command: 'pack-objects', words: stderr });
      const whole = join(packs, `pack-${stdout.toString('utf8').trim()}.pack`);
      for (const pack of partial.filter((path) => path !== whole))
        for (const path of [pack.replace(/\.pack$/, '.idx'), pack]) await rm(path, { force: true });
    },
    async release() {
      for (const pack of await listPacks()) {
        // A repack under way removes the packs that it has joined by their names, which come from their content.
        const name = join(objects, 'pack', `pack-${randomBytes(20).toString('hex')}`);
        // Git finds a pack by its index, which comes last.
        for (const end of ['.rev', '.pack', '.idx'])
          await rename(pack.replace(/\.pack$/, end), `${name}${end}`).catch(
            (failure: NodeJS.ErrnoException) => {
              if (end !== '.rev' || failure.code !== 'ENOENT') throw failure;
            },
          );
      }
    },
    remove: () => rm(aside, { recursive: true, force: true, maxRetries: 3 }),
  };
}
