/**
 * The run's session with the warehouse: its branches take turns, so that one branch's transaction holds no statement of another.
 */
import type { StatementList } from '@headgate/pipelines';
import type { Warehouse } from './ports.ts';

export interface Session extends Warehouse {
  /** Runs a list of statements: all of them take effect, or none. `rowCount` is that of the counted one. */
  executeAll(list: StatementList): Promise<{ rowCount: number }>;
}

export function createSession(warehouse: Warehouse): Session {
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  }
  return {
    execute: (sql) => inTurn(() => warehouse.execute(sql)),
    query: (sql, maxRows) => inTurn(() => warehouse.query(sql, maxRows)),
    executeAll: ({ statements, counted }) =>
      inTurn(() =>
        statements.length === 1
          ? runAll(warehouse, statements, counted)
          : transaction(warehouse, statements, counted),
      ),
  };
}

async function transaction(warehouse: Warehouse, statements: readonly string[], counted: number) {
  await warehouse.execute('BEGIN TRANSACTION');
  try {
    const result = await runAll(warehouse, statements, counted);
    await warehouse.execute('COMMIT');
    return result;
  } catch (error) {
    // When the warehouse itself is gone there is nothing to roll back; the first error is the one that matters.
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
