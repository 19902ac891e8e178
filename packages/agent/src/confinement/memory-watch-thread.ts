/** The entry point of the thread of `memory-watch.ts`. */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { WatchMessage } from './memory-watch.ts';

const periodMilliseconds = 25;

/** New child processes are searched for once in this number of periods. */
const periodsBetweenScans = 4;

interface Watched {
  /**
   * The group's leader and all descendants, by process id. The value is an open file of the process's status,
   * which never refers to another process, even if the id is reused.
   */
  members: Map<number, number>;
  limitKilobytes: number;
  exceeded: Int32Array;
}

const watched = new Map<number, Watched>();
const text = Buffer.alloc(8192);
let timer: NodeJS.Timeout | undefined;
let periods = 0;

/** Undefined if the process has ended. */
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
    // While the leader exists, the group id cannot belong to other processes.
    if (members.has(leader)) kill(-leader);
    // Descendants may have left the group.
    for (const pid of members.keys()) kill(pid);
  }
}

/** The memory of all members. Removes ended ones. Memory shared by parent and child counts twice. */
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

/** Adds all descendants: an added child is visited later in the same loop. */
function addChildren(members: Map<number, number>): void {
  for (const pid of members.keys())
    for (const child of listChildren(pid)) {
      if (!members.has(child)) add(members, child);
    }
}

/** Empty if the kernel was built without CONFIG_PROC_CHILDREN. */
function listChildren(pid: number): number[] {
  return readOrEmpty(() => readdirSync(`/proc/${pid}/task`)).flatMap((task) =>
    readOrEmpty(() =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    ),
  );
}

/** Returns an empty list if the process or thread has ended. */
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
    // The process has already ended.
  }
}

function kill(target: number): void {
  try {
    process.kill(target, 'SIGKILL');
  } catch {
    // The process has already ended.
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
