/**
 * One transaction. Its statements are buffered until something awaits a result, then sent in one trip, in
 * order. Statements that nothing awaits are sent with the commit (docs/adr/0003). No connection is taken
 * before the first trip.
 */
import type pg from 'pg';
import { markLoop } from '../event-loop.ts';
import type { Problem } from '../http/problems.ts';
import { type Sent, sendOnClient } from './trips/batch.ts';
import { type DatabaseError, isConnectionSpent, isDatabaseError } from './trips/database-error.ts';
import type { Send } from './trips/shared-trips.ts';
import { orderValues, type PreparedStatement, type Statement } from './trips/statement.ts';

export type Read = <Row, Parameters>(
  query: Statement<Row, Parameters>,
  parameters: NoInfer<Parameters>,
) => Promise<Row[]>;

/** Throws `RowsTooLarge` if the rows have more characters than `mostCharacters`. */
export type BoundedRead = <Row, Parameters>(
  query: Statement<Row, Parameters>,
  parameters: NoInfer<Parameters>,
  mostCharacters?: number,
) => Promise<Row[]>;

/** The rows were more than the reader takes; none of them was kept. */
export class RowsTooLarge extends Error {
  override name = 'RowsTooLarge';
}

export interface Transaction {
  /** Sends a statement and waits for its rows. */
  query: Read;
  /** Buffers a statement whose rows are not used. If it fails, a later query or the commit fails. */
  send<Parameters>(command: Statement<unknown, Parameters>, parameters: NoInfer<Parameters>): void;
  /** Buffers a statement. The returned array has its rows once the transaction has committed. */
  collect<Row, Parameters>(
    query: Statement<Row, Parameters>,
    parameters: NoInfer<Parameters>,
  ): readonly Row[];
  /** Sets the problem to throw when the named constraint is violated. */
  onConstraint(constraint: string, meaning: (violation: DatabaseError) => Problem): void;
  /** Runs `effect` after the commit, never after a rollback: for notifications and metrics. */
  afterCommit(effect: () => void): void;
}

/** The accounts of which the statements, now committed, may have written events. */
export function listEventAccounts(sent: readonly Sent[]): Set<string> {
  const accounts = new Set<string>();
  for (const { statement, parameters, rows } of sent) {
    const at = statement.parameters.indexOf('account_id');
    if (at >= 0) accounts.add(parameters[at] as string);
    else for (const row of rows) accounts.add(row.account_id as string);
  }
  return accounts;
}

/** Returns the first statement of a transaction. Called just before the first trip. */
export type Opening = () => Sent | undefined;

/** A statement with its parameters, for an Opening. */
export function toSend<Row, Parameters>(
  query: Statement<Row, Parameters>,
  parameters: NoInfer<Parameters>,
  mostCharacters?: number,
): Sent {
  return { statement: query, parameters: orderValues(query, parameters), rows: [], mostCharacters };
}

// Transaction control, not part of the schema: listStatements() leaves these out.
const [begin, commit, rollback] = ['begin', 'commit', 'rollback'].map(
  (word): PreparedStatement => ({
    ...{ name: word, text: word, source: word, alone: true, writesEvents: false },
    ...{ parameters: [], parameterTypes: {}, columnTypes: undefined },
  }),
) as [PreparedStatement, PreparedStatement, PreparedStatement];

export class PipelinedTransaction implements Transaction {
  readonly #connect: () => Promise<pg.PoolClient>;
  readonly #share: Send;
  #opening: Opening | undefined;
  #client: pg.PoolClient | undefined;
  #waiting: Sent[] = [];
  #begun = false;
  /** The next trip, which still accepts statements, and the last one sent. */
  #trip: Promise<void> | undefined;
  #flying: Promise<void> | undefined;
  #failure: unknown;
  readonly #meanings = new Map<string, (violation: DatabaseError) => Problem>();
  readonly effects: (() => void)[] = [];
  /** The statements that may have written events. */
  readonly writing: Sent[] = [];
  /** Set when the connection is unusable. */
  #broken: Error | undefined;

