/** The agent's side of one DuckDB process: starts it, speaks with it, notices its death. */
import { type Child, describeExit, startChild } from '../confinement/child-process.ts';
import type { Confinement } from '../confinement/confinement.ts';
import type { WatchedProcess } from '../confinement/memory-watch.ts';
import type { DatabaseMessage, DatabaseRequest, DatabaseSettings } from './duckdb-messages.ts';

const startTimeoutMilliseconds = 20_000;
const endTimeoutMilliseconds = 6_000;

interface Waiting {
  connection: number;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Numbered = Exclude<DatabaseRequest, { type: 'start' | 'end' }>;
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

interface ProcessBounds {
  confinement: Confinement;
  processMegabytes: number;
  /** Runs at one time. */
  concurrency: number;
}

export class DatabaseProcess {
  /** Rejects, in the user's words, when the database cannot be opened. */
  readonly opened: Promise<void>;
  /** Settles when the process is gone, however. */
  readonly ended: Promise<void>;
  readonly #child: Child;
  readonly #memory: WatchedProcess;
  readonly #bounds: ProcessBounds;
  readonly #waiting = new Map<number, Waiting>();
  /** The connections that a death was told to. */
  readonly #told = new Set<number>();
  #lastId = 0;
  #death: Error | undefined;
  #killedFor: string | undefined;

  constructor(settings: DatabaseSettings, bounds: ProcessBounds) {
    this.#bounds = bounds;
    this.#child = startChild(new URL('./duckdb-process.ts', import.meta.url), {
      launcher: bounds.confinement.launcher,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // DuckDB's statements block a thread of libuv each.
      environment: { UV_THREADPOOL_SIZE: String(Math.min(1024, bounds.concurrency + 4)) },
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
    // Whoever waits for it gets the error; nobody may.
    this.opened.catch(() => undefined);
  }

  get alive(): boolean {
    return this.#death === undefined;
  }

  /**
   * The death of this process, for a connection that has not met it in an answer: it lost its session, and
   * with it its transaction.
   */
  takeDeathFor(connection: number): Error | undefined {
    return this.#told.has(connection) ? undefined : this.#death;
  }

  /** @throws Error with DuckDB's own message, or one that says what became of the process. */
  async ask(request: WithoutId<Numbered>): Promise<unknown> {
    if (this.#death) throw this.#death;
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { connection: request.connection, resolve, reject });
      this.#send({ ...request, id } as Numbered);
    });
  }

  /** Ends in order (the database is checkpointed), or is killed at the bound. */
  async end(): Promise<void> {
    if (!this.alive) return;
    this.#send({ type: 'end' });
    const bound = setTimeout(() => this.#child.kill(), endTimeoutMilliseconds);
    await this.ended;
    clearTimeout(bound);
  }

  /** @param why what those are told whose statements end with it */
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
    if (message.type === 'answer') waiting?.resolve(message.value);
    else waiting?.reject(new Error(message.message));
  }

  #send(request: DatabaseRequest): void {
    // A failed send means that the process is ending: its exit answers all who wait.
    this.#child.process.send(request, () => undefined);
  }

  #die(how: string): void {
    if (this.#death) return;
    const said = this.#child.stderrTail().trim().split('\n').at(-1);
    const why = this.#killedFor ?? `the warehouse’s process ${how}${said ? ` (${said})` : ''}; run it again`;
    this.#death = new Error(this.#memory.exceeded ? describeMemoryDeath(this.#bounds.processMegabytes) : why);
    for (const waiting of this.#waiting.values()) {
      this.#told.add(waiting.connection);
      waiting.reject(this.#death);
    }
    this.#waiting.clear();
  }
}

/** Which statement took the memory is not known: DuckDB counts only a part of it, and not by statement. */
function describeMemoryDeath(processMegabytes: number): string {
  return `the warehouse’s process took more than ${processMegabytes} MB of memory and was ended, with every statement that was running in this environment: make the queries smaller, or raise HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB of the agent`;
}
