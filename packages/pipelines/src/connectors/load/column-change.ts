/** Whether the values of a load fit the columns that a table has, and what becomes of the columns if not. */

import { shorten } from '../../format/template.ts';
import type { Conversion, Dialect, TableReference, ValueFit } from '../../sql/dialect/dialect.ts';
import { ConnectorError } from '../profile.ts';
import type { ConnectorColumn, ConnectorColumnType } from '../schema.ts';
import type { EndpointLoad } from './endpoint-load.ts';
import { isSameName, type LoadTable, rowNumber, sqlType } from './load-rows.ts';
import { shortenValue } from './shortened-value.ts';

export interface ExistingColumn {
  name: string;
  type: string;
}

/** A column of the load, and what the table has for it; `known` undefined: nothing. */
export interface MatchedColumn {
  column: ConnectorColumn;
  known: ExistingColumn | undefined;
  fit: ValueFit;
}

export function matchColumns(
  { columns }: LoadTable,
  existing: readonly ExistingColumn[] | undefined,
  dialect: Dialect,
): MatchedColumn[] {
  return columns.map((column) => {
    const known = existing?.find((each) => isSameName(each.name, column.name));
    return { column, known, fit: fitInto(column, known?.type ?? sqlType(dialect, column.type), dialect) };
  });
}

const fitInto = ({ name, type }: ConnectorColumn, known: string, dialect: Dialect): ValueFit =>
  dialect.fitValue(dialect.name(name), type, known);

/**
 * A query for one row: of each column the first value that does not fit, as text. `rows` is the query for the values
 * as they came. Undefined if all values fit.
 */
export function findMisfits(
  matched: readonly MatchedColumn[],
  rows: string,
  dialect: Dialect,
): { query: string; columns: readonly MatchedColumn[] } | undefined {
  const columns = matched.filter(({ fit }) => fit.fits !== undefined);
  if (columns.length === 0) return undefined;
  const list = columns.map(({ column, fit }) => {
    const value = dialect.name(column.name);
    return `arg_min(CAST(${value} AS VARCHAR), ${dialect.name(rowNumber)}) FILTER (WHERE ${value} IS NOT NULL AND (${fit.fits}) IS NOT TRUE)`;
  });
  return { query: `SELECT ${list.join(', ')} FROM (\n${rows}\n)`, columns };
}

/** Types to try for a column with a misfit. */
export function listConversions({ column, known }: MatchedColumn, dialect: Dialect): readonly Conversion[] {
  return known === undefined ? [] : dialect.listWiderTypes(dialect.name(known.name), known.type, column.type);
}

/** The column as it is after the conversion. */
export function convertColumn(
  { column, known }: MatchedColumn,
  { type }: Conversion,
  dialect: Dialect,
): MatchedColumn {
  return { column, known: { name: known?.name ?? column.name, type }, fit: fitInto(column, type, dialect) };
}

/** A query for one row that the conversion would change; undefined if it changes none. */
export function findChangedRow(
  table: string,
  { known }: MatchedColumn,
  { fits }: Conversion,
  dialect: Dialect,
): string | undefined {
  if (fits === undefined || known === undefined) return undefined;
  return `SELECT 1 FROM ${table} WHERE ${dialect.name(known.name)} IS NOT NULL AND (${fits}) IS NOT TRUE LIMIT 1`;
}

export function alterType(
  table: string,
  { known, column }: MatchedColumn,
  { type, value }: Conversion,
  dialect: Dialect,
): string {
  return `ALTER TABLE ${table} ALTER COLUMN ${dialect.name(known?.name ?? column.name)} TYPE ${type} USING ${value}`;
}

/** @throws ConnectorError unless the table is to be widened */
export function addColumn(
  { target, columns }: Pick<LoadTable, 'target' | 'columns'>,
  column: ConnectorColumn,
  { schemaChange }: EndpointLoad,
  dialect: Dialect,
): string {
  if (schemaChange !== 'widen')
    throw new ConnectorError(
      `the table "${target.table}" has no column "${column.name}": add it, replace the table, or set schemaChange to Widen`,
    );
  requireUnrounded(target, columns);
  return `ALTER TABLE ${dialect.table(target)} ADD COLUMN ${dialect.name(column.name)} ${sqlType(dialect, column.type)}`;
}

/** A new column of numbers is a DOUBLE. @throws ConnectorError if it would round a number */
export function requireUnrounded(target: TableReference, columns: readonly ConnectorColumn[]): void {
  const rounded = columns.find((column) => column.rounded !== undefined);
  if (rounded === undefined) return;
  throw new ConnectorError(
    `the column "${rounded.name}" of the table "${target.table}" would be DOUBLE, which cannot hold ${shorten(rounded.rounded ?? '')} without loss: set schemaChange to Widen, which makes it VARCHAR, or make the table with a DECIMAL column`,
  );
}

const typeNames: Readonly<Record<ConnectorColumnType, string>> = {
  text: 'text',
  integer: 'integers',
  number: 'numbers',
  decimal: 'numbers with more digits than DOUBLE has',
  boolean: 'booleans',
  json: 'JSON',
};

export function describeMisfit(
  { target }: Pick<LoadTable, 'target'>,
  { column, known }: MatchedColumn,
  value: string,
  { schemaChange }: EndpointLoad,
): ConnectorError {
  const remedy =
    schemaChange === 'widen'
      ? 'change the type of the column, or replace the table'
      : 'change the type of the column, replace the table, or set schemaChange to Widen';
  return new ConnectorError(
    `the column "${known?.name}" of the table "${target.table}" is ${known?.type}, and the API gives ${typeNames[column.type]}, such as ${JSON.stringify(shortenValue(value))}, which it cannot hold without loss: ${remedy}`,
  );
}
