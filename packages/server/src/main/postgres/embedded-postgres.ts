// The embedded PostgreSQL: a real server on a unix socket, kept running as long as this process.
//
// Terminology
//   postmaster  PostgreSQL's first process; the backends are its children. The data directory is the working
//               directory of all of them.
//   supervisor  the shell between this process and the postmaster (postgres-supervisor.ts)
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createLogWriter, type LogWriter } from '@headgate/contract/log-writer';
import { Client } from 'pg';
import { systemClock } from '../../kernel/clock.ts';
import { createFailureLog, type FailureLog } from '../../kernel/failure-log.ts';
import type { ProcessLog } from '../host/process-log.ts';
import { createRotatingFile } from '../host/rotating-file.ts';
import {
  clearDataDirectory,
  type DataDirectory,
  initializeDataDirectory,
  readPostmasterStatus,
  SUPERUSER,
  shutDown,
} from './postgres-data-directory.ts';
import { type Supervised, supervise } from './postgres-supervisor.ts';

/** Only part of the socket's name: PostgreSQL does not listen on TCP. */
const PORT = 5432;
const DATABASE = 'headgate';
/** Recovery after a crash reads at most `max_wal_size` of log. */
const READY_WITHIN_MS = 300_000;
const LOG_BYTES = 5_000_000;
const LOG_CLOSE_MS = 2000;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 5000;
/** A postmaster that was ready for this long is restarted without a growing delay. */
const STEADY_MS = 30_000;

export interface EmbeddedPostgresOptions extends DataDirectory {
  socketDirectory: string;
  log: ProcessLog;
  /** Aborts the start. */
  signal?: AbortSignal | undefined;
}

export type PostgresState = 'starting' | 'ready' | 'down' | 'stopped';

