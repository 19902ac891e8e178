/** What Linux says of a process. On other systems nothing is known. */
import { readFileSync } from 'node:fs';

/** Resident memory, without the code of Node.js, which all processes share. */
export function readMegabytes(pid: number | undefined): number {
  try {
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ').map(Number);
    return ((resident - shared) * 4_096) / 1_048_576;
  } catch {
    return 0;
  }
}

/** Whether its main thread has started a process that lives. */
export function hasChildren(pid: number | undefined): boolean {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim() !== '';
  } catch {
    return false;
  }
}
