// The embedded PostgreSQL: a real server of our own on a unix socket, kept running for as long as this
// process lives.
//
// Terminology
//   postmaster  PostgreSQL's first process; the backends are its children. All have the data directory as
// working directory
//   supervisor  the shell between this process and the postmaster (postgres-supervisor.ts)
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createLogWriter, type LogWriter } from '@headgate/contract/log-writer';
import { Client } from 'pg';
import { systemClock } from '../../kernel/clock.ts';
import { createFailureLog, type FailureLog } from '../../kernel/failure-log.ts';
import type { ProcessLog } from '../host/process-log.ts';
import { rotatingFile } from '../host/rotating-file.ts';
import {
  clearDataDirectory,
  type DataDirectory,
  initialise,
  postmasterStatus,
  SUPERUSER,
  shutDown,
} from './postgres-data-directory.ts';
import { type Supervised, supervise } from './postgres-supervisor.ts';

/** Only a part of the socket's name: nothing listens on TCP. */
const PORT = 5432;
const DATABASE = 'headgate';
/** Recovery after a crash reads back at most `max_wal_size` of log. */
const READY_WITHIN_MS = 300_000;
const LOG_BYTES = 5_000_000;
const LOG_CLOSE_MS = 2000;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 5000;
/** A postmaster that was ready for this long died by an accident of its own: the next start need not wait. */
const STEADY_MS = 30_000;

export interface EmbeddedPostgresOptions extends DataDirectory {
  socketDirectory: string;
  log: ProcessLog;
  /** Aborting it ends the start. */
  signal?: AbortSignal | undefined;
}

export type PostgresState = 'starting' | 'ready' | 'down' | 'stopped';

/**
 * Starts PostgreSQL, with the database `headgate`, and resolves when it takes connections.
 * The caller holds the instance lock: two of these on one data directory would end each other's server.
 * @throws when it cannot be started, with the end of PostgreSQL's own log
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await initialise(options, options.signal);
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
      target: rotatingFile(this.logFile, LOG_BYTES),
      onFailure: (reason) =>
        options.log.warn({ file: this.logFile, reason }, "PostgreSQL's own log cannot be written"),
      lostNotice: (lines, reason) => `headgate: ${lines} lines of this log were lost: ${reason}\n`,
    });
  }

  get state(): PostgresState {
    return this.#state;
  }

  /** Of the postmaster; undefined while there is none. */
  get pid(): number | undefined {
    return this.#postmaster?.pid;
  }

  /** @returns a function that ends the listening */
  onChange(listener: (state: PostgresState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For whatever reads such a URL; the path of the socket folder is its `host` parameter. */
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

  /** Ends PostgreSQL: fast, with a bound, then by force. Resolves when no process of it is left. */
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

  /** The start procedure: clear what an earlier server left, spawn, wait until it is ready. */
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
    while (postmasterStatus(dataDirectory, postmaster.pid) !== 'ready') {
      if (over)
        throw new Error(`PostgreSQL ended while starting. Its last words:\n${this.#lastOutput.trim()}`);
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

  /** Starts the postmaster again whenever it ends without having been told to, waiting longer each time. */
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
        'PostgreSQL ended unexpectedly: starting it again',
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
          this.#failures.recordFailure(
            'PostgreSQL',
            error,
            'PostgreSQL could not be started; it is tried again',
            {
              dataDirectory,
            },
          );
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
