/**
 * The entry point of the thread of `memory-watch.ts`. Plain JavaScript: a thread that reads TypeScript needs 12 MB
 * more.
 */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';

/** @typedef {import('./memory-watch.ts').WatchMessage} WatchMessage */

const periodMilliseconds = 25;

/** New child processes are searched for once in this number of periods. */
const periodsBetweenScans = 4;

/** Locks of files are counted once in this number of periods. */
const periodsBetweenLocks = 40;

/**
 * @typedef {object} Watched
 * @property {Map<number, number>} members The group's leader and all descendants, by process id. The value is an open
 *   file of the process's status, which never refers to another process, even if the id is reused.
 * @property {number} limitKilobytes
 * @property {boolean} hasOwnNetwork
 * @property {number} socketKilobytes
 * @property {number} lockKilobytes
 * @property {Int32Array} exceeded
 */

/** @type {Map<number, Watched>} */
const watched = new Map();
/** What may wait in a socket: the default of net.core.wmem_max, and the last message. */
const kilobytesOfSocket = 256;
/** A lock takes 0.2 KB. It counts as more, so that a list of all of them stays short. */
const kilobytesOfLock = 8;
const listedBytes = 32 * 1024 * 1024;
const text = Buffer.alloc(65_536);
/** @type {NodeJS.Timeout | undefined} */
let timer;
let periods = 0;

/**
 * Undefined if the process has ended.
 *
 * @param {number} status
 * @returns {number | undefined}
 */
function readKilobytes(status) {
  try {
    const length = readSync(status, text, 0, text.length, 0);
    const lines = text.toString('latin1', 0, length);
    /** @param {RegExp} line */
    const read = (line) => Number(line.exec(lines)?.[1] ?? 0);
    // Page tables of memory that is only read are larger than what is resident of it.
    return read(/^VmRSS:\s+(\d+) kB/m) + read(/^VmSwap:\s+(\d+) kB/m) + read(/^VmPTE:\s+(\d+) kB/m);
  } catch {
    return undefined;
  }
}

function checkLimits() {
  periods += 1;
  if (periods % periodsBetweenLocks === 0) countLocks();
  for (const [leader, group] of watched) {
    const { members, limitKilobytes, exceeded } = group;
    const kilobytes = measure(members) + group.socketKilobytes + group.lockKilobytes;
    if (periods % periodsBetweenScans === 0) {
      addChildren(members);
      if (group.hasOwnNetwork) group.socketKilobytes = countSockets(leader, members) * kilobytesOfSocket;
    }
    if (kilobytes <= limitKilobytes) continue;
    Atomics.store(exceeded, 0, 1);
    // While the leader exists, the group id cannot belong to other processes.
    if (members.has(leader)) kill(-leader);
    // Descendants may have left the group.
    for (const pid of members.keys()) kill(pid);
  }
}

/**
 * The memory of all members. Removes ended ones. Memory shared by parent and child counts twice.
 *
 * @param {Watched['members']} members
 * @returns {number}
 */
function measure(members) {
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

/**
 * The sockets of the network namespace that the descendants share. It is not the leader's own.
 *
 * @param {number} leader
 * @param {Watched['members']} members
 * @returns {number}
 */
function countSockets(leader, members) {
  for (const pid of members.keys()) {
    if (pid === leader) continue;
    try {
      const found = /^sockets: used (\d+)/.exec(readFileSync(`/proc/${pid}/net/sockstat`, 'latin1'));
      return Number(found?.[1] ?? 0);
    } catch {
      // The process has ended.
    }
  }
  return 0;
}

/** Sets what the locks of each group take. The kernel names a lock's owner only in the list of all locks. */
function countLocks() {
  /** @type {Map<number, number>} */
  const locks = new Map();
  for (const pid of readOrEmpty(listLockOwners)) locks.set(pid, (locks.get(pid) ?? 0) + 1);
  for (const group of watched.values()) {
    group.lockKilobytes = 0;
    for (const pid of group.members.keys()) group.lockKilobytes += (locks.get(pid) ?? 0) * kilobytesOfLock;
  }
}

/** @returns {number[]} */
function listLockOwners() {
  const owners = [];
  const file = openSync('/proc/locks', 'r');
  try {
    let rest = '';
    for (let read = 0; read < listedBytes; ) {
      const length = readSync(file, text, 0, text.length, null);
      if (length === 0) break;
      read += length;
      const lines = (rest + text.toString('latin1', 0, length)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [, owner] = /^\d+: (?:-> )?[A-Z]+ +[A-Z]+ +[A-Z]+ (\d+) /.exec(line) ?? [];
        if (owner !== undefined) owners.push(Number(owner));
      }
    }
  } finally {
    closeSync(file);
  }
  return owners;
}

/**
 * Adds all descendants: an added child is visited later in the same loop.
 *
 * @param {Watched['members']} members
 */
function addChildren(members) {
  for (const pid of members.keys())
    for (const child of listChildren(pid)) {
      if (!members.has(child)) add(members, child);
    }
}

/**
 * Empty if the kernel was built without CONFIG_PROC_CHILDREN.
 *
 * @param {number} pid
 * @returns {number[]}
 */
function listChildren(pid) {
  return readOrEmpty(() => readdirSync(`/proc/${pid}/task`)).flatMap((task) =>
    readOrEmpty(() =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    ),
  );
}

/**
 * Returns an empty list if the process or thread has ended.
 *
 * @template Found
 * @param {() => Found[]} find
 * @returns {Found[]}
 */
function readOrEmpty(find) {
  try {
    return find();
  } catch {
    return [];
  }
}

/**
 * @param {Watched['members']} members
 * @param {number} pid
 */
function add(members, pid) {
  try {
    members.set(pid, openSync(`/proc/${pid}/status`, 'r'));
  } catch {
    // The process has already ended.
  }
}

/** @param {number} target */
function kill(target) {
  try {
    process.kill(target, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

/** @param {Extract<WatchMessage, { type: 'watch' }>} message */
function watch({ pid, limitKilobytes, hasOwnNetwork, exceeded }) {
  /** @type {Watched['members']} */
  const members = new Map();
  add(members, pid);
  watched.set(pid, {
    members,
    limitKilobytes,
    hasOwnNetwork,
    socketKilobytes: 0,
    lockKilobytes: 0,
    exceeded,
  });
  timer ??= setInterval(checkLimits, periodMilliseconds);
}

/** @param {number} pid */
function end(pid) {
  const known = watched.get(pid);
  if (known === undefined) return;
  for (const status of known.members.values()) closeSync(status);
  watched.delete(pid);
  if (watched.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

parentPort?.on('message', (/** @type {WatchMessage} */ message) => {
  if (message.type === 'watch') watch(message);
  else end(message.pid);
});
