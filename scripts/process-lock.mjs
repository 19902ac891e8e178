// A lock file that names its holder. The lock of a dead process is free.
//
// Terminology
//   holder    the process that a lock file names, by its pid and its identity
//   identity  boot id and start time of a process, which a later process with the same pid does not share; on
//             systems without /proc, the start time from `ps`
//   token     random and new for each attempt to take a lock, so a lock file never has the same content twice
//   guard     `<lock>.<token>`: a lock on the right to replace the lock file that contains this token
//
// A process takes a lock by linking a complete file to its name, so no reader sees a partial file. If the
// holder is dead, the process that holds the guard renames its own file over the lock file. Two processes
// that find the same dead holder cannot both take the lock: the second finds another token in the file and
// starts again.
//
// This is plain JavaScript because the bootstrap needs it before Node.js 24 is installed.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * @typedef {object} Holder
 * @property {string} token
 * @property {number} pid
 * @property {string} identity
 * @property {string} since ISO 8601
 * @property {string} state such as `running` or `stopping`
 * @property {string} [address] its URL, if it has one
 */

/**
 * @typedef {object} ProcessLock
 * @property {Holder} holder
 * @property {(change: { state?: string, address?: string }) => void} update changes what others read
 * @property {() => void} release
 */

/** @type {string | undefined} */
let bootId;

/**
 * Distinguishes a process from earlier and later ones with the same pid. Undefined if there is no such
 * process, or if it is a zombie, which cannot hold a lock.
 * @param {number} pid
 * @returns {string | undefined}
 */
export function processIdentity(pid) {
  if (process.platform !== 'linux') return identityFromPs(pid);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command in parentheses may itself contain spaces and parentheses. The state is field 3, the start
    // time field 22 (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${bootId}:${fields[19]}`;
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function identityFromPs(pid) {
  try {
    const answer = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
    }).trim();
    const [state = '', ...started] = answer.split(/\s+/);
    return answer === '' || state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}

/** @param {Holder} holder */
function isAlive(holder) {
  return processIdentity(holder.pid) === holder.identity;
}

/**
 * @param {string} path
 * @returns {Holder | undefined} for an unreadable file, a holder that is never alive
 */
function readHolder(path) {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const value = JSON.parse(text);
    if (typeof value.token === 'string' && Number.isInteger(value.pid)) return value;
  } catch {
    // A power cut may leave an empty file.
  }
  return { token: 'unreadable', pid: 0, identity: 'none', since: '', state: 'unreadable' };
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/**
 * Takes the lock or returns its holder, without waiting.
 * @param {string} path in a folder that exists, on a file system with hard links
 * @param {{ now?: () => Date }} [options]
 * @returns {{ lock: ProcessLock, holder?: undefined } | { lock?: undefined, holder: Holder }}
 */
export function tryLock(path, { now = () => new Date() } = {}) {
  const identity = processIdentity(process.pid);
  if (identity === undefined) throw new Error('cannot read the start time of this process');
  /** @type {Holder} */
  const mine = {
    token: randomBytes(12).toString('hex'),
    pid: process.pid,
    identity,
    since: now().toISOString(),
    state: 'running',
  };
  const holder = take(path, path, mine);
  if (holder) return { holder };
  sweep(path, mine.token);
  return { lock: createLock(path, mine) };
}

/**
 * @param {string} path the file to take: the lock or one of its guards
 * @param {string} lock
 * @param {Holder} mine
 * @returns {Holder | undefined} the living holder, if there is one
 */
function take(path, lock, mine) {
  for (;;) {
    if (place(path, lock, mine, linkSync)) return undefined;
    const holder = readHolder(path);
    if (!holder) continue;
    if (isAlive(holder)) return holder;
    const guard = `${path}.${holder.token}`;
    const breaker = take(guard, lock, mine);
    if (breaker) return breaker;
    try {
      if (readHolder(path)?.token === holder.token && place(path, lock, mine, renameSync)) return undefined;
    } finally {
      rmSync(guard, { force: true });
    }
  }
}

/**
 * @param {string} path
 * @param {string} lock
 * @param {Holder} mine
 * @param {(from: string, to: string) => void} how link (fails if the file exists) or rename (replaces it)
 */
function place(path, lock, mine, how) {
  const draft = `${lock}.new-${process.pid}-${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, JSON.stringify(mine), { flag: 'wx' });
  chmodSync(draft, 0o644);
  try {
    how(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Removes the files that killed processes left beside a lock that this process holds. Guards of other tokens
 * have no meaning then, and drafts are needed only while their writer is alive.
 * @param {string} path
 * @param {string} token
 */
function sweep(path, token) {
  const prefix = `${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(prefix) || name.startsWith(`${prefix}${token}`)) continue;
    const draftOf = /\.new-(\d+)-[0-9a-f]+$/.exec(name)?.[1];
    if (draftOf !== undefined && processIdentity(Number(draftOf)) !== undefined) continue;
    rmSync(join(dirname(path), name), { force: true });
  }
}

/**
 * @param {string} path
 * @param {Holder} mine
 * @returns {ProcessLock}
 */
function createLock(path, mine) {
  let released = false;
  return {
    get holder() {
      return mine;
    },
    update(change) {
      if (released) return;
      mine = { ...mine, ...change };
      place(path, path, mine, renameSync);
    },
    release() {
      if (released) return;
      released = true;
      if (readHolder(path)?.token === mine.token) unlinkSync(path);
    },
  };
}

/**
 * Takes the lock, and waits for the holder to release it.
 * @param {string} path
 * @param {object} options
 * @param {number} options.timeoutMs
 * @param {(holder: Holder, waitedMs: number) => boolean | undefined} [options.onHeld] false ends the wait
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<{ lock: ProcessLock, holder?: undefined } | { lock?: undefined, holder: Holder }>}
 *   the holder if the time is over
 */
export async function lockWithin(path, { timeoutMs, onHeld, signal }) {
  const started = performance.now();
  for (;;) {
    signal?.throwIfAborted();
    const attempt = tryLock(path);
    if (attempt.lock) return attempt;
    const waited = performance.now() - started;
    if (onHeld?.(attempt.holder, waited) === false || waited >= timeoutMs) return attempt;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