  constructor(connect: () => Promise<pg.PoolClient>, share: Send, opening?: Opening) {
    this.#connect = connect;
    this.#share = share;
    this.#opening = opening;
  }

  /** An arrow function, so that it can be passed on as a Read. */
  readonly query: Read = <Row, Parameters>(
    query: Statement<Row, Parameters>,
    parameters: NoInfer<Parameters>,
  ) => {
    const sent = this.#add(query, parameters);
    const rows = this.#nextTrip().then(() => {
      markLoop('rows of the database');
      if (this.failed) throw this.failure();
      return sent.rows as Row[];
    });
    // The caller may have failed elsewhere and no longer await this. The transaction reports the failure
    // anyway.
    rows.catch(() => undefined);
    return rows;
  };

  send<Parameters>(command: Statement<unknown, Parameters>, parameters: NoInfer<Parameters>): void {
    this.#add(command, parameters);
  }

  collect<Row, Parameters>(
    query: Statement<Row, Parameters>,
    parameters: NoInfer<Parameters>,
  ): readonly Row[] {
    return this.#add(query, parameters).rows as Row[];
  }

  #add<Row, Parameters>(command: Statement<Row, Parameters>, parameters: NoInfer<Parameters>): Sent {
    const sent = toSend(command, parameters);
    this.#waiting.push(sent);
    if (command.writesEvents) this.writing.push(sent);
    return sent;
  }

  onConstraint(constraint: string, meaning: (violation: DatabaseError) => Problem): void {
    this.#meanings.set(constraint, meaning);
  }

  afterCommit(effect: () => void): void {
    this.effects.push(effect);
  }

  /** The first failure, as a problem if it violates a constraint that has one. */
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

  /**
   * Sends the buffered statements with the commit. If nothing was sent before, they are a whole transaction
   * and may share a trip.
   */
  async commit(): Promise<void> {
    await this.#flying;
    if (this.failed) return this.rollback();
    if (!this.#begun) {
      const all = this.#take();
      if (all.length === 0) return;
      return this.#share(all).catch((failure) => {
        this.#failure = failure;
      });
    }
    await this.#send([...this.#take(), { statement: commit, parameters: [], rows: [] }]);
    if (this.failed) await this.rollback();
  }

  /**
   * Sends the buffered statements first: if PostgreSQL refuses one, that failure takes precedence over the
   * handler's.
   */
  async rollback(): Promise<void> {
    await this.#flying;
    const waiting = this.#take();
    if (!this.failed && waiting.length > 0)
      await this.#send(this.#begun ? waiting : this.#prependBegin(waiting));
    if (this.#begun && this.#client !== undefined && this.#broken === undefined) {
      await sendOnClient(this.#client, [{ statement: rollback, parameters: [], rows: [] }]).catch((lost) => {
        this.#broken = lost;
      });
    }
  }

  #take(): Sent[] {
    const opening = this.#opening?.();
    this.#opening = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (opening === undefined) return waiting;
    return [opening, ...waiting];
  }

  #prependBegin(waiting: Sent[]): Sent[] {
    this.#begun = true;
    return [{ statement: begin, parameters: [], rows: [] }, ...waiting];
  }

  /** Statements of the same turn are sent together, after those already sent. */
  #nextTrip(): Promise<void> {
    if (this.#trip === undefined) {
      this.#flying = this.#trip = Promise.resolve(this.#flying).then(async () => {
        this.#trip = undefined;
        if (this.failed) return;
        const waiting = this.#take();
        await this.#send(this.#begun ? waiting : this.#prependBegin(waiting));
      });
    }
    return this.#trip;
  }

  async #send(batch: Sent[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      this.#client ??= await this.#connect();
      await sendOnClient(this.#client, batch);
    } catch (failure) {
      this.#failure ??= failure;
      if (isConnectionSpent(failure)) this.#broken = failure as Error;
    }
  }

  /** Returns the connection to the pool, if one was taken. */
  release(): void {
    this.#client?.release(this.#broken);
  }
}
