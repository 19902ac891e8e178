import { spawnSync } from 'node:child_process';
import { chownSync, lstatSync, mkdirSync } from 'node:fs';

/** A user to spawn a process as, without supplementary groups (libuv drops them with the uid). */
export interface ProcessUser {
  name: string;
  uid: number;
  gid: number;
}

/** Flags of `test`: read, execute (a file) or enter (a folder), write. */
export type Access = '-r' | '-x' | '-w';

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

export function findUser(name: string): ProcessUser | undefined {
  const uid = readUserId('-u', name);
  const gid = readUserId('-g', name);
  return uid === undefined || gid === undefined ? undefined : { name, uid, gid };
}

function readUserId(which: '-u' | '-g', name: string): number | undefined {
  // `id` and not /etc/passwd: the user may come from a directory service.
  const answer = spawnSync('id', [which, '--', name], { encoding: 'utf8' });
  return answer.status === 0 ? Number(answer.stdout) : undefined;
}

/**
 * Returns the unprivileged user with that name; creates it if it is missing.
 * @param setting the setting that names another user, for the error message
 * @throws if the user is root or cannot be created
 */
export function ensureSystemUser(name: string, setting: string): ProcessUser {
  const user = findUser(name) ?? makeSystemUser(name, setting);
  if (user.uid === 0) throw new Error(`${setting}: '${name}' is root. Set it to an unprivileged user.`);
  return user;
}

function makeSystemUser(name: string, setting: string): ProcessUser {
  const args = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
  const made = spawnSync('useradd', [...args, '--shell', '/usr/sbin/nologin', '--', name], {
    encoding: 'utf8',
  });
  // Another start on this machine may have created it in the meantime.
  const user = findUser(name);
  if (user) return user;
  const reason = made.error?.message ?? made.stderr.trim();
  throw new Error(
    `Headgate runs as root and needs the unprivileged user '${name}', which it could not create: ${reason}. ` +
      `Create it (useradd --system ${name}), set ${setting} to another user, or start Headgate as an ordinary user.`,
  );
}

/**
 * Tests access by trying as that user: file modes alone do not show mounts and ACLs.
 * @returns the first path that is refused
 */
export function findFirstRefused(user: ProcessUser, expected: [Access, string][]): string | undefined {
  const script = 'while [ $# -gt 1 ]; do test "$1" "$2" || { printf %s "$2"; exit 1; }; shift 2; done';
  const answer = spawnSync('/bin/sh', ['-c', script, 'sh', ...expected.flat()], {
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
 * Creates a folder that only `user` may enter; without a user, only the user of this process.
 * @throws if the path is not a folder or belongs to another user
 */
export function makeOwnFolder(path: string, user?: ProcessUser): void {
  const uid = user?.uid ?? process.getuid?.();
  try {
    mkdirSync(path, { mode: 0o700 });
    if (user) chownSync(path, user.uid, user.gid);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const found = lstatSync(path);
  if (!found.isDirectory())
    throw new Error(`${path} exists but is not a folder. Move it away, then start again.`);
  if (uid !== undefined && found.uid !== uid) {
    throw new Error(
      `${path} belongs to user id ${found.uid}, but would be used by ${user ? `'${user.name}' (${uid})` : `user id ${uid}`}. ` +
        `Start Headgate as the same user as before, or change the owner: chown -R ${uid} '${path}'.`,
    );
  }
  if ((found.mode & 0o077) !== 0) {
    throw new Error(`${path} is accessible to other users. Restrict it: chmod 0700 '${path}'.`);
  }
}
