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
 * Reads a small file, or creates it. The file is never lost or half written, even if the process is killed:
 * it is written under another name, synced, then linked. Of two concurrent processes one wins, and both read
 * the same content.
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
