/**
 * PostgreSQL as the rest of the server sees it.
 *
 * Terminology
 *   statement     SQL with numbered parameters, written once, named by a digest of its text and prepared once a connection
 *   read          one statement outside a transaction, or two in one trip
 *   transaction   statements on one connection, gathered until something waits: then all go in one trip, in order; what waits for nothing
 *                 goes with the commit (docs/adr/0003). After a failure the rest of a trip does nothing and the commit is a rollback.
 */
import pg from 'pg';
import { Batch, type Sent } from './batch.ts';
import type { Problem } from './problems.ts';
import { createSharedTrips } from './shared-trips.ts';
import type { Parameter, Statement } from './statement.ts';

export { allStatements, type Parameter, type Statement, statement } from './statement.ts';

/** The error of a statement, by SQLSTATE; the names of the constraint that was broken is what a race is answered by. */
export interface DatabaseError extends Error {
  code: string;
  constraint?: string;
  detail?: string;
}

export function isDatabaseError(failure: unknown): failure is DatabaseError {
  return failure instanceof pg.DatabaseError && typeof failure.code === 'string';
}

/** Whether a failure says that the database went away or refuses work, not that the statement was wrong. */
export function isUnavailable(failure: unknown): boolean {
  if (isDatabaseError(failure)) {
    // 08 connection, 53 resources, 57P0x shutdown and crash, 55P03 a lock could not be had in time.
    return /^(08|53|57P0)/.test(failure.code) || failure.code === '25006';
  }
  if (!(failure instanceof Error)) return false;
  const code = 'code' in failure ? String(failure.code) : '';
  return (
    ['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'ENOTFOUND'].includes(code) ||
    /Connection terminated|connection error|timeout exceeded when trying to connect|Client was closed/i.test(
      failure.message,
    )
  );
}

export type Read = <Row>(query: Statement<Row>, parameters: readonly Parameter[]) => Promise<Row[]>;

export interface Transaction {
  /** Sends a statement and waits for its rows. */
  query: Read;
  /** Sends a statement whose rows nobody needs; a failure of it is the commit's. */
  send(command: Statement<unknown>, parameters: readonly Parameter[]): void;
  /** Says what the breach of a constraint means for the caller. */
  onConstraint(constraint: string, meaning: (breach: DatabaseError) => Problem): void;
  /** Runs after the commit, never after a rollback: waking waiters, counting. */
  afterCommit(effect: () => void): void;
}

// Of the protocol, not of the schema: they are not among allStatements().
const [begin, commit, rollback] = ['begin', 'commit', 'rollback'].map(
  (word): Statement<never> => ({ name: word, text: word, types: [], parameterCount: 0, alone: true }),
) as [Statement<never>, Statement<never>, Statement<never>];

class PipelinedTransaction implements Transaction {
  readonly #client: pg.PoolClient;
  #waiting: Sent[] = [];
  #begun = false;
  /** The trip that still takes passengers, and the last that left. */
  #trip: Promise<void> | undefined;
  #flying: Promise<void> | undefined;
  #failure: unknown;
  readonly #meanings = new Map<string, (breach: DatabaseError) => Problem>();
  readonly effects: (() => void)[] = [];
  /** Set when the connection cannot be used any more. */
  broken: Error | undefined;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  /** May be handed on by itself, as a Read. */
  readonly query: Read = <Row>(query: Statement<Row>, parameters: readonly Parameter[]) => {
    const sent: Sent = { statement: query, parameters, rows: [] };
    this.#waiting.push(sent);
    const rows = this.#nextTrip().then(() => {
      if (this.failed) throw this.failure();
      return sent.rows as Row[];
    });
    // Whoever asked may have failed at something else and no longer wait; the transaction tells the failure in any case.
    rows.catch(() => undefined);
    return rows;
  };

  send(command: Statement<unknown>, parameters: readonly Parameter[]): void {
    this.#waiting.push({ statement: command, parameters, rows: [] });
  }

  onConstraint(constraint: string, meaning: (breach: DatabaseError) => Problem): void {
    this.#meanings.set(constraint, meaning);
  }

  afterCommit(effect: () => void): void {
    this.effects.push(effect);
  }

  /** The first failure, in the caller's words where the breach of a constraint has a meaning. */
  failure(): unknown {
    const failure = this.#failure;
    if (isDatabaseError(failure) && failure.constraint !== undefined) {
      const meaning = this.#meanings.get(failure.constraint);
      if (meaning !== undefined) return meaning(failure);
    }
    return failure;
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /** What waits goes out with the commit; when nothing went out before, it is a transaction by itself. */
  async commit(): Promise<void> {
    await this.#flying;
    if (this.failed) return this.rollback();
    if (!this.#begun) return this.#send(this.#take());
    await this.#send([...this.#take(), { statement: commit, parameters: [], rows: [] }]);
    if (this.failed) await this.rollback();
  }

  /** What waits is tried before: a refusal of it counts more than why the work was given up. */
  async rollback(): Promise<void> {
    await this.#flying;
    const waiting = this.#take();
    if (!this.failed && waiting.length > 0) await this.#send(this.#begun ? waiting : this.#opened(waiting));
    if (this.#begun && this.broken === undefined) {
      await transact(this.#client, [{ statement: rollback, parameters: [], rows: [] }]).catch((lost) => {
        this.broken = lost;
      });
    }
  }

  #take(): Sent[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  #opened(waiting: Sent[]): Sent[] {
    this.#begun = true;
    return [{ statement: begin, parameters: [], rows: [] }, ...waiting];
  }

  /** What is asked for in one go travels together, behind what was sent before. */
  #nextTrip(): Promise<void> {
    if (this.#trip === undefined) {
      this.#flying = this.#trip = Promise.resolve(this.#flying).then(async () => {
        this.#trip = undefined;
        if (this.failed) return;
        const waiting = this.#take();
        await this.#send(this.#begun ? waiting : this.#opened(waiting));
      });
    }
    return this.#trip;
  }

  async #send(batch: Sent[]): Promise<void> {
    if (batch.length === 0) return;
    await transact(this.#client, batch).catch((failure) => {
      this.#failure ??= failure;
      if (!isDatabaseError(failure)) this.broken = failure;
    });
  }
}

