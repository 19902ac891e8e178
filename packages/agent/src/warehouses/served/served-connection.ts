/** The connection of a run to a session of a served warehouse. */
import type { SecretSql, Warehouse } from '../../engine/ports/ports.ts';
import { SessionGone } from './served-faults.ts';
import type { Value } from './served-values.ts';

/** Bytes of text that one query may return. */
const resultLimit = 64 * 1024 * 1024;

export interface RunningStatement {
  sql: string;
  /** Only reads, so that it may run again. */
  isQuery: boolean;
  limit: AbortSignal | undefined;
  secret: SecretSql | undefined;
  /** Returns whether further rows are wanted. */
  onRow(row: Value[]): boolean;
}

export interface ServedSession {
  readonly isLost: boolean;
  readonly isInTransaction: boolean;
  /** @throws Error with the message of the server, or the reason of `limit` */
  run(statement: RunningStatement): Promise<{ columns: string[]; rowCount: number }>;
  /** Never rejects. */
  close(): Promise<void>;
}

interface ServedWarehouse extends Warehouse {
  queryText(
    sql: string,
    maxRows: number,
    session?: number,
    limit?: AbortSignal,
    secret?: SecretSql,
  ): Promise<string>;
  close(): Promise<void>;
}

export interface ServedConnectionOptions {
  /** Of the connection, for messages. */
  name: string;
  /** Whether a later statement may give another result in another session. */
  leavesState(sql: string): boolean;
  reopen(): Promise<ServedSession>;
}

/** A lost session is replaced by the next statement, unless something of it is missing then. */
export function createServedConnection(
  first: ServedSession,
  { name, leavesState, reopen }: ServedConnectionOptions,
): ServedWarehouse {
  let session = first;
  let hasState = false;
  let isClosed = false;

  async function getSession(): Promise<ServedSession> {
    if (isClosed) throw new Error('this connection to the warehouse is closed');
    if (!session.isLost) return session;
    if (session.isInTransaction)
      throw new Error(
        `the connection "${name}" was lost in a transaction, which is rolled back: start the run again`,
      );
    if (hasState)
      throw new Error(
        `the connection "${name}" was lost, and with it the temporary tables and settings of this run: start the run again`,
      );
    await session.close();
    session = await reopen();
    return session;
  }

  async function run(statement: RunningStatement) {
    const open = await getSession();
    try {
      return await open.run(statement);
    } catch (failure) {
      if (!(failure instanceof SessionGone) || isClosed) throw failure;
      return await (await getSession()).run(statement);
    }
  }

  async function execute(
    sql: string,
    limit?: AbortSignal,
    secret?: SecretSql,
  ): Promise<{ rowCount: number }> {
    const { rowCount } = await run({ sql, isQuery: false, limit, secret, onRow: () => true });
    hasState ||= leavesState(sql);
    return { rowCount };
  }

  async function query(sql: string, maxRows: number, limit?: AbortSignal, secret?: SecretSql) {
    const rows: Value[][] = [];
    let size = 0;
    let fault: Error | undefined;
    const { columns } = await run({
      sql,
      isQuery: true,
      limit,
      secret,
      onRow(row) {
        for (const cell of row) size += typeof cell === 'string' ? cell.length : 8;
        if (rows.length === maxRows)
          fault = new Error(`the query returns more than ${maxRows} rows: add a filter or a LIMIT`);
        else if (size > resultLimit)
          fault = new Error(
            `the query returns more than ${resultLimit} bytes: select fewer columns, or add a filter or a LIMIT`,
          );
        else rows.push(row);
        return fault === undefined;
      },
    });
    if (fault !== undefined) throw fault;
    return { columns, rows };
  }

  return {
    execute: (sql, _session, limit, secret) => execute(sql, limit, secret),
    query: (sql, maxRows, _session, limit, secret) => query(sql, maxRows, limit, secret),
    queryText: async (sql, maxRows, _session, limit, secret) =>
      JSON.stringify(await query(sql, maxRows, limit, secret)),
    async close() {
      isClosed = true;
      await session.close();
    },
  };
}
