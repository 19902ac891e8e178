/**
 * Access to PostgreSQL for the rest of the server.
 *
 * Terminology
 *   statement     SQL with named parameters, declared once, named by a digest of its text and prepared once per
 *                 connection
 *   read          one statement outside a transaction, or two in one trip
 *   transaction   statements on one connection, buffered until something awaits a result, then sent in one trip,
 *                 in order. Statements that nothing awaits are sent with the commit (docs/adr/0003). After a
 *                 failure PostgreSQL skips the rest of the trip, and the commit is a rollback.
 *   trip          one round trip. Concurrent reads share one, and so do writes that need only one
 *                 (docs/adr/0020)
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { markLoop } from '../event-loop.ts';
import type { Problem } from '../http/problems.ts';
import { type Hearing, type Listening, listenOn, onOwnConnection } from './own-connection.ts';
import {
  type BoundedRead,
  listEventAccounts,
  type Opening,
  PipelinedTransaction,
  type Read,
  RowsTooLarge,
  type Transaction,
  toSend,
} from './transaction.ts';
import { Batch, type Sent } from './trips/batch.ts';
import { isConnectionSpent } from './trips/database-error.ts';
import { createSharedReads, createSharedWrites } from './trips/shared-trips.ts';
import type { Statement } from './trips/statement.ts';

export type { Hearing } from './own-connection.ts';
export {
  type BoundedRead,
  type Opening,
  type Read,
  RowsTooLarge,
  type Transaction,
  toSend,
} from './transaction.ts';
export { conflictCode, isDatabaseError, isDiskFull, isUnavailable } from './trips/database-error.ts';
export {
  type ColumnTypes,
  type ParametersOf,
  type ParameterTypes,
  type RowOf,
  typed,
} from './trips/sql-types.ts';
export {
  insertStatement,
  passingStatement,
  type Statement,
  statement,
} from './trips/statement.ts';

// Counters, sizes and versions are bigint in tables, and fit a JavaScript number.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export interface Database {
  read: BoundedRead;
  /**
   * Runs two reads in one trip. Each takes the parameters that it declares. Throws `RowsTooLarge` if the rows of the
   * second one have more characters than `mostCharacters`.
   */
  readBoth<One, Other, Parameters>(
    one: Statement<One, Parameters>,
    other: Statement<Other, Parameters>,
    parameters: NoInfer<Parameters>,
    mostCharacters?: number,
  ): Promise<[One[], Other[]]>;
  /**
   * Runs `work` in one transaction and commits it. Statements that are still buffered when `work` returns are
   * sent with the commit. If a statement or `work` fails, everything is rolled back, the failure is thrown,
   * and `afterCommit` effects do not run. `opening` is called before the first trip and returns the statement
   * to send first.
   */
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result> | Result,
    opening?: Opening,
  ): Promise<Result>;
  /** Listens on a separate connection, which is reopened when it breaks or stops responding. */
  listen(channel: string, hearing: Hearing): Promise<Listening>;
  /** Runs `work` on a separate connection. Closing it releases its session locks. */
  alone<Result>(work: (read: Read) => Promise<Result>): Promise<Result>;
  /** Calls `listener` with an account after each commit that may have written events of it. */
  watchEvents(listener: (accountId: string) => void): void;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  connection: pg.ClientConfig;
  /** The maximum, at least 2: one for shared writes, the rest for everything else. */
  connections: number;
  /** How long a request waits for a free connection before it gets a 503. */
  patienceMilliseconds: number;
  /** How often the LISTEN connection is tested. */
  keepAliveMilliseconds?: number;
  onConnectionError(failure: Error): void;
}

const defaultKeepAliveMilliseconds = 10_000;
/** After a failover a connection may still lead to the old server, so connections are closed at this age. */
const connectionSeconds = 600;

/** A shared write that waits longer for a lock is rolled back and repeated alone. */
const lockPatienceMilliseconds = 50;

