/** Runs one query that only reads in the warehouse of an environment, and reports its first rows. */
import { followSignals } from '../followed-signals.ts';
import { getReason } from '../log.ts';
import { cleanText } from '../session/clean-text.ts';
import type { ReadRows, WarehouseDriver, WarehouseKind } from '../warehouses/warehouse.ts';
import type { Handler } from './handler.ts';
import { readSqlRules } from './sql-rules.ts';

export interface WarehouseQueryDependencies {
  warehouses: Record<WarehouseKind, WarehouseDriver>;
}

const messageLimit = 5_000;

export function createWarehouseQueryHandler({
  warehouses,
}: WarehouseQueryDependencies): Handler<'warehouse-query'> {
  return async ({ payload }, { kill, cancel }) => {
    const { projectId, environmentName, generation, sql, maxRows, maxBytes, seconds } = payload;
    const { kind } = payload.warehouse;
    if (kind !== 'duckdb')
      return { status: 'FAILED', message: `this agent does not support the project's warehouse, ${kind}` };
    const late = AbortSignal.timeout(seconds * 1_000);
    const { controller, release } = followSignals([kill, cancel, late]);
    try {
      const connection = await warehouses[kind].connectReading({ projectId, environmentName, generation });
      try {
        const found = await connection.read(
          sql,
          { maxRows, maxBytes, rules: readSqlRules(payload.warehouse, environmentName) },
          controller.signal,
        );
        return { status: 'SUCCESS', queryResult: cleanRows(found) };
      } finally {
        await connection.close();
      }
    } catch (error) {
      if (cancel.aborted) return { status: 'CANCELLED', message: 'the query was cancelled' };
      const message = late.aborted
        ? `the query took longer than ${seconds} s: add a filter or a LIMIT`
        : getReason(error).slice(0, messageLimit);
      return { status: 'FAILED', message };
    } finally {
      release();
    }
  };
}

/** Without characters that the server cannot store. */
function cleanRows({ columns, rows, isCut }: ReadRows): ReadRows {
  const clean = (text: string) => cleanText(text, text.length);
  return {
    columns: columns.map(clean),
    rows: rows.map((row) => row.map((cell) => (typeof cell === 'string' ? clean(cell) : cell))),
    isCut,
  };
}
