/**
 * The temporary folder of a test run. PostgreSQL creates hundreds of files for each database; on a disk that takes a
 * quarter of the processor time of the tests. So the folder is in memory, if the machine has enough.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY_FOLDER = '/dev/shm';
const PREFIX = 'headgate-run-';
/** Of the file system in memory: several times what a run uses. */
const LEAST_FREE_BYTES = 6 * 2 ** 30;
/** Of the machine or container: the tests also need memory. */
const LEAST_MEMORY_BYTES = 10 * 2 ** 30;
/** A run that is this old was killed. */
const ABANDONED_MS = 3 * 60 * 60_000;

export interface MemoryFolder {
  freeBytes: number;
  memoryBytes: number;
  /** A line of /proc/mounts; undefined if nothing is mounted there. */
  mount: string | undefined;
}

/** Whether the folder in memory has the space, and programs in it may run. */
export function isLargeEnough({ freeBytes, memoryBytes, mount = '' }: MemoryFolder): boolean {
  const [, , type, options = ''] = mount.split(' ');
  return (
    type === 'tmpfs' &&
    !options.split(',').includes('noexec') &&
    freeBytes >= LEAST_FREE_BYTES &&
    memoryBytes >= LEAST_MEMORY_BYTES
  );
}

/**
 * Makes the folder the temporary one of this process and its children (TMPDIR) during the work, and removes it
 * afterwards with all that tests left. With TMPDIR the caller chooses where it is.
 */
export async function inRunFolder<Result>(work: () => Promise<Result>): Promise<Result> {
  const usual = process.env.TMPDIR;
  const parent = usual === undefined && hasMemoryFolder() ? MEMORY_FOLDER : tmpdir();
  removeAbandoned(parent);
  const folder = mkdtempSync(join(parent, PREFIX));
  // PostgreSQL, git and agents run as users of their own below this folder.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  try {
    return await work();
  } finally {
    if (usual === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = usual;
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

function hasMemoryFolder(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    return isLargeEnough({
      freeBytes: bavail * bsize,
      memoryBytes: process.availableMemory(),
      mount: mounts.findLast((line) => line.split(' ')[1] === MEMORY_FOLDER),
    });
  } catch {
    // Not Linux.
    return false;
  }
}

function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent).filter((each) => each.startsWith(PREFIX))) {
    const path = join(parent, name);
    const { mtimeMs, uid } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity, uid: 0 };
    if (uid !== process.getuid?.() || mtimeMs > Date.now() - ABANDONED_MS) continue;
    rmSync(path, { recursive: true, force: true });
  }
}
