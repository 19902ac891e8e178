/** The connection of a run to a session of a served warehouse. */
import type { CopiedFile, SecretSql, Warehouse } from '../../engine/ports/ports.ts';
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
  /** Copies a file into the warehouse, or out of it, where it has such a statement. Returns the number of rows. */
  copy?(sql: string, file: CopiedFile, limit: AbortSignal | undefined): Promise<number>;
  /** Never rejects. */
  close(): Promise<void>;
}

export interface ServedWarehouse extends Warehouse {
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
  /** Whether secrets go as parameters of statements. */
  bindsSecrets: boolean;
  /** Whether a later statement may give another result in another session. */
  leavesState(sql: string): boolean;
  reopen(): Promise<ServedSession>;
}

/** A lost session is replaced by the next statement, unless something of it is missing then. */
export function createServedConnection(
  first: ServedSession,
  { name, bindsSecrets, leavesState, reopen }: ServedConnectionOptions,
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
    const bound = bindsSecrets ? secret : undefined;
    const { rowCount } = await run({ sql, isQuery: false, limit, secret: bound, onRow: () => true });
    hasState ||= leavesState(sql);
    return { rowCount };
  }

  /** Returns the columns. The agent handles rows while they arrive, in turns with its other work. */
  async function readRows(
    sql: string,
    {
      maxRows,
      limit,
      secret,
    }: { maxRows: number; limit?: AbortSignal | undefined; secret?: SecretSql | undefined },
    take: (row: Value[]) => void,
  ): Promise<string[]> {
    let count = 0;
    let size = 0;
    let fault: Error | undefined;
    const { columns } = await run({
      sql,
      isQuery: true,
      limit,
      secret: bindsSecrets ? secret : undefined,
      onRow(row) {
        for (const cell of row) size += typeof cell === 'string' ? cell.length : 8;
        if (count === maxRows)
          fault = new Error(`the query returns more than ${maxRows} rows: add a filter or a LIMIT`);
        else if (size > resultLimit)
          fault = new Error(
            `the query returns more than ${resultLimit} bytes: select fewer columns, or add a filter or a LIMIT`,
          );
        else {
          count += 1;
          take(row);
        }
        return fault === undefined;
      },
    });
    if (fault !== undefined) throw fault;
    return columns;
  }

  async function copy(sql: string, file: CopiedFile, _session?: number, limit?: AbortSignal) {
    const open = await getSession();
    if (open.copy === undefined) throw new Error('the warehouse reads and writes files itself');
    return { rowCount: await open.copy(sql, file, limit) };
  }

  return {
    execute: (sql, _session, limit, secret) => execute(sql, limit, secret),
    async query(sql, maxRows, _session, limit, secret) {
      const rows: Value[][] = [];
      const columns = await readRows(sql, { maxRows, limit, secret }, (row) => void rows.push(row));
      return { columns, rows };
    },
    async queryText(sql, maxRows, _session, limit, secret) {
      const rows: string[] = [];
      const take = (row: Value[]) => void rows.push(JSON.stringify(row));
      const columns = await readRows(sql, { maxRows, limit, secret }, take);
      return `{"columns":${JSON.stringify(columns)},"rows":[${rows.join(',')}]}`;
    },
    ...(first.copy === undefined ? {} : { copy }),
    async close() {
      isClosed = true;
      await session.close();
    },
  };
}
