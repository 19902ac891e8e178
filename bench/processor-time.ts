/**
 * Processor time on Linux, 0 on other systems. On a busy machine it varies less than responses per second.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ticksASecond = 100;

/** Processor seconds of a process with all its threads. */
export function processorSeconds(pid: number): number {
  if (process.platform !== 'linux') return 0;
  const fields = afterName(pid);
  return (Number(fields?.[11] ?? 0) + Number(fields?.[12] ?? 0)) / ticksASecond;
}

/** Processor seconds of the children of a process that have ended. */
export function endedChildrenSeconds(pid: number): number {
  if (process.platform !== 'linux') return 0;
  const fields = afterName(pid);
  return (Number(fields?.[13] ?? 0) + Number(fields?.[14] ?? 0)) / ticksASecond;
}

/** Processor seconds of the living processes of PostgreSQL, without that of a connection of the benchmark. */
export function postgresSeconds(dataDirectory: string, ownBackend?: number): number {
  if (process.platform !== 'linux') return 0;
  const postmaster = readFileSync(join(dataDirectory, 'postgres', 'postmaster.pid'), 'latin1').split('\n')[0];
  let nanoseconds = 0;
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === ownBackend || afterName(pid)?.[1] !== postmaster) continue;
    nanoseconds += Number(contentOf(`/proc/${pid}/schedstat`)?.split(' ')[0] ?? 0);
  }
  return nanoseconds / 1e9;
}

/** The fields of /proc/…/stat (proc_pid_stat(5)) from the third one, the state. */
function afterName(pid: number): string[] | undefined {
  return contentOf(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ');
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
