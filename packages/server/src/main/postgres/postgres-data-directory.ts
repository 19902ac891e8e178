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
import { ownFolder, type ProcessUser } from '../host/process-users.ts';
import { supervise } from './postgres-supervisor.ts';
import { processesIn, waitUntilNobodyIsIn } from './processes-in-directory.ts';

export const SUPERUSER = 'headgate';

const INITDB_MS = 120_000;
/** Less than what a phase of the server's shutdown may take. */
const FAST_SHUTDOWN_MS = 20_000;
/**
 * Of what an earlier start left, whose clients are gone. PostgreSQL 18 never ends by SIGINT when it comes in the middle of the restart after
 * a backend's crash; the immediate shutdown that follows loses nothing, the next start replays the log.
 */
const FAST_SHUTDOWN_OF_LEFTOVER_MS = 5_000;
const IMMEDIATE_SHUTDOWN_MS = 10_000;

/**
 * How initdb, and recovery after a crash, bring the whole directory to the disk: where Linux has it, by one system call in
 * place of one for each of more than a thousand files (recovery on a busy disk: 0.1–1 s against 1–4 s).
 */
const SYNC_METHOD = process.platform === 'linux' ? 'syncfs' : 'fsync';

/**
 * For a machine of two cores that runs other things too. Written into postgresql.conf once, for operators to change.
 * `fsync` and `synchronous_commit` stay on: what was acknowledged is on the disk.
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
 * Makes the data directory when there is none. It is made beside its place and moved there when it is whole, so a
 * data directory that was begun and never finished is not taken for one; what is left of such a one is removed.
 */
export async function initialise(where: DataDirectory, signal?: AbortSignal): Promise<void> {
  const { dataDirectory, user } = where;
  await removeUnfinished(dataDirectory, signal);
  if (existsSync(join(dataDirectory, 'PG_VERSION'))) {
    checkVersion(where);
    return ownFolder(dataDirectory, user);
  }
  if (existsSync(dataDirectory) && readdirSync(dataDirectory).length > 0) {
    throw new Error(
      `${dataDirectory} holds files, but no PostgreSQL data. Move them away, then start again.`,
    );
  }
  const draft = `${dataDirectory}.new-${randomBytes(4).toString('hex')}`;
  ownFolder(draft, user);
  await initdb(where, draft, signal);
  rmSync(dataDirectory, { recursive: true, force: true });
  renameSync(draft, dataDirectory);
  fsyncFolder(dirname(dataDirectory));
}

/** A data directory of another major version cannot be opened; PostgreSQL's own message would not say what to do. */
function checkVersion({ binaries, dataDirectory }: DataDirectory): void {
  const found = readFileSync(join(dataDirectory, 'PG_VERSION'), 'utf8').trim();
  // Its catalog's first line: '# PostgreSQL 18'.
  const catalog = readFileSync(join(binaries, 'share', 'postgresql', 'postgres.bki'), 'latin1');
  const wanted = /^# PostgreSQL (\d+)/.exec(catalog)?.[1];
  if (found === wanted) return;
  throw new Error(
    `${dataDirectory} was made by PostgreSQL ${found}; this Headgate has ${wanted}. ` +
      'Dump it with the Headgate that made it, or set DATABASE_URL to a server of your own.',
  );
}

async function removeUnfinished(dataDirectory: string, signal?: AbortSignal): Promise<void> {
  const prefix = `${basename(dataDirectory)}.new-`;
  for (const name of readdirSync(dirname(dataDirectory))) {
    if (!name.startsWith(prefix)) continue;
    const draft = join(dirname(dataDirectory), name);
    // Whoever began it was killed; its initdb got SIGINT at that moment, and may need some more.
    if (!(await waitUntilNobodyIsIn(draft, 5000, signal))) killAll(draft, 'SIGKILL');
    rmSync(draft, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function initdb({ binaries, user }: DataDirectory, draft: string, signal?: AbortSignal): Promise<void> {
  let output = '';
  const program = await supervise({
    command: join(binaries, 'bin', 'initdb'),
    args: [
      ...['--pgdata', draft, '--username', SUPERUSER, '--auth', 'trust', '--no-instructions'],
      ...['--sync-method', SYNC_METHOD],
      // The same order and case rules on every machine, whatever locales it has.
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
 * Ends what still runs in the data directory, and removes what says that something does. After `kill -9` of a postmaster
 * its backends end by themselves within moments, and a new one refuses to start until they have.
 */
export async function clearDataDirectory(
  { dataDirectory }: DataDirectory,
  socketFiles: string[],
  log: ProcessLog,
  signal?: AbortSignal,
): Promise<void> {
  const pidFile = join(dataDirectory, 'postmaster.pid');
  const pid = readPid(pidFile);
  // The pid alone proves nothing: after a crash it may be another program's by now.
  if (pid !== undefined && processesIn(dataDirectory).includes(pid)) {
    log.warn({ pid }, 'PostgreSQL of an earlier start still runs: ending it');
    await shutDown(dataDirectory, pid, FAST_SHUTDOWN_OF_LEFTOVER_MS, signal);
  }
  if (!(await waitUntilNobodyIsIn(dataDirectory, IMMEDIATE_SHUTDOWN_MS, signal))) {
    log.warn(
      { pids: processesIn(dataDirectory) },
      'processes of PostgreSQL did not end by themselves: killing them',
    );
    killAll(dataDirectory, 'SIGKILL');
    if (!(await waitUntilNobodyIsIn(dataDirectory, 5000, signal))) {
      throw new Error(
        `Processes ${processesIn(dataDirectory).join(', ')} are in ${dataDirectory} and cannot be ended.`,
      );
    }
  }
  for (const path of [pidFile, ...socketFiles]) rmSync(path, { force: true });
}

/**
 * Ends a postmaster: fast, then immediate, then by force; each with a bound. Its exit is seen by its working directory,
 * because it need not be a child of this process.
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
    if (!processesIn(dataDirectory).includes(pid)) return;
    sendSignal(pid, how);
    while (performance.now() < until) {
      if (!processesIn(dataDirectory).includes(pid)) return;
      await delay(10, undefined, { signal });
    }
  }
}

function killAll(directory: string, how: NodeJS.Signals): void {
  for (const pid of processesIn(directory)) sendSignal(pid, how);
}

function sendSignal(pid: number, how: NodeJS.Signals): void {
  try {
    process.kill(pid, how);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function readPid(pidFile: string): number | undefined {
  const pid = Number.parseInt(readIfThere(pidFile).split('\n')[0] ?? '', 10);
  return pid > 0 ? pid : undefined;
}

/** The status line of `postmaster.pid` (its 8th), when the file is that of our postmaster. */
export function postmasterStatus(dataDirectory: string, pid: number): string | undefined {
  const lines = readIfThere(join(dataDirectory, 'postmaster.pid')).split('\n');
  return Number(lines[0]) === pid ? lines[7]?.trim() : undefined;
}

function readIfThere(path: string): string {
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
