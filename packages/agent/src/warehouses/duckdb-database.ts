/** The agent's side of one DuckDB process: starts it, sends requests and detects its death. */
import { dirname } from 'node:path';
import { type Child, describeExit, startChild } from '../confinement/child-process.ts';
import type { Confinement } from '../confinement/confinement.ts';
import type { WatchedProcess } from '../confinement/memory-watch.ts';
import type { DatabaseMessage, DatabaseRequest, DatabaseSettings } from './duckdb-messages.ts';

/** More than the process waits for the file. */
const startTimeoutMilliseconds = 90_000;
const endTimeoutMilliseconds = 6_000;

interface Waiting {
  type: Numbered['type'];
  connection: number;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Numbered = Exclude<DatabaseRequest, { type: 'start' | 'end' | 'interrupt' | 'leave' }>;
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

interface ProcessBounds {
  confinement: Confinement;
  processMegabytes: number;
  /** Runs at one time. */
  concurrency: number;
}

/** Of jemalloc, which DuckDB has in it: addresses that it keeps would count as memory that is in use. */
const givesMemoryBack = { DUCKDB_JE_MALLOC_CONF: 'retain:false' };

export class DatabaseProcess {
  /** Rejects with a message for the user if the database cannot be opened. */
  readonly opened: Promise<void>;
  /** Resolves when the process is gone for any reason. */
  readonly ended: Promise<void>;
  readonly #child: Child;
  readonly #memory: WatchedProcess;
  readonly #bounds: ProcessBounds;
  readonly #waiting = new Map<number, Waiting>();
  /** The connections that already got the death as an error. */
  readonly #notified = new Set<number>();
  #lastId = 0;
  #isHealthy = false;
  #death: Error | undefined;
  #killedFor: string | undefined;

  constructor(settings: DatabaseSettings, bounds: ProcessBounds) {
    this.#bounds = bounds;
    this.#child = startChild(new URL('./duckdb-process.ts', import.meta.url), {
      launcher: findLauncher(settings, bounds),
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Each running DuckDB statement blocks a thread of libuv. A run may have several.
      environment: {
        UV_THREADPOOL_SIZE: String(Math.min(1024, bounds.concurrency * 2 + 4)),
        ...givesMemoryBack,
      },
      home: settings.temporaryFolder,
      workingFolder: settings.filesFolder,
    });
    const { process: child } = this.#child;
    this.#memory = bounds.confinement.memory.watch(child.pid, bounds.processMegabytes);
    this.ended = new Promise((resolve) => {
      const gone = (how: string) => {
        this.#memory.end();
        this.#die(how);
        resolve();
      };
      child.once('exit', (code, signal) => gone(describeExit(code, signal)));
      child.once('error', (error) => gone(`could not be started: ${error.message}`));
    });
    this.opened = this.#start(settings);
    // Avoids an unhandled rejection if no caller waits for it.
    this.opened.catch(() => undefined);
  }

  get alive(): boolean {
    return this.#death === undefined;
  }

  /** False if its last statement failed: a statement that breaks the database fails. */
  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  /** The death of this process, if the connection has not got it as an error yet. The session is lost. */
  takeDeathFor(connection: number): Error | undefined {
    return this.#notified.has(connection) ? undefined : this.#death;
  }

  /** @throws Error with DuckDB's message, or with a message about the death of the process. */
  ask(request: WithoutId<Numbered>): Promise<unknown> {
    return this.#ask(request, ++this.#lastId);
  }

  /** The same for a statement, which `interrupt` ends. */
  askInterruptibly(request: WithoutId<Extract<Numbered, { sql: string }>>): {
    answer: Promise<unknown>;
    interrupt(): void;
  } {
    const id = ++this.#lastId;
    const { connection } = request;
    return {
      answer: this.#ask(request, id),
      interrupt: () => this.#send({ type: 'interrupt', connection, statement: id }),
    };
  }

  async #ask(request: WithoutId<Numbered>, id: number): Promise<unknown> {
    if (this.#death) throw this.#death;
    return new Promise((resolve, reject) => {
      const { type, connection } = request;
      this.#waiting.set(id, { type, connection, resolve, reject });
      this.#send({ ...request, id } as Numbered);
    });
  }

  /** Closes a connection without waiting for it. Returns false if a statement of it runs or waits. */
  leave(connection: number): boolean {
    for (const waiting of this.#waiting.values()) if (waiting.connection === connection) return false;
    if (this.alive) this.#send({ type: 'leave', connection });
    return true;
  }

  /** Shuts down with a checkpoint. Kills the process if that takes too long. */
  async end(): Promise<void> {
    if (!this.alive) return;
    this.#send({ type: 'end' });
    const bound = setTimeout(() => this.#child.kill(), endTimeoutMilliseconds);
    await this.ended;
    clearTimeout(bound);
  }

  /** @param why the message for statements that end with the process */
  kill(why?: string): void {
    this.#killedFor ??= why;
    this.#child.kill();
  }

  #start(settings: DatabaseSettings): Promise<void> {
    return new Promise((resolve, reject) => {
      const bound = setTimeout(() => {
        this.kill();
        reject(new Error(`the warehouse did not open within ${startTimeoutMilliseconds / 1_000} s`));
      }, startTimeoutMilliseconds);
      const settle = (error?: Error) => {
        clearTimeout(bound);
        if (error) reject(error);
        else resolve();
      };
      this.#child.process.on('message', (message: DatabaseMessage) => {
        if (message.type === 'ready') settle();
        else if (message.type === 'failed') {
          settle(new Error(`the warehouse cannot be opened: ${message.message}`));
          this.kill();
        } else this.#settle(message);
      });
      void this.ended.then(() => settle(this.#death));
      this.#send({ type: 'start', settings });
    });
  }

  #settle(message: Extract<DatabaseMessage, { id: number }>): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (waiting?.type !== 'close') this.#isHealthy = message.type === 'answer';
    if (message.type === 'answer') waiting?.resolve(message.value);
    else waiting?.reject(new Error(message.message));
  }

  #send(request: DatabaseRequest): void {
    // A failed send means that the process is ending; its exit rejects all waiting requests.
    this.#child.process.send(request, () => undefined);
  }

  #die(how: string): void {
    if (this.#death) return;
    const last = this.#child.stderrTail().trim().split('\n').at(-1);
    const why =
      this.#killedFor ?? `the warehouse’s process ${how}${last ? ` (${last})` : ''}: start the run again`;
    this.#death = new Error(this.#memory.exceeded ? describeMemoryDeath(this.#bounds.processMegabytes) : why);
    for (const waiting of this.#waiting.values()) {
      this.#notified.add(waiting.connection);
      waiting.reject(this.#death);
    }
    this.#waiting.clear();
  }
}

/** SQL reads the allowed folders, but writes only the files folder. */
function findLauncher(
  settings: DatabaseSettings,
  { confinement, processMegabytes }: ProcessBounds,
): readonly string[] {
  const { databaseFile, temporaryFolder, filesFolder, allowedFolders } = settings;
  return [
    ...confinement.limitAllocations(processMegabytes),
    ...confinement.launcher,
    ...confinement.limitFolders({
      readable: allowedFolders,
      // The log of the database is a new file beside it.
      writable: [dirname(databaseFile), temporaryFolder, filesFolder],
    }),
  ];
}

/** DuckDB does not count memory by statement, so the message cannot name the statement. */
function describeMemoryDeath(processMegabytes: number): string {
  return `the warehouse’s process exceeded its limit of ${processMegabytes} MB of memory and was killed, with all statements running in this environment: make the queries smaller, or raise HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB of the agent`;
}
