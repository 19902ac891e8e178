/** The run's session with the warehouse. Branches take turns, so that transactions of branches do not mix. */
import type { PreparedStatement, StatementList } from '@headgate/pipelines';
import type { Warehouse } from './ports.ts';

export interface Session extends Warehouse {
  /**
   * Runs a user's statements in order. Returns the `rowCount` of the last one.
   *
   * @throws Error, also if the statements leave a transaction open, which is then rolled back
   */
  executeScript(statements: readonly (string | PreparedStatement)[]): Promise<{ rowCount: number }>;
  /** Runs all statements atomically. Returns the `rowCount` of the counted one. */
  executeAll(list: StatementList): Promise<{ rowCount: number }>;
}

export function createSession(warehouse: Warehouse): Session {
  let last: Promise<unknown> = Promise.resolve();
  function runInTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  }
  return {
    execute: (sql) => runInTurn(() => warehouse.execute(sql)),
    query: (sql, maxRows) => runInTurn(() => warehouse.query(sql, maxRows)),
    async executeScript(statements) {
      // Keep statements of other branches out of the script's transaction.
      if (statements.some((statement) => mayBegin.test(readSql(statement))))
        return runInTurn(() => runScript(warehouse, statements));
      let rowCount = 0;
      for (const statement of statements)
        rowCount = await runInTurn(() => executePrepared(warehouse, statement));
      return { rowCount };
    },
    executeAll: ({ statements, counted }) =>
      runInTurn(() =>
        statements.length === 1
          ? runAll(warehouse, statements, counted)
          : runTransaction(warehouse, statements, counted),
      ),
  };
}

/** A script without these words cannot begin a transaction. */
const mayBegin = /\b(?:begin|start)\b/i;
const noTransaction = /no transaction is active/i;
const leftOpen = 'the script leaves a transaction open: end it with COMMIT or ROLLBACK';

async function runScript(warehouse: Warehouse, statements: readonly (string | PreparedStatement)[]) {
  let rowCount = 0;
  try {
    for (const statement of statements) rowCount = await executePrepared(warehouse, statement);
  } catch (error) {
    // An open transaction would include the statements of the next component.
    await warehouse.execute('ROLLBACK').catch(() => undefined);
    throw error;
  }
  if (await rollBackIfActive(warehouse)) throw new Error(leftOpen);
  return { rowCount };
}

const readSql = (statement: string | PreparedStatement) =>
  typeof statement === 'string' ? statement : statement.sql;

/** Returns the rows that the statement changed or returned. */
async function executePrepared(warehouse: Warehouse, statement: string | PreparedStatement): Promise<number> {
  if (typeof statement === 'string') return (await warehouse.execute(statement)).rowCount;
  const { sql, before, after, onlyIf } = statement;
  if (onlyIf !== undefined && (await warehouse.query(onlyIf, 1)).rows.length === 0) return 0;
  if (before.length + after.length === 0) return (await warehouse.execute(sql)).rowCount;
  const statements = [...before, sql, ...after];
  const isNested = await beginUnlessActive(warehouse);
  const { rowCount } = await (isNested
    ? runAll(warehouse, statements, before.length)
    : commitAll(warehouse, statements, before.length));
  return rowCount;
}

/** Returns whether a transaction of the script was active. */
async function beginUnlessActive(warehouse: Warehouse): Promise<boolean> {
  try {
    await warehouse.execute('BEGIN TRANSACTION');
    return false;
  } catch (error) {
    if (error instanceof Error && /within a transaction/i.test(error.message)) return true;
    throw error;
  }
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

async function runTransaction(warehouse: Warehouse, statements: readonly string[], counted: number) {
  await warehouse.execute('BEGIN TRANSACTION');
  return commitAll(warehouse, statements, counted);
}

async function commitAll(warehouse: Warehouse, statements: readonly string[], counted: number) {
  try {
    const result = await runAll(warehouse, statements, counted);
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
