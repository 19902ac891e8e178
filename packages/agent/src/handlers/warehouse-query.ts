/** Runs one query that only reads in the warehouse of an environment, and reports its first rows. */
import { followSignals } from '../followed-signals.ts';
import { getReason } from '../log.ts';
import { cleanText } from '../session/clean-text.ts';
import type { ReadRows, Warehouses } from '../warehouses/warehouse.ts';
import type { ConnectorDependencies } from './connector-options.ts';
import type { Handler } from './handler.ts';
import { createSecretOptions } from './run-secret-options.ts';
import { readSqlRules } from './sql-rules.ts';
import { openWorkWarehouse } from './work-warehouse.ts';

export interface WarehouseQueryDependencies extends ConnectorDependencies {
  warehouses: Warehouses;
}

const messageLimit = 5_000;

export function createWarehouseQueryHandler(
  dependencies: WarehouseQueryDependencies,
): Handler<'warehouse-query'> {
  return async (work, context) => {
    const { payload } = work;
    const { kill, cancel } = context;
    const { projectId, environmentName, generation, sql, maxRows, maxBytes, seconds } = payload;
    const late = AbortSignal.timeout(seconds * 1_000);
    const { controller, release } = followSignals([kill, cancel, late]);
    try {
      const place = { projectId, environmentName, generation };
      const { readWarehouseSecret: readSecret } = createSecretOptions(work, place, context, dependencies);
      const opened = openWorkWarehouse(dependencies.warehouses, {
        warehouse: payload.warehouse,
        place,
        id: work.workId,
        readSecret,
      });
      const connection = await opened.connectReading();
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
