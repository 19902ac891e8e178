/** Statements of one session with Snowflake. */
import { randomUUID } from 'node:crypto';
import { ExchangeError } from '../../connectors/exchange.ts';
import { getReason } from '../../log.ts';
import type { RunningStatement, ServedSession } from '../served/served-connection.ts';
import { lostDuring, SessionGone } from '../served/served-faults.ts';
import { readFirstWord } from '../statements/sql-words.ts';
import { RefusedAnswer } from './snowflake-answer.ts';
import type { CallTime, SnowflakeCalls } from './snowflake-calls.ts';
import { describeStatementFault, isCompilation, isSessionOver, StatusFault } from './snowflake-faults.ts';
import { SessionRequests } from './snowflake-requests.ts';
import { createRowReader, listNames, readResult, type StatementResult } from './snowflake-result.ts';
import type { SignedIn } from './snowflake-sign-in.ts';
import { findCreatedTable, writeBinds } from './snowflake-sql.ts';

/** Between two requests to cancel a statement. */
const againMilliseconds = 1_000;
/** A session that does nothing is asked whether it is there, before what must not be sent twice. */
const longestIdle = 30_000;
/** A session ends after four hours without a request. */
const beatMilliseconds = 15 * 60_000;
export interface SnowflakeSessionOptions {
  name: string;
  calls: SnowflakeCalls;
  signedIn: SignedIn;
  time: CallTime;
  /** How long a cancelled statement may take to end. */
  cancelMilliseconds: number;
}

export class SnowflakeSession implements ServedSession {
  readonly #name: string;
  readonly #calls: SnowflakeCalls;
  readonly #time: CallTime;
  readonly #cancelMilliseconds: number;
  readonly #requests: SessionRequests;
  #isLost = false;
  #isInTransaction = false;
  #running: { requestId: string; end: AbortController; done: Promise<unknown> } | undefined;
  #stopping: Promise<void> | undefined;
  #ending: Promise<void> | undefined;
  #onClose: () => Promise<void> = async () => undefined;
  readonly #beat: NodeJS.Timeout;

  constructor({ name, calls, signedIn, time, cancelMilliseconds }: SnowflakeSessionOptions) {
    this.#cancelMilliseconds = cancelMilliseconds;
    this.#name = name;
    this.#calls = calls;
    this.#time = time;
    this.#requests = new SessionRequests(calls, signedIn, time);
    this.#beat = setInterval(
      () => void this.#requests.beat().catch(() => undefined),
      beatMilliseconds,
    ).unref();
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** DDL ends a transaction as well, which is not seen here. */
  get isInTransaction(): boolean {
    return this.#isInTransaction;
  }

