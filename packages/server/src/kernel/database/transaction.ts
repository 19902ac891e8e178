/**
 * One transaction: its statements are gathered until something waits, then all go in one trip, in order; what
 * waits for nothing goes with the commit (docs/adr/0003). Nothing is opened, and no connection taken, before
 * the first trip.
 */
import type pg from 'pg';
import type { Problem } from '../http/problems.ts';
import { type Sent, sendOnClient } from './batch.ts';
import { type DatabaseError, isConnectionSpent, isDatabaseError } from './database-error.ts';
import type { Send } from './shared-trips.ts';
import { orderValues, type PreparedStatement, type Statement } from './statement.ts';

export type Read = <Row, Parameters>(
  query: Statement<Row, Parameters>,
  parameters: NoInfer<Parameters>,
) => Promise<Row[]>;

export interface Transaction {
  /** Sends a statement and waits for its rows. */
  query: Read;
  /** Sends a statement whose rows nobody needs; a failure of it is the commit's. */
  send<Parameters>(command: Statement<unknown, Parameters>, parameters: NoInfer<Parameters>): void;
  /** Sends a statement without waiting; its rows are in the array when the transaction has committed. */
  collect<Row, Parameters>(
    query: Statement<Row, Parameters>,
    parameters: NoInfer<Parameters>,
  ): readonly Row[];
  /** Says what the breach of a constraint means for the caller. */
  onConstraint(constraint: string, meaning: (breach: DatabaseError) => Problem): void;
  /** Runs after the commit, never after a rollback: waking waiters, counting. */
  afterCommit(effect: () => void): void;
}

/** What a transaction begins with, asked for when its first trip leaves. */
export type Opening = () => Sent | undefined;

/** A statement with its parameters, for an Opening. */
export function toSend<Row, Parameters>(
  query: Statement<Row, Parameters>,
  parameters: NoInfer<Parameters>,
): Sent {
  return { statement: query, parameters: orderValues(query, parameters), rows: [] };
}

// Of the protocol, not of the schema: they are not among listStatements().
const [begin, commit, rollback] = ['begin', 'commit', 'rollback'].map(
  (word): PreparedStatement => ({
    ...{ name: word, text: word, source: word, alone: true },
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
  /** The trip that still takes passengers, and the last that left. */
  #trip: Promise<void> | undefined;
  #flying: Promise<void> | undefined;
  #failure: unknown;
  readonly #meanings = new Map<string, (breach: DatabaseError) => Problem>();
  readonly effects: (() => void)[] = [];
  /** Set when the connection cannot be used any more. */
  #broken: Error | undefined;

  constructor(connect: () => Promise<pg.PoolClient>, share: Send, opening?: Opening) {
    this.#connect = connect;
    this.#share = share;
    this.#opening = opening;
  }

  /** May be handed on by itself, as a Read. */
  readonly query: Read = <Row, Parameters>(
    query: Statement<Row, Parameters>,
    parameters: NoInfer<Parameters>,
  ) => {
    const sent = toSend(query, parameters);
    this.#waiting.push(sent);
    const rows = this.#nextTrip().then(() => {
      if (this.failed) throw this.failure();
      return sent.rows as Row[];
    });
    // Whoever asked may have failed at something else and no longer wait; the transaction tells the failure
    // in any case.
    rows.catch(() => undefined);
    return rows;
  };

  send<Parameters>(command: Statement<unknown, Parameters>, parameters: NoInfer<Parameters>): void {
    this.#waiting.push(toSend(command, parameters));
  }

  collect<Row, Parameters>(
    query: Statement<Row, Parameters>,
    parameters: NoInfer<Parameters>,
  ): readonly Row[] {
    const sent = toSend(query, parameters);
    this.#waiting.push(sent);
    return sent.rows as Row[];
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

  /**
   * What waits goes out with the commit; when nothing went out before, it is a transaction by itself, and may
   * share its trip.
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

  /** What waits is tried before: a refusal of it counts more than why the work was given up. */
  async rollback(): Promise<void> {
    await this.#flying;
    const waiting = this.#take();
    if (!this.failed && waiting.length > 0) await this.#send(this.#begun ? waiting : this.#opened(waiting));
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
    try {
      this.#client ??= await this.#connect();
      await sendOnClient(this.#client, batch);
    } catch (failure) {
      this.#failure ??= failure;
      if (isConnectionSpent(failure)) this.#broken = failure as Error;
    }
  }

  /** Gives its connection back, if it took one. */
  release(): void {
    this.#client?.release(this.#broken);
  }
}