export function openDatabase(options: DatabaseOptions): Database {
  const pool = openPool(options, { max: options.connections - 1 });
  // One connection is enough for the shared writes of a server, and two groups of writes could wait for each
  // other.
  const writer = openPool(options, { max: 1, lock_timeout: lockPatienceMilliseconds });
  const sendAlone = (items: readonly Sent[]) => sendOn(pool, items);
  const sendRead = createSharedReads(sendAlone);
  const sendWrite = createSharedWrites({ together: (items) => sendOn(writer, items), alone: sendAlone });

  const eventListeners: ((accountId: string) => void)[] = [];
  function announceEvents(committed: readonly Sent[]): void {
    if (committed.length === 0 || eventListeners.length === 0) return;
    for (const accountId of listEventAccounts(committed))
      for (const listener of eventListeners) listener(accountId);
  }

  // When the server stops, pending statements may still wait for a connection.
  let underWay = 0;
  let onIdle: () => void = () => undefined;

  async function trackUse<Result>(work: () => Promise<Result>): Promise<Result> {
    underWay += 1;
    try {
      return await work();
    } finally {
      underWay -= 1;
      if (underWay === 0) onIdle();
    }
  }

  async function close(): Promise<void> {
    if (underWay > 0) {
      const resting = new Promise<void>((resolve) => {
        onIdle = resolve;
      });
      await Promise.race([resting, delay(options.patienceMilliseconds, undefined, { ref: false })]);
    }
    await Promise.all([pool.end(), writer.end()]);
  }

  async function read<Row, Parameters>(
    query: Statement<Row, Parameters>,
    parameters: NoInfer<Parameters>,
    mostCharacters?: number,
  ): Promise<Row[]> {
    const sent = toSend(query, parameters, mostCharacters);
    await trackUse(() => sendRead([sent]));
    markLoop('rows of the database');
    if (sent.isTooLarge) throw new RowsTooLarge();
    if (query.writesEvents) announceEvents([sent]);
    return sent.rows as Row[];
  }

  async function readBoth<One, Other, Parameters>(
    one: Statement<One, Parameters>,
    other: Statement<Other, Parameters>,
    parameters: NoInfer<Parameters>,
    mostCharacters?: number,
  ): Promise<[One[], Other[]]> {
    const first = toSend(one, parameters);
    const second = toSend(other, parameters, mostCharacters);
    await trackUse(() => sendRead([first, second]));
    if (second.isTooLarge) throw new RowsTooLarge();
    return [first.rows as One[], second.rows as Other[]];
  }

  async function transaction<Result>(
    work: (tx: Transaction) => Promise<Result> | Result,
    opening?: Opening,
  ): Promise<Result> {
    const tx = new PipelinedTransaction(() => pool.connect(), sendWrite, opening);
    try {
      let result: Result;
      try {
        result = await work(tx);
      } catch (failure) {
        await tx.rollback();
        throw tx.failed ? tx.failure() : failure;
      }
      await tx.commit();
      if (tx.failed) throw tx.failure();
      for (const effect of tx.effects) effect();
      announceEvents(tx.writing);
      return result;
    } finally {
      tx.release();
    }
  }

  return {
    read,
    readBoth,
    transaction: (work, opening) => trackUse(() => transaction(work, opening)),
    listen: (channel, hearing) =>
      listenOn({ keepAliveMilliseconds: defaultKeepAliveMilliseconds, ...options }, channel, hearing),
    alone: (work) => onOwnConnection(options, work),
    watchEvents: (listener) => void eventListeners.push(listener),
    close,
  };
}

function openPool(options: DatabaseOptions, own: Pick<pg.PoolConfig, 'max' | 'lock_timeout'>): pg.Pool {
  const pool = new pg.Pool({
    ...options.connection,
    min: 1,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: connectionSeconds,
    keepAlive: true,
    connectionTimeoutMillis: options.patienceMilliseconds,
    application_name: 'headgate',
    ...own,
  });
  pool.on('error', options.onConnectionError);
  // A connection that breaks fails the statement in progress. Without this listener it would also end the
  // process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

function sendOn(pool: pg.Pool, items: readonly Sent[]): Promise<void> {
  return new Promise((resolve, reject) => {
    pool.connect((refused, client) => {
      if (client === undefined) return reject(refused);
      const batch = new Batch(items, (failure) => {
        client.release(failure !== undefined && isConnectionSpent(failure) ? failure : undefined);
        if (failure === undefined) resolve();
        else reject(failure);
      });
      client.query(batch as never);
    });
  });
}

/** Returns the first row. Throws `missing` if there is none. */
export function requireRow<Row>(rows: readonly Row[], missing: () => Problem): Row {
  const [row] = rows;
  if (row === undefined) throw missing();
  return row;
}
