/** The thread of `memory-watch.ts`: entry. */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { WatchMessage } from './memory-watch.ts';

const periodMilliseconds = 25;

/** In how many of these periods once new children are looked for, in the tasks of each known process. */
const periodsBetweenScans = 4;

interface Watched {
  /**
   * By process: the leader of the group, and those that it and they have started. The value is its status, kept open: it stays this process's,
   * also when its id goes to another one.
   */
  members: Map<number, number>;
  limitKilobytes: number;
  exceeded: Int32Array;
}

const watched = new Map<number, Watched>();
const text = Buffer.alloc(8192);
let timer: NodeJS.Timeout | undefined;
let periods = 0;

/** Undefined: it has ended. */
function readKilobytes(status: number): number | undefined {
  try {
    const length = readSync(status, text, 0, text.length, 0);
    const lines = text.toString('latin1', 0, length);
    const line = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(lines)?.[1] ?? 0);
    return line('VmRSS') + line('VmSwap');
  } catch {
    return undefined;
  }
}

function checkLimits(): void {
  periods += 1;
  for (const [leader, { members, limitKilobytes, exceeded }] of watched) {
    const kilobytes = measure(members);
    if (periods % periodsBetweenScans === 0) addChildren(members);
    if (kilobytes <= limitKilobytes) continue;
    Atomics.store(exceeded, 0, 1);
    // While the leader is there, the group is its own.
    if (members.has(leader)) kill(-leader);
    // A child may have left the group.
    for (const pid of members.keys()) kill(pid);
  }
}

/** All members together; those that have ended are forgotten. What a fork shares with its parent counts for both. */
function measure(members: Map<number, number>): number {
  let total = 0;
  for (const [pid, status] of members) {
    const kilobytes = readKilobytes(status);
    if (kilobytes === undefined) {
      closeSync(status);
      members.delete(pid);
    } else total += kilobytes;
  }
  return total;
}

/** Also the children of those that it adds: they come later in the same walk. */
function addChildren(members: Map<number, number>): void {
  for (const pid of members.keys())
    for (const child of listChildren(pid)) {
      if (!members.has(child)) add(members, child);
    }
}

/** None where the kernel was built without these lists (CONFIG_PROC_CHILDREN). */
function listChildren(pid: number): number[] {
  return readOrEmpty(() => readdirSync(`/proc/${pid}/task`)).flatMap((task) =>
    readOrEmpty(() =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    ),
  );
}

/** A process or a thread may have ended meanwhile. */
function readOrEmpty<Found>(find: () => Found[]): Found[] {
  try {
    return find();
  } catch {
    return [];
  }
}

function add(members: Map<number, number>, pid: number): void {
  try {
    members.set(pid, openSync(`/proc/${pid}/status`, 'r'));
  } catch {
    // It has ended already.
  }
}

function kill(target: number): void {
  try {
    process.kill(target, 'SIGKILL');
  } catch {
    // It has ended in the meantime.
  }
}

function watch({ pid, limitKilobytes, exceeded }: Extract<WatchMessage, { type: 'watch' }>): void {
  const members = new Map<number, number>();
  add(members, pid);
  watched.set(pid, { members, limitKilobytes, exceeded });
  timer ??= setInterval(checkLimits, periodMilliseconds);
}

function end(pid: number): void {
  const known = watched.get(pid);
  if (known === undefined) return;
  for (const status of known.members.values()) closeSync(status);
  watched.delete(pid);
  if (watched.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

parentPort?.on('message', (message: WatchMessage) => {
  if (message.type === 'watch') watch(message);
  else end(message.pid);
});
