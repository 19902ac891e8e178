/**
 * The rows of all tables, as a relation that the information schema of the rewriter reads. DuckDB's catalog has only
 * an estimate, in which deleted rows count.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { rowCountsRelation } from '@headgate/pipelines/user-sql';
import { quoteName, quoteText } from '../statements/duckdb-names.ts';
import type { Scratch } from './duckdb-scratch.ts';

/** Tables that are counted. Others have no number. */
const mostTables = 2_000;
/** A chain of UNION is as deep as it is long. */
const ofChain = 100;

/** The SQL with a query in the place of each `rowCountsRelation`. */
export async function countRows(
  connection: DuckDBConnection,
  sql: string,
  scratch?: Pick<Scratch, 'real'>,
): Promise<string> {
  if (!sql.includes(rowCountsRelation)) return sql;
  // The tables of the environment have stand-ins of the same name in a test.
  const real = scratch === undefined ? '' : `, ${quoteText(scratch.real)}`;
  const reader = await connection.runAndReadAll(
    `select distinct schema_name, table_name from system.main.duckdb_tables() where database_name in (current_database()${real}) and not internal order by all limit ${mostTables}`,
  );
  const counts = reader
    .getRows()
    .map((row) => row.map(String))
    .map(
      ([schema = '', table = '']) =>
        `SELECT ${quoteText(schema)}, ${quoteText(table)}, count(*) FROM ${quoteName(schema)}.${quoteName(table)}`,
    );
  const chains: string[] = ['SELECT NULL::VARCHAR, NULL::VARCHAR, NULL::BIGINT WHERE false'];
  for (let from = 0; from < counts.length; from += ofChain)
    chains.push(`(${counts.slice(from, from + ofChain).join(' UNION ALL ')})`);
  return sql.replaceAll(rowCountsRelation, () => `(${chains.join(' UNION ALL ')})`);
}
