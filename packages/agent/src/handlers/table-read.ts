/** Reads the tables and views of the warehouse of an environment. */
import type { ProjectWarehouse, TableReadResult } from '@headgate/contract';
import { cleanText } from '../session/clean-text.ts';
import { duckdbCatalog } from '../warehouses/catalog/duckdb-catalog.ts';
import { createPostgresCatalog } from '../warehouses/catalog/postgres-catalog.ts';
import { createSnowflakeCatalog } from '../warehouses/catalog/snowflake-catalog.ts';
import type { TableCatalog } from '../warehouses/catalog/table-catalog.ts';
import { readTables } from '../warehouses/table-reads.ts';
import type { Handler } from './handler.ts';
import { readWarehouse, type WarehouseQueryDependencies } from './warehouse-query.ts';

export function createTableReadHandler(dependencies: WarehouseQueryDependencies): Handler<'table-read'> {
  return (work, context) =>
    readWarehouse(work, context, dependencies, async ({ defaults, read }) => {
      const catalog = chooseCatalog(work.payload.warehouse.kind, defaults?.schema);
      return { status: 'SUCCESS', tableRead: cleanTexts(await readTables(work.payload, catalog, read)) };
    });
}

function chooseCatalog(kind: ProjectWarehouse['kind'], schema: string | undefined): TableCatalog {
  if (kind === 'snowflake') return createSnowflakeCatalog(schema ?? 'PUBLIC');
  return kind === 'postgres' ? createPostgresCatalog(schema ?? 'public') : duckdbCatalog;
}

/** Without characters that the server cannot store. */
function cleanTexts(result: TableReadResult): TableReadResult {
  const clean = (_: string, value: unknown) =>
    typeof value === 'string' ? cleanText(value, value.length) : value;
  return JSON.parse(JSON.stringify(result, clean));
}
