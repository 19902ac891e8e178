/**
 * The DuckDB warehouse: one database file and one process per environment. The process is started on demand,
 * ended when idle, and restarted after a crash. Its SQL is confined by `duckdb-confinement.ts`.
 */
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type EnvironmentPlace, makePrivateFolder } from '../host/folders.ts';
import { getReason } from '../log.ts';
import { DatabaseProcess } from './duckdb-database.ts';
import type { ScratchRequest } from './duckdb-messages.ts';
import { leavesState } from './session-state.ts';
import type {
  ReadBounds,
  ReadingConnection,
  ReadRows,
  WarehouseConnection,
  WarehouseDriver,
  WarehouseSettings,
} from './warehouse.ts';

const closeTimeoutMilliseconds = 10_000;
const lostScratch =
  'the warehouse’s process has ended, and with it the scratch database of the test: start the test again';
const stuckQuery =
  'an earlier query of this environment has not stopped, although its time is over: try again later; it ends at the latest when nothing uses the warehouse';
const lostState =
  'the warehouse’s process has ended, and with it the temporary tables and settings of this run: start the run again';

export function createDuckdbDriver(settings: WarehouseSettings): WarehouseDriver {
  const environments = new Map<string, EnvironmentDatabase>();
  function getEnvironment(place: EnvironmentPlace): EnvironmentDatabase {
    const key = settings.folders.database(place);
    const environment = environments.get(key) ?? new EnvironmentDatabase(place, settings);
    environments.set(key, environment);
    return environment;
  }
  return {
    connect: (place) => getEnvironment(place).connect(),
    connectReading: (place) => getEnvironment(place).connectReading(),
    connectScratch: (place, filesFolder) => getEnvironment(place).connect({ filesFolder }),
    async remove(place) {
      const environment = environments.get(settings.folders.database(place));
      if (environment?.isInUse) return false;
      // Only one process can open the file: a late connection waits for the end of this one.
      await environment?.close();
      const file = settings.folders.database(place);
      for (const left of [file, `${file}.wal`, settings.folders.warehouseTemporary(place)])
        await rm(left, { recursive: true, force: true });
      return true;
    },
    async close() {
      await Promise.all([...environments.values()].map((environment) => environment.close()));
    },
  };
}

type Statement =
  | { type: 'execute'; sql: string }
  | { type: 'query'; sql: string; maxRows: number }
  | { type: 'read'; sql: string; bounds: ReadBounds };

class EnvironmentDatabase {
  readonly #place: EnvironmentPlace;
  readonly #settings: WarehouseSettings;
  #process: Promise<DatabaseProcess> | undefined;
  #lastConnection = 0;
  readonly #open = new Set<number>();
  /** The connections of queries that go on after their time. */
  readonly #stuck = new Set<number>();
  #idle: NodeJS.Timeout | undefined;

  constructor(place: EnvironmentPlace, settings: WarehouseSettings) {
    this.#place = place;
    this.#settings = settings;
  }

  /**
   * A connection survives the death of its process: one statement fails, so that the rest of a transaction
   * does not take effect alone, and the next one starts a new process with a new session. A test does not go
   * on: its scratch database is gone. Nor does a run that had temporary tables or settings: without them a
   * retry may succeed and write something else.
   */
  async connect(scratch?: ScratchRequest): Promise<WarehouseConnection & ReadingConnection> {
    const connection = ++this.#lastConnection;
    this.#open.add(connection);
    clearTimeout(this.#idle);
    let database: DatabaseProcess | undefined;
    let wasOpen = false;
    let hasState = false;
    let closing: Promise<void> | undefined;
    const checkOpen = () => {
      if (!this.#open.has(connection)) throw new Error('this connection to the warehouse is closed');
    };
    const openProcess = async (): Promise<DatabaseProcess> => {
      checkOpen();
      if (database?.alive) return database;
      const death = database?.takeDeathFor(connection);
      database = undefined;
      if (death) throw death;
      if (scratch !== undefined && wasOpen) throw new Error(lostScratch);
      if (hasState) throw new Error(lostState);
      database = await this.#openOn(connection);
      if (scratch !== undefined) await this.#enterScratch(database, connection, scratch);
      wasOpen = true;
      return database;
    };
    const ask = async (request: Statement, limit: AbortSignal | undefined): Promise<unknown> => {
      const open = await openProcess();
      // The first statement opens the connection in the process, so that none is sent after its end.
      checkOpen();
      const answer = await this.#askWithin(open, { ...request, connection }, limit);
      hasState ||= leavesState(request.sql);
      return answer;
    };
    try {
      await openProcess();
    } catch (error) {
      this.#forget(connection);
      throw error;
    }
    const queryText: WarehouseConnection['queryText'] = async (sql, maxRows, _session, limit) =>
      (await ask({ type: 'query', sql, maxRows }, limit)) as string;
    return {
      execute: async (sql, _session, limit) =>
        (await ask({ type: 'execute', sql }, limit)) as { rowCount: number },
      query: async (...requests) => JSON.parse(await queryText(...requests)),
      queryText,
      read: async (sql, bounds, limit) => (await ask({ type: 'read', sql, bounds }, limit)) as ReadRows,
      close: () => {
        closing ??= this.#closeConnection(connection, database, scratch !== undefined);
        return closing;
      },
    };
  }

  async connectReading(): Promise<ReadingConnection> {
    if (this.#stuck.size > 0) throw new Error(stuckQuery);
    return this.connect();
  }

  get isInUse(): boolean {
    return this.#open.size > 0;
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#process;
    if (!running) return;
    // Only one process can open the file, so the next connection waits for the end.
    this.#process = running.then(async (database) => {
      await database.end();
      return database;
    });
    await this.#process.catch(() => undefined);
  }

  /** Restarts the process once if the database does not answer a trivial query. */
  async #openOn(connection: number): Promise<DatabaseProcess> {
    const request = { type: 'open', connection } as const;
    const first = await this.#running();
    // The first statement opens the connection, unless there is something to check before.
    if (first.isHealthy) return first;
    try {
      await first.ask(request);
      return first;
    } catch (error) {
      // A broken database repeats the original error, which may quote a statement.
      const reason = getReason(error).split('Original error')[0];
      this.#settings.log.warn('warehouse process restarted', { ...this.#place, reason });
      await first.end();
      const second = await this.#running();
      await second.ask(request);
      return second;
    }
  }

