import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessLog } from '../host/process-log.ts';
import { makeOwnFolder, type ProcessUser } from '../host/process-users.ts';
import { supervise } from './postgres-supervisor.ts';
import { listProcessesIn, waitUntilEmpty } from './processes-in-directory.ts';

export const SUPERUSER = 'headgate';

const INITDB_MS = 120_000;
/** Shorter than a phase of the server's shutdown. */
const FAST_SHUTDOWN_MS = 20_000;
/**
 * For a PostgreSQL left by an earlier start; it has no clients. PostgreSQL 18 ignores a SIGINT that arrives
 * during the restart after a backend's crash. The immediate shutdown that follows loses nothing: the next
 * start replays the log.
 */
const FAST_SHUTDOWN_OF_LEFTOVER_MS = 5_000;
const IMMEDIATE_SHUTDOWN_MS = 10_000;

/**
 * How initdb and crash recovery flush the directory to disk. On Linux one system call replaces one for each
 * of more than a thousand files (recovery on a busy disk: 0.1–1 s instead of 1–4 s).
 */
const SYNC_METHOD = process.platform === 'linux' ? 'syncfs' : 'fsync';

/**
 * Suits a machine with two cores that also runs other programs. Written into postgresql.conf once;
 * operators may change it. `fsync` and `synchronous_commit` stay on: acknowledged writes are on disk.
 */
const SETTINGS: Record<string, string> = {
  shared_buffers: '128MB',
  max_connections: '100',
  work_mem: '8MB',
  max_wal_size: '512MB',
  min_wal_size: '64MB',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
  ...(SYNC_METHOD === 'syncfs' ? { recovery_init_sync_method: SYNC_METHOD } : {}),
};

export interface DataDirectory {
  /** The folder with `bin/postgres` and `bin/initdb`. */
  binaries: string;
  dataDirectory: string;
  user?: ProcessUser | undefined;
}

/**
 * Creates the data directory if it is missing. It is built under another name and renamed when complete, so
 * that an incomplete one is never used. Removes incomplete ones of earlier starts.
 */
export async function initializeDataDirectory(where: DataDirectory, signal?: AbortSignal): Promise<void> {
  const { dataDirectory, user } = where;
  await removeUnfinished(dataDirectory, signal);
  if (existsSync(join(dataDirectory, 'PG_VERSION'))) {
    checkVersion(where);
    return makeOwnFolder(dataDirectory, user);
  }
  if (existsSync(dataDirectory) && readdirSync(dataDirectory).length > 0) {
    throw new Error(`${dataDirectory} has files, but no PostgreSQL data. Move them away, then start again.`);
  }
  const draft = `${dataDirectory}.new-${randomBytes(4).toString('hex')}`;
  makeOwnFolder(draft, user);
  await runInitdb(where, draft, signal);
  rmSync(dataDirectory, { recursive: true, force: true });
  renameSync(draft, dataDirectory);
  fsyncFolder(dirname(dataDirectory));
}

/** PostgreSQL cannot open a data directory of another major version, and its own message has no remedy. */
function checkVersion({ binaries, dataDirectory }: DataDirectory): void {
  const found = readFileSync(join(dataDirectory, 'PG_VERSION'), 'utf8').trim();
  // The first line of the catalog is '# PostgreSQL 18'.
  const catalog = readFileSync(join(binaries, 'share', 'postgresql', 'postgres.bki'), 'latin1');
  const expected = /^# PostgreSQL (\d+)/.exec(catalog)?.[1];
  if (found === expected) return;
  throw new Error(
    `${dataDirectory} was created by PostgreSQL ${found}; this Headgate has PostgreSQL ${expected}. ` +
      'Back it up with the Headgate that created it and restore it into a new data directory, ' +
      'or set DATABASE_URL to your own server.',
  );
}

