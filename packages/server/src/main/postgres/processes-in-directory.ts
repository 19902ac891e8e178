import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The running processes whose working directory is `directory`; in a PostgreSQL data directory these are
 * the postmaster and its backends. Zombies do not count: they hold nothing, and stay as long as their
 * parent likes. Without /proc the list is empty.
 */
export function listProcessesIn(directory: string): number[] {
  const real = realpathSync(directory);
  let entries: string[];
  try {
    entries = readdirSync('/proc');
  } catch {
    return [];
  }
  return entries
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => isIn(pid, real));
}

function isIn(pid: number, directory: string): boolean {
  try {
    if (readlinkSync(`/proc/${pid}/cwd`) !== directory) return false;
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    // The process has ended, or belongs to another user.
    return false;
  }
}

/** @returns whether the directory is free of processes; false after `timeoutMs` */
export async function waitUntilEmpty(
  directory: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  while (listProcessesIn(directory).length > 0) {
    if (performance.now() >= until) return false;
    await delay(10, undefined, { signal });
  }
  return true;
}
