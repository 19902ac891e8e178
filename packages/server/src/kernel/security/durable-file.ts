import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * The content of a small file that is made once and must never be lost or half written, whoever is killed: it is written aside, synced, and
 * given its name only then. Of two processes that make it at once one wins, and both read the winner's.
 */
export function readOrMakeFile(path: string, make: () => string): string {
  if (!existsSync(path)) makeDurably(path, make());
  return readFileSync(path, 'utf8').trim();
}

function makeDurably(path: string, content: string): void {
  const aside = `${path}.${randomUUID()}`;
  const file = openSync(aside, 'wx', 0o600);
  try {
    writeSync(file, `${content}\n`);
    fsyncSync(file);
    closeSync(file);
    linkSync(aside, path);
    const folder = openSync(dirname(path), 'r');
    fsyncSync(folder);
    closeSync(folder);
  } catch (failure) {
    if (!(failure instanceof Error && 'code' in failure && failure.code === 'EEXIST')) throw failure;
  } finally {
    rmSync(aside, { force: true });
  }
}
