// A lock file that names its holder, and that outlives nobody.
//
// Terminology
//   holder    the process that a lock file names: its pid, and what tells it from a later process with the same pid
//   identity  boot id and start time of a process; on systems without /proc, what `ps` says about its start
//   token     random, one for each attempt to take a lock; no two contents of a lock file are ever the same
//   guard     `<lock>.<token>`: the right to replace the lock file whose content has that token; itself such a lock
//
// A lock is taken by linking a finished file to its name, so its content is never seen half written. A lock whose
// holder is dead is replaced by renaming over it, by whoever holds its guard. Two that find the same dead holder
// at the same time therefore cannot both take the lock: the second finds another token in the file and starts again.
//
// Plain JavaScript: the bootstrap needs it before Node 24 is there.
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
 * @property {string} state what the holder says it is doing, such as `running` or `stopping`
 * @property {string} [address] where it answers, when it does
 */

/**
 * @typedef {object} ProcessLock
 * @property {Holder} holder
 * @property {(change: { state?: string, address?: string }) => void} update tells those who look what the holder does
 * @property {() => void} release
 */

/** @type {string | undefined} */
let bootId;

/**
 * What tells this process from any other that has had or will have its pid; undefined when there is no such process
 * or it is a zombie, which holds nothing any more.
 * @param {number} pid
 * @returns {string | undefined}
 */
export function processIdentity(pid) {
  if (process.platform !== 'linux') return identityFromPs(pid);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command in parentheses may itself hold spaces and parentheses (proc_pid_stat(5): state is field 3, starttime 22).
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
 * @returns {Holder | undefined} a file that does not hold a holder counts as one of a process that never lived
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
 * Takes the lock, or says who holds it. Never waits.
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
  return { lock: held(path, mine) };
}

/**
 * @param {string} path the file to take: the lock or one of its guards
 * @param {string} lock
 * @param {Holder} mine
 * @returns {Holder | undefined} the living holder that it was not taken from
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
 * @param {(from: string, to: string) => void} how link (only when there is none) or rename (over what is there)
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
 * Removes what killed processes left beside a lock that we hold: guards of other tokens are then without meaning,
 * drafts are needed only while their writer lives.
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
function held(path, mine) {
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
 * Takes the lock, waiting for its holder to let it go.
 * @param {string} path
 * @param {object} options
 * @param {number} options.timeoutMs
 * @param {(holder: Holder, waitedMs: number) => boolean | undefined} [options.onHeld] called at each look; false ends the waiting
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<{ lock: ProcessLock, holder?: undefined } | { lock?: undefined, holder: Holder }>} the holder when the time was not enough
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
