/**
 * Tables made like others, by CLONE and LIKE: with the lengths of texts, defaults, NOT NULL and keys, which
 * CREATE TABLE … AS leaves out.
 */

import { type Frame, refuse } from '../rewrite/frame.ts';
import { quoteText } from '../tokens/tokens.ts';
import { isWord, type Node } from '../tokens/tree.ts';
import type { NamedTable } from './statement-sql.ts';

/** SQL that quotes the name that other SQL gives. */
export const quoteSql = (sql: string) => `'"' || replace(${sql}, '"', '""') || '"'`;

/** SQL of a table's row in `duckdb_tables()`. A temporary table hides another one of its name. */
export function selectTable({ place }: Pick<NamedTable, 'place'>): string {
  const [name = '', schema = ''] = place.toReversed();
  const same = (of: string, value: string) => `lower(${of}) = ${quoteText(value.toLowerCase())}`;
  return `SELECT * FROM duckdb_tables() WHERE database_name IN (current_database(), 'temp') AND ${same('schema_name', schema)} AND ${same('table_name', name)} QUALIFY row_number() OVER (ORDER BY database_name <> 'temp') = 1`;
}

/** SQL for `(database_name, table_oid, body)`: the columns of each table with their types, and its CHECKs. */
export const tableBodies = `(SELECT database_name, table_oid, '(' || columns || coalesce(checks, '') || ')' AS body FROM (SELECT database_name, table_oid, string_agg(${quoteSql('column_name')} || ' ' || data_type, ', ' ORDER BY column_index) AS columns FROM duckdb_columns() GROUP BY ALL) LEFT JOIN (SELECT database_name, table_oid, string_agg(', ' || constraint_text, '') AS checks FROM duckdb_constraints() WHERE constraint_type = 'CHECK' GROUP BY ALL) USING (database_name, table_oid))`;

export interface TableCopy {
  /** `CREATE TABLE name`, and the name alone. */
  readonly head: string;
  readonly target: string;
  readonly source: NamedTable;
  readonly rows: boolean;
  readonly defaults: boolean;
  readonly keys: boolean;
}

/** A query for the statements that make the table. */
export function listTableCopy({ head, target, source, rows, defaults, keys }: TableCopy): string {
  const missing = quoteText(`there is no table ${source.names.join('.')} to copy`);
  const alter = `${quoteText(`ALTER TABLE ${target} ALTER COLUMN `)} || ${quoteSql('column_name')}`;
  const ofColumns = 'FROM duckdb_columns() JOIN source USING (database_name, table_oid)';
  const steps = [
    `SELECT 0 AS step, error(${missing}) AS statement WHERE NOT EXISTS (FROM source)`,
    `SELECT 1, ${quoteText(head)} || body FROM ${tableBodies} JOIN source USING (database_name, table_oid)`,
  ];
  if (rows) steps.push(`SELECT 2, ${quoteText(`INSERT INTO ${target} SELECT * FROM ${source.sql}`)}`);
  if (defaults)
    steps.push(
      `SELECT 3, ${alter} || ' SET DEFAULT ' || column_default ${ofColumns} WHERE column_default IS NOT NULL`,
    );
  steps.push(`SELECT 4, ${alter} || ' SET NOT NULL' ${ofColumns} WHERE NOT is_nullable`);
  if (keys)
    steps.push(
      `SELECT 5, ${quoteText(`COMMENT ON COLUMN ${target}.`)} || ${quoteSql('column_name')} || ' IS ''' || replace(kept.comment, '''', '''''') || '''' FROM duckdb_columns() kept JOIN source USING (database_name, table_oid) WHERE kept.comment IS NOT NULL`,
    );
  return `WITH source AS (${selectTable(source)}) SELECT statement FROM (${steps.join(' UNION ALL ')}) ORDER BY step`;
}

/** Refuses what follows the name of the source, but for options without effect. */
export function refuseEarlierState(nodes: readonly Node[], at: number, frame: Frame): void {
  const node = nodes[at];
  if (node !== undefined && !isWord(node, 'DATA_RETENTION_TIME_IN_DAYS', 'COPY'))
    refuse(
      frame,
      node,
      'CLONE of an earlier state (AT, BEFORE) is not supported here: the warehouse keeps only the present state',
    );
}
