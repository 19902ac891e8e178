/** Processor time, as Linux tells it: steadier than answers a second on a machine that others use too. 0 on other systems. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ticksASecond = 100;

/** Of a process with all its threads so far, in seconds. */
export function processorSeconds(pid: number): number {
  if (process.platform !== 'linux') return 0;
  const fields = afterName(pid);
  return (Number(fields?.[11] ?? 0) + Number(fields?.[12] ?? 0)) / ticksASecond;
}

/** Of PostgreSQL's processes so far, in seconds; of those that are still there. */
export function postgresSeconds(dataDirectory: string): number {
  if (process.platform !== 'linux') return 0;
  const postmaster = readFileSync(join(dataDirectory, 'postgres', 'postmaster.pid'), 'latin1').split('\n')[0];
  let nanoseconds = 0;
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || afterName(pid)?.[1] !== postmaster) continue;
    nanoseconds += Number(contentOf(`/proc/${pid}/schedstat`)?.split(' ')[0] ?? 0);
  }
  return nanoseconds / 1e9;
}

/** The fields of /proc/…/stat (proc_pid_stat(5)) from the third, the state, on. */
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
