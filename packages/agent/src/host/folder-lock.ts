/**
 * Locks the agent's folder: two agents would evict each other's artifacts and could not open each other's
 * databases. The lock is a file with the holder's process id and start time. The start time, where it is
 * known, tells a reused process id from the holder.
 */
import { readFileSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

interface Holder {
  pid: number;
  started: string;
}

/**
 * Takes the lock. Waits for a holder that is shutting down.
 *
 * @throws Error that names the holder if it is still alive after `waitMilliseconds`.
 */
export async function lockFolder(
  path: string,
  waitMilliseconds: number,
  signal: AbortSignal,
): Promise<{ release(): Promise<void> }> {
  const mine: Holder = { pid: process.pid, started: readStartTime(process.pid) ?? '' };
  const own = `${path}.${process.pid}`;
  await writeFile(own, JSON.stringify(mine), { mode: 0o600 });
  try {
    const deadline = performance.now() + waitMilliseconds;
    while (!(await tryLink(own, path))) {
      const holder = await readHolder(path);
      if (!holder || !isAlive(holder)) {
        await setAside(path);
      } else if (performance.now() > deadline) {
        throw new Error(
          `another agent (process ${holder.pid}) uses this folder: stop it, or set HEADGATE_AGENT_DIR to another folder`,
        );
      } else {
        await sleep(200, undefined, { signal });
      }
    }
  } finally {
    await rm(own, { force: true });
  }
  return {
    async release() {
      const holder = await readHolder(path);
      if (holder?.pid === mine.pid && holder.started === mine.started) await rm(path, { force: true });
    },
  };
}

/** Creating a hard link is atomic and fails if the name exists. */
async function tryLink(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Renames before removing, so that if two processes find the same dead holder, only one succeeds. */
async function setAside(path: string): Promise<void> {
  const aside = `${path}.dead.${process.pid}`;
  await rename(path, aside).catch(() => undefined);
  await rm(aside, { force: true });
}

async function readHolder(path: string): Promise<Holder | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  try {
    const { pid, started } = JSON.parse(text) as Partial<Holder>;
    return Number.isSafeInteger(pid) && typeof started === 'string'
      ? { pid: pid as number, started }
      : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const started = readStartTime(holder.pid);
  return started === undefined || started === holder.started;
}

/**
 * Field 22 of /proc/<pid>/stat (proc(5)), in clock ticks since boot, and the boot id; undefined without
 * /proc.
 */
function readStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses and may contain spaces.
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${ticks}`;
  } catch {
    return undefined;
  }
}
