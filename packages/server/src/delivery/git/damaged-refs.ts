/** Files of refs that a power failure has cut. Git neither reads nor replaces them, and fails for all refs. */
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from './git.ts';
import { makeOwnPath } from './ref-locks.ts';

/** Puts damaged refs where they were. @param refs full names, which are valid; null: it was not there */
export async function restoreDamagedRefs(
  git: Git,
  folder: string,
  refs: readonly { name: string; from: string | null }[],
): Promise<void> {
  for (const { name, from } of refs) {
    const path = join(folder, name);
    const content = await readFile(path, 'latin1').catch(() => undefined);
    if (content === undefined || /^([0-9a-f]{40}|ref: )/.test(content)) continue;
    if (from === null) await rm(path, { force: true });
    else {
      const whole = makeOwnPath(folder);
      await git.writeFile(whole, `${from}\n`);
      await rename(whole, path);
    }
  }
}
