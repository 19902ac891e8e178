/**
 * What a test reads in `information_schema`: its own tables. DuckDB lists the tables of all databases there,
 * so each table would be listed twice, and the tables of other tests with it.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { quoteName, quoteText } from '../statements/duckdb-names.ts';
import { hasName, readStatements } from '../statements/sql-words.ts';

/** The views, and the column of each that has the catalog. */
const redirected = {
  tables: 'table_catalog',
  columns: 'table_catalog',
  schemata: 'catalog_name',
} as const;
/** Where the scratch database keeps them, and the mark. */
export const ownSchema = 'headgate_test';

export async function createCatalogViews(
  connection: DuckDBConnection,
  { name, real }: { name: string; real: string },
): Promise<void> {
  for (const [view, catalog] of Object.entries(redirected)) {
    const schema = view === 'schemata' ? 'schema_name' : 'table_schema';
    // A view that stands for a table is a table for the test.
    const columns =
      view === 'tables'
        ? `* replace (case when exists (select 1 from system.main.duckdb_tables() r where r.database_name = ${quoteText(real)}
            and r.schema_name = t.table_schema and r.table_name = t.table_name) then 'BASE TABLE' else table_type end as table_type)`
        : '*';
    await connection.run(
      `create view ${quoteName(name)}.${ownSchema}.${view} as select ${columns} from system.information_schema.${view} t
        where ${catalog} = ${quoteText(name)} and ${schema} <> ${quoteText(ownSchema)}`,
    );
  }
}

const informationSchema = new Set(['information_schema']);

/** The statement with its names of the information schema replaced, word by word. */
export function redirectCatalog(sql: string, name: string): string {
  if (!hasName(sql, informationSchema)) return sql;
  const words = readStatements(sql)[0] ?? [];
  let written = '';
  let end = 0;
  for (const [index, word] of words.entries()) {
    const [dot, view] = [words[index + 1], words[index + 2]];
    const isSchema = word.kind !== 'text' && word.value === 'information_schema';
    const before = words[index - 1];
    const isQualified = before?.kind === 'symbol' && before.value === '.';
    if (!isSchema || isQualified || dot?.value !== '.' || view === undefined) continue;
    if (view.kind === 'text' || !Object.hasOwn(redirected, view.value)) continue;
    written += `${sql.slice(end, word.from)}${quoteName(name)}.${ownSchema}.${view.value}`;
    end = view.to;
  }
  return written + sql.slice(end);
}