/**
 * Starts PostgreSQL with the database `headgate`. Resolves when it accepts connections. The caller must
 * hold the instance lock: two of these on one data directory would stop each other's server.
 * @throws with the end of PostgreSQL's log if it does not start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await initializeDataDirectory(options, options.signal);
  const postgres = new EmbeddedPostgres(options);
  await postgres.start();
  return postgres;
}

export class EmbeddedPostgres {
  readonly socketDirectory: string;
  readonly port = PORT;
  readonly superuser = SUPERUSER;
  readonly database = DATABASE;
  readonly logFile: string;

  readonly #options: EmbeddedPostgresOptions;
  readonly #listeners = new Set<(state: PostgresState) => void>();
  readonly #stopping = new AbortController();
  #state: PostgresState = 'starting';
  #postmaster: Supervised | undefined;
  #keeping: Promise<void> = Promise.resolve();
  #lastOutput = '';
  readonly #output: LogWriter;
  readonly #failures: FailureLog;

  constructor(options: EmbeddedPostgresOptions) {
    this.#options = options;
    this.socketDirectory = options.socketDirectory;
    this.logFile = join(dirname(options.dataDirectory), 'postgres.log');
    this.#failures = createFailureLog(options.log, systemClock);
    this.#output = createLogWriter({
      target: createRotatingFile(this.logFile, LOG_BYTES),
      onFailure: (reason) =>
        options.log.warn({ file: this.logFile, reason }, "PostgreSQL's own log cannot be written"),
      lostNotice: (lines, reason) => `headgate: ${lines} lines of this log were lost: ${reason}\n`,
    });
  }

  get state(): PostgresState {
    return this.#state;
  }

  /** The pid of the postmaster; undefined while none runs. */
  get pid(): number | undefined {
    return this.#postmaster?.pid;
  }

  /** @returns a function that removes the listener */
  onChange(listener: (state: PostgresState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A URL whose `host` parameter is the path of the socket folder. */
  connectionUrl(database: string = DATABASE): string {
    const host = encodeURIComponent(this.socketDirectory);
    return `postgresql://${SUPERUSER}@localhost:${PORT}/${database}?host=${host}`;
  }

  /** Called once, by `startEmbeddedPostgres`. */
  async start(): Promise<void> {
    const { signal } = this.#options;
    try {
      await this.#launch(signal);
      await this.#createDatabase();
    } catch (error) {
      await this.#end();
      throw error;
    }
    this.#keeping = this.#keepRunning();
  }

  /** Stops PostgreSQL: fast, then by force after a time limit. Resolves when all its processes have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#keeping;
    await this.#end();
    await this.#output.close(LOG_CLOSE_MS);
    this.#become('stopped');
  }

  async #end(): Promise<void> {
    const postmaster = this.#postmaster;
    if (!postmaster) return;
    await shutDown(this.#options.dataDirectory, postmaster.pid);
    postmaster.end();
    await postmaster.ended;
    this.#postmaster = undefined;
  }

  /** Removes what an earlier server left, starts the postmaster, and waits until it is ready. */
  async #launch(signal: AbortSignal | undefined): Promise<void> {
    const { dataDirectory, binaries, user, log } = this.#options;
    const socket = join(this.socketDirectory, `.s.PGSQL.${PORT}`);
    await clearDataDirectory(this.#options, [socket, `${socket}.lock`], log, signal);
    this.#lastOutput = '';
    const settings = {
      listen_addresses: '',
      port: String(PORT),
      unix_socket_directories: `"${this.socketDirectory.replaceAll('"', '""')}"`,
      unix_socket_permissions: '0700',
      logging_collector: 'off',
    };
    this.#postmaster = await supervise({
      command: join(binaries, 'bin', 'postgres'),
      args: [
        '-D',
        dataDirectory,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      cwd: dataDirectory,
      user,
      onOutput: (text) => {
        this.#lastOutput = (this.#lastOutput + text).slice(-4000);
        this.#output.write(text);
      },
    });
    await this.#waitUntilReady(this.#postmaster, signal);
    this.#become('ready');
  }

  async #waitUntilReady(postmaster: Supervised, signal: AbortSignal | undefined): Promise<void> {
    const { dataDirectory } = this.#options;
    let over = false;
    void postmaster.ended.then(() => {
      over = true;
    });
    const until = performance.now() + READY_WITHIN_MS;
    while (readPostmasterStatus(dataDirectory, postmaster.pid) !== 'ready') {
      if (over)
        throw new Error(`PostgreSQL ended while starting. The end of its log:\n${this.#lastOutput.trim()}`);
      if (performance.now() > until) {
        throw new Error(
          `PostgreSQL was not ready within ${READY_WITHIN_MS / 1000} s. Its log: ${this.logFile}`,
        );
      }
      await delay(3, undefined, { signal });
    }
  }

  async #createDatabase(): Promise<void> {
    const client = new Client({
      host: this.socketDirectory,
      port: PORT,
      user: SUPERUSER,
      database: 'postgres',
      connectionTimeoutMillis: 10_000,
    });
    client.on('error', () => {});
    await client.connect();
    try {
      const { rowCount } = await client.query('select datname from pg_database where datname = $1', [
        DATABASE,
      ]);
      if (rowCount === 0) await client.query(`create database ${DATABASE}`);
    } finally {
      await client.end();
    }
  }

  /** Restarts the postmaster when it ends unexpectedly, with growing delays. */
  async #keepRunning(): Promise<void> {
    const { signal } = this.#stopping;
    const { log, dataDirectory } = this.#options;
    let wait = FIRST_RETRY_MS;
    while (!signal.aborted) {
      const readySince = performance.now();
      const how = await this.#endOrStop();
      if (signal.aborted) return;
      this.#become('down');
      log.error(
        { ...how, last: this.#lastOutput.slice(-500) },
        'PostgreSQL ended unexpectedly; restarting it',
      );
      if (performance.now() - readySince > STEADY_MS) wait = FIRST_RETRY_MS;
      while (!signal.aborted && this.#state !== 'ready') {
        try {
          await delay(wait, undefined, { signal });
          this.#become('starting');
          await this.#launch(signal);
          this.#failures.recordSuccess('PostgreSQL');
          log.info({ pid: this.pid }, 'PostgreSQL is ready again');
        } catch (error) {
          if (signal.aborted) return;
          this.#become('down');
          this.#failures.recordFailure('PostgreSQL', error, 'PostgreSQL failed to start; retrying', {
            dataDirectory,
          });
        }
        wait = Math.min(wait * 2, LAST_RETRY_MS);
      }
    }
  }

  /** Resolves when the postmaster or its supervisor has ended, or when `stop` was called. */
  async #endOrStop(): Promise<Record<string, unknown>> {
    const { signal } = this.#stopping;
    const stopped = new Promise<Record<string, unknown>>((resolve) => {
      if (signal.aborted) resolve({});
      signal.addEventListener('abort', () => resolve({}), { once: true });
    });
    return await Promise.race([stopped, this.#postmaster?.ended ?? stopped]);
  }

  #become(state: PostgresState): void {
    if (this.#state === state || this.#state === 'stopped') return;
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }
}
