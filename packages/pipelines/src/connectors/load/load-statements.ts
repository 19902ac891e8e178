/** The statements that fill a table with the rows of a load. */
import type { Dialect, StatementList, TableReference } from '../../sql/dialect/dialect.ts';
import { ConnectorError } from '../profile.ts';
import { type MatchedColumn, requireUnrounded } from './column-change.ts';
import type { EndpointLoad, LoadMode } from './endpoint-load.ts';
import { type LoadTable, sqlType } from './load-rows.ts';

/** Where high-water marks are kept: in the environment's own database, so that they move with its rows. */
const markTable: TableReference = { table: 'headgate_high_water_marks' };

export function createMarkTable(dialect: Dialect): string {
  return `CREATE TABLE IF NOT EXISTS ${dialect.table(markTable)} (load_key VARCHAR, high_water_mark VARCHAR, updated_at TIMESTAMP)`;
}

export function readMark(dialect: Dialect, key: string): string {
  return `SELECT high_water_mark FROM ${dialect.table(markTable)} WHERE load_key = ${dialect.literal(key)}`;
}

export function writeMark(dialect: Dialect, key: string, value: string): string[] {
  const table = dialect.table(markTable);
  return [
    `DELETE FROM ${table} WHERE load_key = ${dialect.literal(key)}`,
    `INSERT INTO ${table} (load_key, high_water_mark, updated_at) SELECT ${dialect.literal(key)}, ${dialect.literal(value)}, CAST(current_timestamp AS TIMESTAMP)`,
  ];
}

const creations: Readonly<Record<LoadMode, string>> = {
  replace: 'CREATE OR REPLACE TABLE',
  'fail-if-exists': 'CREATE TABLE',
  truncate: 'CREATE TABLE',
  append: 'CREATE TABLE',
};

/** @throws ConnectorError if its columns are not known, or would round a number */
export function createLoadTable(
  { mode }: EndpointLoad,
  { target, columns }: LoadTable,
  dialect: Dialect,
): string {
  if (columns.length === 0) throw describeUnknownColumns(target);
  requireUnrounded(target, columns);
  const lines = columns.map(({ name, type }) => `${dialect.name(name)} ${sqlType(dialect, type)}`);
  return `${creations[mode]} ${dialect.table(target)} (\n  ${lines.join(',\n  ')}\n)`;
}

const describeUnknownColumns = ({ table }: TableReference) =>
  new ConnectorError(
    `no row with members has come, and the profile has no schema, so the columns of "${table}" are not known: add the schema to the profile`,
  );

/** @param rows the query for the values as they came */
export function fillTable(
  { mode }: EndpointLoad,
  { target, keys, replaced = '' }: LoadTable,
  matched: readonly MatchedColumn[],
  rows: string,
  dialect: Dialect,
): StatementList {
  const table = dialect.table(target);
  if (matched.length === 0) throw describeUnknownColumns(target);
  const values = matched.map(({ column, fit }) => `${fit.value} AS ${dialect.name(column.name)}`);
  const query = `SELECT ${values.join(', ')} FROM (\n${rows}\n)`;
  const insert = dialect.insertRows(table, query, undefined);
  if (mode !== 'append' || keys.length === 0) return { statements: [insert], counted: 0 };
  const keyValues = matched
    .filter(({ column }) => keys.includes(column.name))
    .map(({ column, fit }) => ({ name: dialect.name(column.name), value: fit.value }));
  const names = keyValues.map(({ name }) => name).join(', ');
  const loaded = keyValues.map(({ value }) => value).join(', ');
  const from = replaced === '' ? rows : replaced;
  return {
    statements: [`DELETE FROM ${table} WHERE (${names}) IN (SELECT ${loaded} FROM (\n${from}\n))`, insert],
    counted: 1,
  };
}