  /** A failure does not restart the process, which other runs use. */
  async #enterScratch(database: DatabaseProcess, connection: number, scratch: ScratchRequest): Promise<void> {
    try {
      await database.ask({ type: 'enter-scratch', connection, scratch });
    } catch (error) {
      if (database.alive) await this.#closeOn(database, connection);
      throw error;
    }
  }

  /**
   * `limit` interrupts the statement. If a statement of a run ignores that, the process is killed. A query goes on:
   * the statements of runs beside it are worth more.
   */
  async #askWithin(
    database: DatabaseProcess,
    request: Parameters<DatabaseProcess['askInterruptibly']>[0],
    limit: AbortSignal | undefined,
  ): Promise<unknown> {
    limit?.throwIfAborted();
    const { answer, interrupt } = database.askInterruptibly(request);
    const stuck = Promise.withResolvers<never>();
    let bound: NodeJS.Timeout | undefined;
    const end = () => {
      interrupt();
      bound = setTimeout(() => {
        if (request.type === 'read') {
          this.#leaveBehind(database, request.connection, answer);
          return stuck.reject(new Error('the query did not stop when its time was over'));
        }
        this.#settings.log.warn('a statement did not stop; killing the warehouse process', {
          ...this.#place,
        });
        database.kill(
          'the warehouse’s process was killed because a statement whose time ran out did not stop: start the run again',
        );
      }, closeTimeoutMilliseconds);
    };
    limit?.addEventListener('abort', end);
    try {
      return await Promise.race([answer, stuck.promise]);
    } finally {
      limit?.removeEventListener('abort', end);
      clearTimeout(bound);
    }
  }

  /** It ends by itself, or with the process when nothing uses the warehouse. */
  #leaveBehind(database: DatabaseProcess, connection: number, answer: Promise<unknown>): void {
    this.#settings.log.warn('a query did not stop; it goes on until the warehouse is idle', {
      ...this.#place,
    });
    this.#stuck.add(connection);
    const end = () => {
      this.#stuck.delete(connection);
      database.leave(connection);
    };
    answer.then(end, end);
  }

  async #closeConnection(
    connection: number,
    database: DatabaseProcess | undefined,
    isScratch: boolean,
  ): Promise<void> {
    this.#forget(connection);
    if (this.#stuck.has(connection)) return;
    if (!database?.alive || (!isScratch && database.leave(connection))) return;
    await this.#closeOn(database, connection);
  }

  /** Kills the process if a statement ignores the interrupt, so that no statement runs forever. */
  async #closeOn(database: DatabaseProcess, connection: number): Promise<void> {
    const bound = setTimeout(() => {
      this.#settings.log.warn('a statement did not stop; killing the warehouse process', { ...this.#place });
      database.kill(
        'the warehouse’s process was killed because a cancelled statement of another run did not stop: start the run again',
      );
    }, closeTimeoutMilliseconds);
    await database.ask({ type: 'close', connection }).catch(() => undefined);
    clearTimeout(bound);
  }

  #running(): Promise<DatabaseProcess> {
    const previous = this.#process;
    const next = (async () => {
      const database = await previous?.catch(() => undefined);
      return database?.alive ? database : this.#start();
    })();
    this.#process = next;
    return next;
  }

  async #start(): Promise<DatabaseProcess> {
    const { folders, bounds, confinement, concurrency, log } = this.#settings;
    const databaseFile = folders.database(this.#place);
    const temporaryFolder = folders.warehouseTemporary(this.#place);
    const artifactFolder = folders.projectArtifacts(this.#place.projectId);
    const filesFolder = folders.files(this.#place);
    // Files of tests that an agent which was killed left behind.
    for (const left of [temporaryFolder, folders.testFiles(this.#place)])
      await rm(left, { recursive: true, force: true });
    for (const folder of [dirname(databaseFile), temporaryFolder, filesFolder])
      await makePrivateFolder(folder);
    await mkdir(artifactFolder, { recursive: true, mode: 0o555 });
    log.debug('warehouse process started', { ...this.#place });
    const database = new DatabaseProcess(
      {
        databaseFile,
        temporaryFolder,
        filesFolder,
        allowedFolders: [artifactFolder, filesFolder],
        memoryMegabytes: bounds.memoryMegabytes,
        processMegabytes: bounds.processMegabytes,
        threads: bounds.threads,
        temporaryMegabytes: bounds.temporaryMegabytes,
      },
      { confinement, processMegabytes: bounds.processMegabytes, concurrency },
    );
    await database.opened;
    return database;
  }

  #forget(connection: number): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    this.#idle = setTimeout(() => void this.close(), this.#settings.bounds.idleSeconds * 1_000).unref();
  }
}
