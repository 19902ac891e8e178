/** The run's session with the warehouse. Branches take turns, so that transactions of branches do not mix. */
import type { PreparedStatement, StatementList } from '@headgate/pipelines';
import type { Warehouse } from './ports.ts';

export interface Session extends Omit<Warehouse, 'execute' | 'query'> {
  execute(sql: string): Promise<{ rowCount: number }>;
  query(sql: string, maxRows: number): Promise<{ columns: string[]; rows: unknown[][] }>;
  /**
   * Runs a user's statements in order. Returns the `rowCount` of the last one.
   *
   * @throws Error, also if the statements leave a transaction open, which is then rolled back
   */
  executeScript(statements: readonly (string | PreparedStatement)[]): Promise<{ rowCount: number }>;
  /** Runs all statements atomically. Returns the `rowCount` of the counted one. */
  executeAll(list: StatementList): Promise<{ rowCount: number }>;
  /** The same session. `onStatement` gets each statement of a component before it runs. */
  watch(onStatement: (sql: string) => void): Session;
  /** The same session. When `signal` is aborted, a running statement is interrupted and no other one starts. */
  limit(signal: AbortSignal): Session;
}

export function createSession(warehouse: Warehouse): Session {
  let last: Promise<unknown> = Promise.resolve();
  function runInTurn<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    // It must not wait for the end of another branch's statement.
    const stopWaiting = () => reject(signal?.reason);
    signal?.addEventListener('abort', stopWaiting, { once: true });
    const result = last.then(() => {
      signal?.removeEventListener('abort', stopWaiting);
      signal?.throwIfAborted();
      return work();
    });
    last = result.catch(() => undefined);
    return Promise.race([result, late]);
  }
  return createView(() => undefined, undefined);

  function createView(onStatement: (sql: string) => void, signal: AbortSignal | undefined): Session {
    const watched: Warehouse = {
      async execute(sql) {
        signal?.throwIfAborted();
        onStatement(sql);
        return warehouse.execute(sql, signal);
      },
      async query(sql, maxRows) {
        signal?.throwIfAborted();
        onStatement(sql);
        return warehouse.query(sql, maxRows, signal);
      },
    };
    return {
      ...createTurns(warehouse, watched, (work) => runInTurn(work, signal)),
      watch: (next) => createView(next, signal),
      limit: (next) => createView(onStatement, next),
    };
  }
}

type RunInTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** `watched`: the same warehouse, for the statements of components. */
function createTurns(
  warehouse: Warehouse,
  watched: Warehouse,
  runInTurn: RunInTurn,
): Omit<Session, 'watch' | 'limit'> {
  return {
    execute: (sql) => runInTurn(() => watched.execute(sql)),
    query: (sql, maxRows) => runInTurn(() => watched.query(sql, maxRows)),
    async executeScript(statements) {
      // Keep statements of other branches out of the script's transaction.
      if (statements.some((statement) => mayBegin.test(readSql(statement))))
        return runInTurn(() => runScript(warehouse, watched, statements));
      let rowCount = 0;
      for (const statement of statements)
        if (!commits(statement))
          rowCount = await runInTurn(() => executePrepared(warehouse, watched, statement));
      return { rowCount };
    },
    executeAll: ({ statements, counted }) =>
      runInTurn(() =>
        statements.length === 1
          ? runAll(watched, statements, counted)
          : runTransaction(warehouse, watched, { statements, counted }),
      ),
  };
}

/** A script without these words cannot begin a transaction. */
const mayBegin = /\b(?:begin|start)\b/i;
const noTransaction = /no transaction is active/i;
const leftOpen = 'the script leaves a transaction open: end it with COMMIT or ROLLBACK';

async function runScript(
  warehouse: Warehouse,
  watched: Warehouse,
  statements: readonly (string | PreparedStatement)[],
) {
  let rowCount = 0;
  try {
    let isActive = false;
    for (const statement of statements) {
      if (commits(statement) && !isActive) continue;
      rowCount = await executePrepared(warehouse, watched, statement, isActive);
      const kind = readKind(statement);
      if (kind === 'BEGIN' || kind === 'START') isActive = true;
      else if (commits(statement) || rollsBack(statement)) isActive = false;
    }
  } catch (error) {
    // An open transaction would include the statements of the next component.
    await warehouse.execute('ROLLBACK').catch(() => undefined);
    throw error;
  }
  if (await rollBackIfActive(warehouse)) throw new Error(leftOpen);
  return { rowCount };
}

const readKind = (statement: string | PreparedStatement) =>
  typeof statement === 'string' ? '' : statement.kind;

/** Without an active transaction it has no effect, as in Snowflake and Redshift: everything is committed. */
const commits = (statement: string | PreparedStatement) => ['COMMIT', 'END'].includes(readKind(statement));
/** Without an active transaction it fails: it would undo nothing. */
const rollsBack = (statement: string | PreparedStatement) =>
  ['ROLLBACK', 'ABORT'].includes(readKind(statement));

const readSql = (statement: string | PreparedStatement) =>
  typeof statement === 'string' ? statement : statement.sql;

/**
 * Returns the rows that the statement changed or returned.
 *
 * @param isNested whether a transaction of the script is active
 */
async function executePrepared(
  warehouse: Warehouse,
  watched: Warehouse,
  statement: string | PreparedStatement,
  isNested = false,
): Promise<number> {
  if (typeof statement === 'string') return (await watched.execute(statement)).rowCount;
  const { sql, before, after, onlyIf } = statement;
  if (onlyIf !== undefined && (await warehouse.query(onlyIf, 1)).rows.length === 0) return 0;
  if (before.length + after.length === 0) return (await watched.execute(sql)).rowCount;
  const list = { statements: [...before, sql, ...after], counted: before.length };
  const { rowCount } = await (isNested
    ? runAll(watched, list.statements, list.counted)
    : runTransaction(warehouse, watched, list));
  return rowCount;
}

/** Rolls back an open transaction. Returns whether there was one. */
async function rollBackIfActive(warehouse: Warehouse): Promise<boolean> {
  try {
    await warehouse.execute('ROLLBACK');
    return true;
  } catch (error) {
    if (error instanceof Error && noTransaction.test(error.message)) return false;
    throw error;
  }
}

async function runTransaction(
  warehouse: Warehouse,
  watched: Warehouse,
  { statements, counted }: StatementList,
) {
  await warehouse.execute('BEGIN TRANSACTION');
  try {
    const result = await runAll(watched, statements, counted);
    await warehouse.execute('COMMIT');
    return result;
  } catch (error) {
    // If the warehouse is gone there is nothing to roll back. Report the first error.
    await warehouse.execute('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function runAll(warehouse: Warehouse, statements: readonly string[], counted: number) {
  let rowCount = 0;
  for (const [index, statement] of statements.entries()) {
    const result = await warehouse.execute(statement);
    if (index === counted) rowCount = result.rowCount;
  }
  return { rowCount };
}
