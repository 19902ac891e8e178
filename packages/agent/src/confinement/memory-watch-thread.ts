/** The thread of `memory-watch.ts`: entry. */
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { WatchMessage } from './memory-watch.ts';

const periodMilliseconds = 25;

interface Watched {
  /** Kept open: it stays this process's, also when its id goes to another one. */
  status: number;
  limitKilobytes: number;
  exceeded: Int32Array;
}

const watched = new Map<number, Watched>();
const text = Buffer.alloc(8192);
let timer: NodeJS.Timeout | undefined;

function kilobytesOf(status: number): number {
  try {
    const length = readSync(status, text, 0, text.length, 0);
    const lines = text.toString('latin1', 0, length);
    const line = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(lines)?.[1] ?? 0);
    return line('VmRSS') + line('VmSwap');
  } catch {
    // It has ended.
    return 0;
  }
}

function look(): void {
  for (const [pid, { status, limitKilobytes, exceeded }] of watched) {
    if (kilobytesOf(status) <= limitKilobytes) continue;
    Atomics.store(exceeded, 0, 1);
    kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended in the meantime.
  }
}

function watch({ pid, limitKilobytes, exceeded }: Extract<WatchMessage, { type: 'watch' }>): void {
  try {
    watched.set(pid, { status: openSync(`/proc/${pid}/status`, 'r'), limitKilobytes, exceeded });
    timer ??= setInterval(look, periodMilliseconds);
  } catch {
    // It has ended already.
  }
}

function end(pid: number): void {
  const known = watched.get(pid);
  if (known === undefined) return;
  closeSync(known.status);
  watched.delete(pid);
  if (watched.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

parentPort?.on('message', (message: WatchMessage) => {
  if (message.type === 'watch') watch(message);
  else end(message.pid);
});