  async run(statement: RunningStatement): Promise<{ columns: string[]; rowCount: number }> {
    const { sql, limit, isQuery } = statement;
    limit?.throwIfAborted();
    const word = readFirstWord(sql);
    if (word === 'put' || word === 'get')
      throw new Error(
        `${word.toUpperCase()} moves files of the machine of the client, which the agent does not allow: load from a stage in an object store by COPY INTO`,
      );
    const stop = () => this.#stop();
    limit?.addEventListener('abort', stop);
    const end = new AbortController();
    const done = this.#runIn(statement, word, end.signal);
    this.#running = { requestId: '', end, done: done.catch(() => undefined) };
    try {
      return await done;
    } catch (failure) {
      if (isSessionOver(failure)) {
        this.#isLost = true;
        throw new SessionGone(`the session of the connection "${this.#name}" is over: ${getReason(failure)}`);
      }
      if (isUnknown(failure) && !(isQuery && failure instanceof RefusedAnswer)) this.#giveUp();
      if (this.#isLost && end.signal.aborted) throw lostDuring(this.#name, isQuery);
      throw describeStatementFault(failure, sql, this.#name, isQuery);
    } finally {
      limit?.removeEventListener('abort', stop);
      this.#running = undefined;
      // A late request to cancel would hit the next statement.
      await this.#stopping;
    }
  }

  async #runIn(statement: RunningStatement, word: string, signal: AbortSignal) {
    await this.#requireSession(signal);
    if (word === 'rollback') await this.#requireTransaction(signal);
    const result = await this.#send(statement, signal);
    if (word === 'begin' || word === 'start') this.#isInTransaction = true;
    else if (word === 'commit' || word === 'rollback') this.#isInTransaction = false;
    const taken = statement.isQuery ? await this.#takeRows(result, statement, signal) : 0;
    const rowCount = statement.isQuery
      ? taken
      : (result.rowCount ?? (await this.#countCreated(statement.sql, signal).catch(() => 0)));
    return { columns: listNames(result.columns), rowCount };
  }

  /** A connection that is idle may be cut without a word, and a token may be too old. */
  async #requireSession(signal: AbortSignal): Promise<void> {
    if (this.#requests.idleMilliseconds < longestIdle) return;
    try {
      await this.#requests.beat(signal);
    } catch (failure) {
      if (signal.aborted) throw failure;
      this.#giveUp();
      throw new SessionGone(getReason(failure));
    }
  }

  /** Snowflake takes ROLLBACK without a transaction, also after DDL has committed it. */
  async #requireTransaction(signal: AbortSignal): Promise<void> {
    const { rows } = readResult(await this.#submit('SELECT CURRENT_TRANSACTION()', true, undefined, signal));
    if (rows[0]?.[0] !== null && rows[0]?.[0] !== undefined) return;
    this.#isInTransaction = false;
    throw new Error('ROLLBACK: no transaction is active');
  }

  async #submit(sql: string, isQuery: boolean, bindings: object | undefined, signal: AbortSignal) {
    const requestId = randomUUID();
    if (this.#running !== undefined) this.#running.requestId = requestId;
    const answer = await this.#requests.submit({ requestId, sql, isQuery, bindings }, signal);
    if (answer !== undefined) return answer;
    this.#isLost = true;
    throw lostDuring(this.#name, isQuery);
  }

  async #send({ sql, secret, isQuery }: RunningStatement, signal: AbortSignal): Promise<StatementResult> {
    if (secret === undefined || secret.values.length === 0)
      return readResult(await this.#submit(sql, isQuery, undefined, signal));
    const { text, bindings } = writeBinds(secret);
    try {
      return readResult(await this.#submit(text, isQuery, bindings, signal));
    } catch (failure) {
      if (!isCompilation(failure)) throw failure;
      return readResult(await this.#submit(sql, isQuery, undefined, signal));
    }
  }

  /** Gives the rows until enough are taken. Returns how many. */
  async #takeRows(
    { columns, rows, parts }: StatementResult,
    { onRow }: RunningStatement,
    signal: AbortSignal,
  ): Promise<number> {
    // There is nothing left to cancel at the server.
    if (this.#running !== undefined) this.#running.requestId = '';
    const read = createRowReader(columns);
    const enough = new AbortController();
    let taken = 0;
    const take = (row: StatementResult['rows'][number]) => {
      if (enough.signal.aborted) return;
      taken += 1;
      if (!onRow(read(row))) enough.abort();
    };
    for (const row of rows) take(row);
    for (const part of parts) {
      if (enough.signal.aborted) break;
      const either = AbortSignal.any([signal, enough.signal]);
      await this.#calls.readPart(part, either, take).catch((failure: unknown) => {
        if (!enough.signal.aborted) throw failure;
      });
    }
    return taken;
  }

  /** CREATE TABLE AS says only that it is done. */
  async #countCreated(sql: string, signal: AbortSignal): Promise<number> {
    const table = findCreatedTable(sql);
    if (table === undefined) return 0;
    const counted = `SELECT COUNT(*) FROM ${table}`;
    const { rows } = readResult(await this.#submit(counted, true, undefined, signal));
    return Number(rows[0]?.[0] ?? 0);
  }

  /** Cancels the running statement, once. If it does not end, the session is given up. */
  #stop(): void {
    this.#stopping ??= this.#cancelRunning().finally(() => {
      this.#stopping = undefined;
    });
  }

  async #cancelRunning(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    if (running.requestId === '') running.end.abort(new Error('the statement was cancelled'));
    const signal = AbortSignal.any([AbortSignal.timeout(this.#cancelMilliseconds), running.end.signal]);
    const done = running.done.then(() => true);
    // The server may not know the statement yet.
    while (!signal.aborted) {
      await this.#requests.cancel(running.requestId, signal).catch(() => undefined);
      const pause = this.#time.sleep(againMilliseconds, signal).then(() => false);
      if (await Promise.race([done, pause])) return;
    }
    if (!running.end.signal.aborted) {
      this.#giveUp();
      running.end.abort();
    }
    await done;
  }

  /** What became of a statement is not known: the session ends, and with it what still runs in it. */
  #giveUp(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#ending = this.#requests.end();
  }

  onClose(work: () => Promise<void>): void {
    this.#onClose = work;
  }

  /** Never rejects. */
  async close(): Promise<void> {
    if (this.#running !== undefined) this.#stop();
    await this.#stopping;
    clearInterval(this.#beat);
    this.#giveUp();
    await this.#ending;
    this.#calls.close();
    await this.#onClose().catch(() => undefined);
  }
}

/** Whether the statement may have had an effect, or still runs. */
const isUnknown = (failure: unknown): boolean =>
  failure instanceof ExchangeError ||
  failure instanceof RefusedAnswer ||
  (failure instanceof StatusFault && failure.status !== 429);
