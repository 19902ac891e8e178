/**
 * VARCHAR(n) and CHAR(n) of tables. DuckDB knows no lengths of texts, so each such column has a CHECK, which says what
 * is wrong. DuckDB does not change the type of a column with a CHECK: then the table is made again.
 */

import { readTextLength, type SourceDialect } from '../functions/index.ts';
import type { Frame } from '../rewrite/frame.ts';
import { readType } from '../rewrite/sql-types.ts';
import { vendorOf } from '../tokens/names.ts';
import { quoteName, quoteText } from '../tokens/tokens.ts';
import { isName, isWord, type Node } from '../tokens/tree.ts';
import type { NamedTable } from './statement-sql.ts';
import { quoteSql, selectTable } from './table-copies.ts';

/** In the text of every such CHECK, and in its error. */
export const lengthMark = ', and the column is ';

/** The CHECK of a column of CREATE TABLE, with a blank before it; '' if its texts may have any length. */
export function renderLengthCheck(part: readonly Node[], frame: Frame): string {
  const name = part[0];
  if (!isName(name) || isWord(part[1], 'AS', 'GENERATED')) return '';
  const type = readType(part, 1, frame);
  const dialect = vendorOf(frame.script.names);
  const length = type === undefined ? undefined : readTextLength(type.name, type.args, dialect, 'column');
  if (type === undefined || length === undefined) return '';
  return writeLengthCheck(name.text, type.name, length, dialect);
}

/** @param type as it was written, without its length */
export function writeLengthCheck(name: string, type: string, length: number, dialect: SourceDialect): string {
  const column = quoteName(name);
  // Redshift counts bytes, and does not count blanks at the end.
  const [unit, count] =
    dialect === 'redshift' ? ['bytes', `strlen(rtrim(${column}))`] : ['characters', `length(${column})`];
  const fault = `${count} || ' ${unit}${lengthMark}${type}(${length})'`;
  return ` CHECK (CASE WHEN ${count} > ${length} THEN error(${fault}) ELSE true END)`;
}

/**
 * A query for the statements that change the type of a column, which may have a CHECK.
 *
 * @param change ALTER TABLE … SET DATA TYPE …
 * @param check of the new type
 */
export function listTypeChange(table: NamedTable, column: string, change: string, check: string): string {
  const ofColumn = `lower(constraint_column_names[1]) = ${quoteText(column.toLowerCase())}`;
  const checked = `SELECT altered.*, ', ' || constraint_text AS removed FROM duckdb_constraints() JOIN altered USING (database_name, table_oid) WHERE constraint_type = 'CHECK' AND contains(constraint_text, ${quoteText(lengthMark)}) AND ${ofColumn}`;
  // A text stays a text.
  const otherwise = `SELECT 7, ${quoteText(change)}${check === '' ? '' : ' WHERE NOT EXISTS (FROM checked)'}`;
  return orderSteps(table, checked, [...listRebuild(table, check === '' ? '' : `,${check}`), otherwise]);
}

/** A query for the statements that give a table the CHECKs of columns that were added. */
export function listAddedChecks(table: NamedTable, checks: readonly string[]): string {
  const added = checks.map((check) => `,${check}`).join('');
  // Nothing is removed: no table has this character in its SQL.
  return orderSteps(table, 'SELECT altered.*, chr(1) AS removed FROM altered', listRebuild(table, added));
}

function orderSteps(table: NamedTable, checked: string, steps: readonly string[]): string {
  const placed = `CASE WHEN database_name = 'temp' THEN 'temp.' ELSE '' END || ${quoteSql('schema_name')} || '.' AS place`;
  const altered = `SELECT *, ${placed} FROM (${selectTable(table)})`;
  return `WITH altered AS (${altered}), checked AS (${checked}) SELECT statement FROM (${steps.join(' UNION ALL ')}) ORDER BY step`;
}

/** SQL for the steps that make each table of `checked` again, without what it removes, and with more CHECKs. */
function listRebuild({ place }: NamedTable, checks: string): string[] {
  const name = place.at(-1) ?? '';
  const [table, aside] = [quoteName(name), '"headgate_altered"'].map((each) => `place || ${quoteText(each)}`);
  const comment = `' IS ''' || replace(comment, '''', '''''') || ''''`;
  // Of `CREATE TABLE name(columns, CHECK(…));`: what begins with the parenthesis.
  const columns = `substr(sql, strpos(sql, '('))`;
  const body = `regexp_replace(replace(${columns}, removed, ''), '\\);?$', '')`;
  const isNamedOddly = "contains(table_name || schema_name, '(')";
  const refusal =
    "error('the type of a column of a table with a parenthesis in its name cannot be changed here: make the table again')";
  return [
    `SELECT 1 AS step, 'CREATE ' || CASE database_name WHEN 'temp' THEN 'TEMPORARY ' ELSE '' END || 'TABLE ' || ${aside} || CASE WHEN ${isNamedOddly} THEN ${refusal} ELSE ${body} END || ${quoteText(`${checks})`)} AS statement FROM checked`,
    `SELECT 2, 'INSERT INTO ' || ${aside} || ' SELECT * FROM ' || ${table} FROM checked`,
    `SELECT 3, 'DROP TABLE ' || ${table} FROM checked`,
    `SELECT 4, 'ALTER TABLE ' || ${aside} || ' RENAME TO ' || ${quoteText(quoteName(name))} FROM checked`,
    `SELECT 5, made.sql FROM duckdb_indexes() made JOIN checked USING (database_name, table_oid)`,
    `SELECT 6, 'COMMENT ON TABLE ' || ${table} || ${comment} FROM checked WHERE comment IS NOT NULL`,
    `SELECT 6, 'COMMENT ON COLUMN ' || ${table} || '.' || ${quoteSql('column_name')} || ${comment} FROM (SELECT place, commented.column_name, commented.comment FROM duckdb_columns() commented JOIN checked USING (database_name, table_oid)) WHERE comment IS NOT NULL`,
  ];
}
