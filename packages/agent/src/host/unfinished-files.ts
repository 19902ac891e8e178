/** What an agent that was killed had not finished to fetch or to write. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Folders } from './folders.ts';

const unfinished = /^\.[0-9a-f-]{36}\.partial$/;

/** At the start, before any run: large files that were being fetched are at the top of the files folders. */
export async function removeUnfinishedFiles({ allFiles }: Pick<Folders, 'allFiles'>): Promise<void> {
  for (const project of await list(allFiles))
    for (const environment of await list(join(allFiles, project))) {
      const folder = join(allFiles, project, environment);
      for (const name of await list(folder))
        if (unfinished.test(name)) await rm(join(folder, name), { force: true });
    }
}

/** Nothing of what is no folder, or cannot be read. */
const list = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