function transact(client: pg.PoolClient, items: readonly Sent[]): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(
      new Batch(items, (failure) => (failure === undefined ? resolve() : reject(failure))) as never,
    );
  });
}

// Counters, sizes and versions are bigint in tables, and fit a number.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export interface Database {
  read: Read;
  /** Two reads in one trip. */
  readBoth<One, Other>(
    one: readonly [Statement<One>, readonly Parameter[]],
    other: readonly [Statement<Other>, readonly Parameter[]],
  ): Promise<[One[], Other[]]>;
  /**
   * Runs `work` in one transaction and commits it. What `work` has sent when it returns goes out together with the commit.
   * A failure of any statement, or of `work`, rolls everything back and is thrown; effects of `afterCommit` then never run.
   */
  transaction<Result>(work: (tx: Transaction) => Promise<Result> | Result): Promise<Result>;
  /** A connection of its own that LISTENs; it is opened again when it breaks. */
  listen(channel: string, onMessage: (payload: string) => void): Promise<{ close(): Promise<void> }>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  connection: pg.ClientConfig;
  connections: number;
  /** How long a request waits for a free connection before it is answered 503, in milliseconds. */
  patienceMilliseconds: number;
  onConnectionError(failure: Error): void;
}

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...options.connection,
    max: options.connections,
    min: 1,
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: options.patienceMilliseconds,
    application_name: 'headgate',
  } as pg.PoolConfig);
  pool.on('error', options.onConnectionError);
  // A connection that breaks while in use tells it to who uses it; without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));

  function inOneTrip(items: readonly Sent[]): Promise<void> {
    return new Promise((resolve, reject) => {
      pool.connect((refused, client) => {
        if (client === undefined) return reject(refused);
        const batch = new Batch(items, (failure) => {
          client.release(failure === undefined || isDatabaseError(failure) ? undefined : failure);
          if (failure === undefined) resolve();
          else reject(failure);
        });
        client.query(batch as never);
      });
    });
  }

  const ask = createSharedTrips({ travel: inOneTrip, rolledBack: isDatabaseError });

  async function read<Row>(query: Statement<Row>, parameters: readonly Parameter[]): Promise<Row[]> {
    const sent: Sent = { statement: query, parameters, rows: [] };
    await ask([sent]);
    return sent.rows as Row[];
  }

  async function readBoth<One, Other>(
    [one, ofOne]: readonly [Statement<One>, readonly Parameter[]],
    [other, ofOther]: readonly [Statement<Other>, readonly Parameter[]],
  ): Promise<[One[], Other[]]> {
    const first: Sent = { statement: one, parameters: ofOne, rows: [] };
    const second: Sent = { statement: other, parameters: ofOther, rows: [] };
    await ask([first, second]);
    return [first.rows as One[], second.rows as Other[]];
  }

  async function transaction<Result>(work: (tx: Transaction) => Promise<Result> | Result): Promise<Result> {
    const client = await pool.connect();
    const tx = new PipelinedTransaction(client);
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
      client.release(tx.broken);
    }
  }

  return {
    read,
    readBoth,
    transaction,
    listen: (channel, onMessage) => listen(options, channel, onMessage),
    close: () => pool.end(),
  };
}

async function listen(options: DatabaseOptions, channel: string, onMessage: (payload: string) => void) {
  let closed = false;
  let client: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;

  async function open(): Promise<void> {
    const opened = new pg.Client({ ...options.connection, application_name: 'headgate listener' });
    opened.on('notification', ({ payload }) => onMessage(payload ?? ''));
    opened.on('error', options.onConnectionError);
    opened.on('end', () => {
      if (!closed) retry = setTimeout(() => open().catch(options.onConnectionError), 1_000);
    });
    await opened.connect();
    await opened.query(`listen ${pg.escapeIdentifier(channel)}`);
    client = opened;
  }

  await open();
  return {
    async close() {
      closed = true;
      clearTimeout(retry);
      await client?.end();
    },
  };
}

/** Throws `missing` when there is no row. */
export function one<Row>(rows: readonly Row[], missing: () => Problem): Row {
  const [row] = rows;
  if (row === undefined) throw missing();
  return row;
}
