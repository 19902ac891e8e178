/** Statements of one session with PostgreSQL. */
import type { Client, QueryResult } from 'pg';
import type { CopiedFile } from '../../engine/ports/ports.ts';
import type { RunningStatement, ServedSession } from '../served/served-connection.ts';
import { lostDuring } from '../served/served-faults.ts';
import { readFirstWord } from '../statements/sql-words.ts';
import { loadClient, type OpenSession } from './postgres-connect.ts';
import { describeStatementError, getServerCode, refuseMessage } from './postgres-errors.ts';
import { type SentResult, sendSecret } from './postgres-secrets.ts';
import type { PostgresSocket } from './postgres-socket.ts';
import { valueTypes } from './postgres-values.ts';

type Row = (string | number | boolean | null)[];

/** SQLSTATE admin_shutdown: of a session that was terminated. */
const endedByServer = '57P01';
/** How long a cancelled statement may take to end. */
const cancelMilliseconds = 10_000;

export class PostgresSession implements ServedSession {
  readonly #client: Client;
  readonly #socket: PostgresSocket;
  readonly #name: string;
  readonly #cancel: (isInTransaction: boolean) => Promise<void>;
  #isLost = false;
  #running: Promise<unknown> | undefined;
  #stopping: Promise<void> | undefined;
  #onClose: () => Promise<void> = async () => undefined;

  /** @param cancel asks the server to cancel what this session runs. It ends within a time of its own. */
  constructor(
    { client, socket }: Pick<OpenSession, 'client' | 'socket'>,
    name: string,
    cancel: (isInTransaction: boolean) => Promise<void>,
  ) {
    this.#client = client;
    this.#socket = socket;
    this.#name = name;
    this.#cancel = cancel;
    client.on('error', () => {
      this.#isLost = true;
    });
    client.on('end', () => {
      this.#isLost = true;
    });
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  get isInTransaction(): boolean {
    return this.#client.getTransactionStatus() !== 'I';
  }

  /** @throws Error with the message of the server, or the reason of `limit` */
  async run(statement: RunningStatement): Promise<SentResult> {
    const { sql, limit, isQuery } = statement;
    limit?.throwIfAborted();
    this.#refuseEndOfNothing(sql);
    return this.#watch(sql, isQuery, limit, () => this.#send(statement));
  }

  async #watch<Result>(
    sql: string,
    isQuery: boolean,
    limit: AbortSignal | undefined,
    send: () => Promise<Result>,
  ): Promise<Result> {
    limit?.throwIfAborted();
    const stop = () => this.#stop();
    limit?.addEventListener('abort', stop);
    const running = send();
    this.#running = running.catch(() => undefined);
    try {
      return await running;
    } catch (failure) {
      const { refusal } = this.#socket;
      // The server closes the connection right after this answer.
      if (getServerCode(failure) === endedByServer) this.#isLost = true;
      if (refusal !== undefined) throw refuseMessage(refusal, this.#name, isQuery);
      if (this.#isLost && getServerCode(failure) === undefined) throw lostDuring(this.#name, isQuery);
      throw describeStatementError(failure, sql);
    } finally {
      limit?.removeEventListener('abort', stop);
      this.#running = undefined;
      // A late request to cancel would hit the next statement.
      await this.#stopping;
    }
  }

  /** Runs a COPY between a file and the server. @throws the same */
  async copy(sql: string, file: CopiedFile, limit: AbortSignal | undefined): Promise<number> {
    return this.#watch(sql, false, limit, async () => {
      // What the server sends goes to a file.
      this.#socket.startStatement(file.to === 'file' ? Number.POSITIVE_INFINITY : undefined);
      const { CopyIn, CopyOut } = await import('./postgres-copy.ts');
      if (file.to === 'file') return this.#client.query(new CopyOut(sql, file, this.#socket)).finish();
      return this.#client.query(new CopyIn(sql, file, this.#socket)).rowCount;
    });
  }

  /** PostgreSQL only warns of it. */
  #refuseEndOfNothing(sql: string): void {
    if (this.isInTransaction) return;
    const word = readFirstWord(sql);
    if (['rollback', 'abort', 'commit', 'end'].includes(word))
      throw new Error(`${word.toUpperCase()}: no transaction is active`);
  }

  #send(statement: RunningStatement): Promise<SentResult> {
    return statement.secret === undefined
      ? this.#sendText(statement)
      : sendSecret(
          { ...statement, secret: statement.secret },
          {
            isInTransaction: this.isInTransaction,
            send: (sql, values, onRow = () => true) => this.#sendText({ sql, onRow }, values),
          },
        );
  }

  async #sendText(
    { sql, onRow }: Pick<RunningStatement, 'sql' | 'onRow'>,
    values: readonly string[] = [],
  ): Promise<SentResult> {
    const { Query } = await loadClient();
    this.#socket.startStatement();
    const config = {
      text: sql,
      values: [...values],
      rowMode: 'array' as const,
      queryMode: 'extended' as const,
      types: valueTypes,
    };
    const query = this.#client.query(new Query(config));
    let rows = 0;
    let isFull = false;
    let columns: string[] | undefined;
    query.on('row', (row: unknown, result?: QueryResult) => {
      columns ??= listColumns(result?.fields ?? []);
      if (isFull) return;
      rows += 1;
      if (onRow(row as Row)) return;
      isFull = true;
      this.#stop();
    });
    return new Promise((resolve, reject) => {
      query.on('end', (result: QueryResult) =>
        resolve({
          columns: columns ?? listColumns(result?.fields ?? []),
          // A hostile server may say what is no count.
          rowCount: rows > 0 ? rows : Math.min(result?.rowCount ?? 0, Number.MAX_SAFE_INTEGER),
        }),
      );
      query.on('error', (failure: Error) => {
        // Its rows were enough.
        const isStopped = getServerCode(failure) === '57014' || this.#socket.refusal !== undefined;
        if (isFull && isStopped) resolve({ columns: columns ?? [], rowCount: rows });
        else reject(Object.assign(failure, { sent: sql }));
      });
    });
  }

  /** Cancels the running statement, once. If it does not end, the connection is closed, which rolls back. */
  #stop(): void {
    this.#stopping ??= this.#cancelRunning().finally(() => {
      this.#stopping = undefined;
    });
  }

  async #cancelRunning(): Promise<void> {
    const running = this.#running;
    // The client closes the socket of a session that runs something.
    const late = setTimeout(() => void this.#end(), cancelMilliseconds);
    await this.#cancel(this.isInTransaction).catch(() => undefined);
    await running;
    clearTimeout(late);
  }

  onClose(work: () => Promise<void>): void {
    this.#onClose = work;
  }

  /** Never rejects. */
  async close(): Promise<void> {
    if (this.#running !== undefined) this.#stop();
    await this.#stopping;
    await this.#end();
    await this.#onClose().catch(() => undefined);
  }

  async #end(): Promise<void> {
    this.#isLost = true;
    await this.#client.end().catch(() => undefined);
  }
}

/** A name that an earlier column has gets a number. */
function listColumns(fields: readonly { name: string }[]): string[] {
  const taken = new Set<string>();
  return fields.map(({ name }) => {
    let column = name;
    for (let number = 1; taken.has(column); number += 1) column = `${name}_${number}`;
    taken.add(column);
    return column;
  });
}