async function removeUnfinished(dataDirectory: string, signal?: AbortSignal): Promise<void> {
  const prefix = `${basename(dataDirectory)}.new-`;
  for (const name of readdirSync(dirname(dataDirectory))) {
    if (!name.startsWith(prefix)) continue;
    const draft = join(dirname(dataDirectory), name);
    // The process that began it was killed. Its initdb got SIGINT at that moment, and may need a little
    // longer.
    if (!(await waitUntilEmpty(draft, 5000, signal))) killAll(draft, 'SIGKILL');
    rmSync(draft, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function runInitdb(
  { binaries, user }: DataDirectory,
  draft: string,
  signal?: AbortSignal,
): Promise<void> {
  let output = '';
  const program = await supervise({
    command: join(binaries, 'bin', 'initdb'),
    args: [
      ...['--pgdata', draft, '--username', SUPERUSER, '--auth', 'trust', '--no-instructions'],
      ...['--sync-method', SYNC_METHOD],
      // The same sort order and case rules on every machine, whatever its locales.
      ...[
        '--encoding',
        'UTF8',
        '--locale',
        'C',
        '--locale-provider',
        'builtin',
        '--builtin-locale',
        'C.UTF-8',
      ],
      ...Object.entries(SETTINGS).flatMap(([name, value]) => ['--set', `${name}=${value}`]),
    ],
    cwd: draft,
    user,
    onOutput(text) {
      output = (output + text).slice(-4000);
    },
  });
  const bound = AbortSignal.any([AbortSignal.timeout(INITDB_MS), ...(signal ? [signal] : [])]);
  bound.addEventListener('abort', () => program.end(), { once: true });
  const { code } = await program.ended;
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(`PostgreSQL's initdb failed in ${draft}:\n${output.trim()}`);
}

/**
 * Ends processes that still run in the data directory, and removes the pid file and socket files. After
 * `kill -9` of a postmaster its backends end within moments; a new postmaster refuses to start until then.
 */
export async function clearDataDirectory(
  { dataDirectory }: DataDirectory,
  socketFiles: string[],
  log: ProcessLog,
  signal?: AbortSignal,
): Promise<void> {
  const pidFile = join(dataDirectory, 'postmaster.pid');
  const pid = readPid(pidFile);
  // After a crash the pid may belong to another program.
  if (pid !== undefined && listProcessesIn(dataDirectory).includes(pid)) {
    log.warn({ pid }, 'PostgreSQL of an earlier start still runs; stopping it');
    await shutDown(dataDirectory, pid, FAST_SHUTDOWN_OF_LEFTOVER_MS, signal);
  }
  if (!(await waitUntilEmpty(dataDirectory, IMMEDIATE_SHUTDOWN_MS, signal))) {
    log.warn(
      { pids: listProcessesIn(dataDirectory) },
      'processes of PostgreSQL did not end in time; killing them',
    );
    killAll(dataDirectory, 'SIGKILL');
    if (!(await waitUntilEmpty(dataDirectory, 5000, signal))) {
      throw new Error(
        `Processes ${listProcessesIn(dataDirectory).join(', ')} use ${dataDirectory} and cannot be ended. End them, then start again.`,
      );
    }
  }
  for (const path of [pidFile, ...socketFiles]) rmSync(path, { force: true });
}

/**
 * Stops a postmaster: fast, then immediate, then by force, each with a time limit. Its working directory
 * shows whether it runs, because it may not be a child of this process.
 */
export async function shutDown(
  dataDirectory: string,
  pid: number,
  fastMilliseconds = FAST_SHUTDOWN_MS,
  signal?: AbortSignal,
): Promise<void> {
  const phases = [
    ['SIGINT', fastMilliseconds],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
    ['SIGKILL', 5000],
  ] as const;
  for (const [how, bound] of phases) {
    const until = performance.now() + bound;
    if (!listProcessesIn(dataDirectory).includes(pid)) return;
    sendSignal(pid, how);
    while (performance.now() < until) {
      if (!listProcessesIn(dataDirectory).includes(pid)) return;
      await delay(10, undefined, { signal });
    }
  }
}

function killAll(directory: string, how: NodeJS.Signals): void {
  for (const pid of listProcessesIn(directory)) sendSignal(pid, how);
}

function sendSignal(pid: number, how: NodeJS.Signals): void {
  try {
    process.kill(pid, how);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function readPid(pidFile: string): number | undefined {
  const pid = Number.parseInt(readIfExists(pidFile).split('\n')[0] ?? '', 10);
  return pid > 0 ? pid : undefined;
}

/** The status line of `postmaster.pid` (its 8th), if the file belongs to this postmaster. */
export function readPostmasterStatus(dataDirectory: string, pid: number): string | undefined {
  const lines = readIfExists(join(dataDirectory, 'postmaster.pid')).split('\n');
  return Number(lines[0]) === pid ? lines[7]?.trim() : undefined;
}

function readIfExists(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function fsyncFolder(path: string): void {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
