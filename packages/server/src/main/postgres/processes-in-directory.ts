import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The living processes whose working directory is `directory`: for a PostgreSQL data directory these are its postmaster
 * and its backends. Zombies do not count: they hold nothing, and may stay for as long as their parent likes.
 * Without /proc nothing is found.
 */
export function processesIn(directory: string): number[] {
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
    // It ended, or is another user's.
    return false;
  }
}

/** @returns whether the directory is free of processes; false when it still was not after `timeoutMs` */
export async function waitUntilNobodyIsIn(
  directory: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  while (processesIn(directory).length > 0) {
    if (performance.now() >= until) return false;
    await delay(10, undefined, { signal });
  }
  return true;
}
