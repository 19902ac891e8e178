import { spawnSync } from 'node:child_process';
import { chownSync, lstatSync, mkdirSync } from 'node:fs';

/** A user that a process is spawned as: numeric, and without supplementary groups (libuv drops them with the uid). */
export interface ProcessUser {
  name: string;
  uid: number;
  gid: number;
}

/** `test`'s own letters: read, execute (a file) or enter (a folder), write. */
export type Access = '-r' | '-x' | '-w';

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

export function findUser(name: string): ProcessUser | undefined {
  const uid = idOf('-u', name);
  const gid = idOf('-g', name);
  return uid === undefined || gid === undefined ? undefined : { name, uid, gid };
}

function idOf(which: '-u' | '-g', name: string): number | undefined {
  // `id` and not /etc/passwd: the user may come from a directory service.
  const answer = spawnSync('id', [which, '--', name], { encoding: 'utf8' });
  return answer.status === 0 ? Number(answer.stdout) : undefined;
}

/**
 * The unprivileged user of that name, made when there is none.
 * @param setting the setting by which an operator names another user, for the error message
 * @throws when the user is root or cannot be made
 */
export function systemUser(name: string, setting: string): ProcessUser {
  const user = findUser(name) ?? makeSystemUser(name, setting);
  if (user.uid === 0) throw new Error(`${setting}: '${name}' is root. Name an unprivileged user.`);
  return user;
}

function makeSystemUser(name: string, setting: string): ProcessUser {
  const args = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
  const made = spawnSync('useradd', [...args, '--shell', '/usr/sbin/nologin', '--', name], {
    encoding: 'utf8',
  });
  // Another start on this machine may have made it in the meantime.
  const user = findUser(name);
  if (user) return user;
  const reason = made.error?.message ?? made.stderr.trim();
  throw new Error(
    `Headgate runs as root and needs the unprivileged user '${name}', which it could not make: ${reason}. ` +
      `Make it (useradd --system ${name}), name another one by ${setting}, or start Headgate as an ordinary user.`,
  );
}

/**
 * Whether that user may do all this, found out by trying as that user: modes alone tell nothing of mounts and ACLs.
 * @returns the first path that is refused
 */
export function firstRefused(user: ProcessUser, wanted: [Access, string][]): string | undefined {
  const script = 'while [ $# -gt 1 ]; do test "$1" "$2" || { printf %s "$2"; exit 1; }; shift 2; done';
  const answer = spawnSync('/bin/sh', ['-c', script, 'sh', ...wanted.flat()], {
    uid: user.uid,
    gid: user.gid,
    cwd: '/',
    env: {},
    encoding: 'utf8',
  });
  if (answer.error) throw new Error(`Cannot run a process as user '${user.name}': ${answer.error.message}`);
  return answer.status === 0 ? undefined : answer.stdout;
}

/**
 * A folder that only `user` may enter; without a user, only this process's own.
 * @throws when something else is there, or it is another user's
 */
export function ownFolder(path: string, user?: ProcessUser): void {
  const uid = user?.uid ?? process.getuid?.();
  try {
    mkdirSync(path, { mode: 0o700 });
    if (user) chownSync(path, user.uid, user.gid);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const found = lstatSync(path);
  if (!found.isDirectory()) throw new Error(`${path} is in the way: a folder is needed there.`);
  if (uid !== undefined && found.uid !== uid) {
    throw new Error(
      `${path} belongs to user id ${found.uid}, and would be used by ${user ? `'${user.name}' (${uid})` : `user id ${uid}`}. ` +
        `Start Headgate as the user that it was started as before, or give the folder away: chown -R ${uid} '${path}'.`,
    );
  }
  if ((found.mode & 0o077) !== 0) {
    throw new Error(`${path} is open to other users. Close it: chmod 0700 '${path}'.`);
  }
}
