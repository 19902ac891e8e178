/**
 * The files of a bare repository that decide what git does. They are ours: before each use they are compared
 * with what they must be, and written again if something changed them.
 */
import { randomUUID } from 'node:crypto';
import { chownSync } from 'node:fs';
import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitUser } from './git-program.ts';

const settingsFile = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
`;
/** Files by which a repository would borrow objects, read attributes or graft commits. */
const unwanted = ['objects/info/alternates', 'info/attributes', 'info/grafts', 'config.worktree', 'hooks'];

/** @throws if the folder is not a bare repository of ours */
export async function protectSettings(folder: string, user: GitUser | undefined): Promise<void> {
  const path = join(folder, 'config');
  const found = await lstat(path).catch(() => undefined);
  const isOurs = found?.isFile() === true && (await readFile(path, 'utf8')) === settingsFile;
  if (!isOurs) await writeSettings(folder, path, user);
  for (const name of unwanted) await rm(join(folder, name), { recursive: true, force: true });
}

async function writeSettings(folder: string, path: string, user: GitUser | undefined): Promise<void> {
  const temporary = join(folder, `config.${randomUUID()}`);
  await writeFile(temporary, settingsFile, { mode: 0o600, flag: 'wx' });
  if (user !== undefined) chownSync(temporary, user.uid, user.gid);
  await rename(temporary, path);
}
