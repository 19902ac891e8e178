/**
 * PostgreSQL as the rest of the server sees it.
 *
 * Terminology
 *   statement     SQL with named parameters, written once, named by a digest of its text and prepared once
 *                 a connection
 *   read          one statement outside a transaction, or two in one trip
 *   transaction   statements on one connection, gathered until something waits: then all go in one trip, in
 *                 order; what waits for nothing goes with the commit (docs/adr/0003). After a failure the
 *                 rest of a trip does nothing and the commit is a rollback.
 *   trip          reads of one moment share one, and so do writes that are one trip by themselves
 *                 (docs/adr/0020)
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Problem } from '../http/problems.ts';
import { Batch, type Sent } from './batch.ts';
import { isConnectionSpent } from './database-error.ts';
import { type Hearing, type Listening, listenOn, onOwnConnection } from './own-connection.ts';
import { createSharedReads, createSharedWrites } from './shared-trips.ts';
import type { Statement } from './statement.ts';
import { type Opening, PipelinedTransaction, type Read, type Transaction, toSend } from './transaction.ts';

export { conflictCode, isDatabaseError, isDiskFull, isUnavailable } from './database-error.ts';
export type { Hearing } from './own-connection.ts';
export { type ColumnTypes, type ParametersOf, type ParameterTypes, type RowOf, typed } from './sql-types.ts';
export {
  insertStatement,
  listStatements,
  type PreparedStatement,
  type Statement,
  statement,
} from './statement.ts';
export { type Opening, type Read, type Transaction, toSend } from './transaction.ts';

// Counters, sizes and versions are bigint in tables, and fit a number.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export interface Database {
  read: Read;
  /** Two reads in one trip, each with those of the parameters that it names. */
  readBoth<One, Other, Parameters>(
    one: Statement<One, Parameters>,
    other: Statement<Other, Parameters>,
    parameters: NoInfer<Parameters>,
  ): Promise<[One[], Other[]]>;
  /**
   * Runs `work` in one transaction and commits it. What `work` has sent when it returns goes out together
   * with the commit. A failure of any statement, or of `work`, rolls everything back and is thrown; effects
   * of `afterCommit` then never run. `opening` goes before all that `work` sends, and is asked for when the
   * first of it leaves.
   */
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result> | Result,
    opening?: Opening,
  ): Promise<Result>;
  /** A connection of its own that LISTENs; it is opened again whenever it breaks or falls silent. */
  listen(channel: string, hearing: Hearing): Promise<Listening>;
  /** Work on a connection of its own, beside the pools; locks of its session go with it. */
  alone<Result>(work: (read: Read) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  connection: pg.ClientConfig;
  /** At most, at least 2: one takes the writes that are one trip, the others all else. */
  connections: number;
  /** How long a request waits for a free connection before it is answered 503, in milliseconds. */
  patienceMilliseconds: number;
  /** How often the connection that LISTENs is asked whether it still is one. */
  keepAliveMilliseconds?: number;
  onConnectionError(failure: Error): void;
}

const defaultKeepAliveMilliseconds = 10_000;
/**
 * After a failover a connection may lead to a server that is no longer the right one; none is kept for longer
 * than this.
 */
const connectionSeconds = 600;

/** Who waits longer for a lock than this lets the writes of the same trip go, and waits alone. */
const lockPatienceMilliseconds = 50;

export function openDatabase(options: DatabaseOptions): Database {
  const pool = openPool(options, { max: options.connections - 1 });
  // One is enough: a server makes fewer writes than one connection takes, and two groups of writes could wait
  // for each other.
  const writer = openPool(options, { max: 1, lock_timeout: lockPatienceMilliseconds });
  const sendAlone = (items: readonly Sent[]) => sendOn(pool, items);
  const sendRead = createSharedReads(sendAlone);
  const sendWrite = createSharedWrites({ together: (items) => sendOn(writer, items), alone: sendAlone });

  // What is under way when the server stops may wait in a shared trip: it still needs a connection.
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
  ): Promise<Row[]> {
    const sent = toSend(query, parameters);
    await trackUse(() => sendRead([sent]));
    return sent.rows as Row[];
  }

  async function readBoth<One, Other, Parameters>(
    one: Statement<One, Parameters>,
    other: Statement<Other, Parameters>,
    parameters: NoInfer<Parameters>,
  ): Promise<[One[], Other[]]> {
    const first = toSend(one, parameters);
    const second = toSend(other, parameters);
    await trackUse(() => sendRead([first, second]));
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
  // A connection that breaks while in use tells it to who uses it; without a listener it would end the
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

/** Throws `missing` when there is no row. */
export function requireRow<Row>(rows: readonly Row[], missing: () => Problem): Row {
  const [row] = rows;
  if (row === undefined) throw missing();
  return row;
}
