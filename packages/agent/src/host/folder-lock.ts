/**
 * One agent a folder: two would evict each other's artifacts and could not open each other's databases. The lock is a file with the
 * holder's process id and, where the system tells it, the time that process started, so that an id used again is not taken for the holder.
 */
import { readFileSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

interface Holder {
  pid: number;
  started: string;
}

/**
 * Takes the lock, waiting for a holder that is about to end.
 *
 * @throws Error that names the holder, when it still lives after `waitMilliseconds`.
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
          `another agent (process ${holder.pid}) holds this folder: stop it, or give this one a folder of its own (HEADGATE_AGENT_DIR)`,
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

/** A hard link is made whole or not at all, and only when the name is free. */
async function tryLink(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Renames before it removes, so that of two that find the same dead holder one fails and looks again. */
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

/** Field 22 of /proc/<pid>/stat (proc(5)), in clock ticks since boot, and the boot's id; undefined where there is no /proc. */
function readStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses and may hold spaces.
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${ticks}`;
  } catch {
    return undefined;
  }
}
