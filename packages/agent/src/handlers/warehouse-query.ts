/** Runs one query that only reads in the warehouse of an environment, and reports its first rows. */
import type { WorkOf } from '@headgate/contract';
import { followSignals } from '../followed-signals.ts';
import { getReason } from '../log.ts';
import { cleanText } from '../session/clean-text.ts';
import type { Outcome } from '../session/outbox.ts';
import type { ReadBounds, ReadRows, Warehouses } from '../warehouses/warehouse.ts';
import type { ConnectorDependencies } from './connector-options.ts';
import type { Handler, WorkContext } from './handler.ts';
import { createSecretOptions } from './run-secret-options.ts';
import { readSqlRules } from './sql-rules.ts';
import { openWorkWarehouse, type WorkWarehouse } from './work-warehouse.ts';

export interface WarehouseQueryDependencies extends ConnectorDependencies {
  warehouses: Warehouses;
}

const messageLimit = 5_000;

export function createWarehouseQueryHandler(
  dependencies: WarehouseQueryDependencies,
): Handler<'warehouse-query'> {
  return (work, context) => {
    const { environmentName, warehouse, sql, maxRows, maxBytes } = work.payload;
    const bounds = { maxRows, maxBytes, rules: readSqlRules(warehouse, environmentName) };
    return readWarehouse(work, context, dependencies, async ({ read }) => ({
      status: 'SUCCESS',
      queryResult: cleanRows(await read(sql, bounds)),
    }));
  };
}

export interface OpenReading {
  /** Of the warehouse. Absent: as in the embedded one. */
  defaults: WorkWarehouse['defaults'];
  /** Runs one query. */
  read(sql: string, bounds: ReadBounds): Promise<ReadRows>;
}

/** Work that only reads, with its limit of time, and its failures in words. */
export async function readWarehouse(
  work: WorkOf<'warehouse-query'> | WorkOf<'table-read'>,
  context: WorkContext,
  dependencies: WarehouseQueryDependencies,
  run: (reading: OpenReading) => Promise<Outcome>,
): Promise<Outcome> {
  const { projectId, environmentName, generation, warehouse, seconds } = work.payload;
  const { kill, cancel } = context;
  const late = AbortSignal.timeout(seconds * 1_000);
  const { controller, release } = followSignals([kill, cancel, late]);
  try {
    const place = { projectId, environmentName, generation };
    const { readWarehouseSecret: readSecret } = createSecretOptions(work, place, context, dependencies);
    const opened = openWorkWarehouse(dependencies.warehouses, {
      warehouse,
      place,
      id: work.workId,
      readSecret,
    });
    return await run({
      defaults: opened.defaults,
      async read(sql, bounds) {
        const connection = await opened.connectReading();
        return connection.read(sql, bounds, controller.signal).finally(() => connection.close());
      },
    });
  } catch (error) {
    if (cancel.aborted) return { status: 'CANCELLED', message: 'the query was cancelled' };
    const message = late.aborted
      ? `the query took longer than ${seconds} s: add a filter or a LIMIT`
      : getReason(error).slice(0, messageLimit);
    return { status: 'FAILED', message };
  } finally {
    release();
  }
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
