/**
 * External tables of the embedded warehouse: tables with the rows of files in an object store, which a refresh reads
 * again. What a table reads is a row of `headgate_external_tables`: the parameters of its component.
 */
import type { ResolvedMap } from '../expressions/resolve.ts';
import type { Dialect, TableReference } from '../sql/dialect/dialect.ts';
import { externalTablesTable } from '../sql/statements/own-tables.ts';
import type { MetadataField, ObjectLoad, ObjectReading, ObjectSource } from './object-load.ts';
import { metadataFieldNames, numberRows, renderMetadata } from './object-metadata.ts';
import { readCsvValues, readObjectValues } from './object-statements.ts';

/** A column that is computed of a row and its file. */
export interface ComputedColumn {
  readonly name: string;
  readonly type: string;
  /** SQL over VALUE and the fields of metadata. */
  readonly sql: string;
}

export interface ExternalTable {
  readonly source: ObjectSource;
  readonly reading: ObjectReading;
  readonly load: ObjectLoad;
  readonly computed: readonly ComputedColumn[];
}

/** The definition of a table that was created before. */
export interface StoredTable {
  readonly name: string;
  /** Returns a row if the environment has external tables at all. */
  readonly exists: string;
  /** Returns the row of the table. */
  readonly query: string;
  /** @throws ParameterError */
  read(row: readonly unknown[]): ExternalTable;
}

export const valueColumn = 'VALUE';

/** Values of a row of CSV. */
export const cellLimit = 2_000;

const definitions: TableReference = { table: externalTablesTable };

const keyOf = (target: TableReference, dialect: Dialect) =>
  dialect.literal(dialect.table(target).toLowerCase());

/** The statements that create the table. */
export function createExternalTable(
  target: TableReference,
  computed: readonly ComputedColumn[],
  beginning: string,
  dialect: Dialect,
): string[] {
  const columns = [{ name: valueColumn, type: 'JSON' }, ...computed];
  const list = columns.map(({ name, type }) => `${dialect.name(name)} ${type}`).join(', ');
  return [...dialect.makeSchema(target), `${beginning} ${dialect.table(target)} (${list})`];
}

/** The statements that note what the table reads. */
export function noteExternalTable(
  target: TableReference,
  parameters: ResolvedMap,
  dialect: Dialect,
): string[] {
  const table = dialect.table(definitions);
  const key = keyOf(target, dialect);
  return [
    `CREATE TABLE IF NOT EXISTS ${table} (table_name VARCHAR NOT NULL, definition VARCHAR NOT NULL)`,
    `DELETE FROM ${table} WHERE table_name = ${key}`,
    `INSERT INTO ${table} (table_name, definition) VALUES (${key}, ${dialect.literal(JSON.stringify(parameters))})`,
  ];
}

export function findExternalTable(
  target: TableReference,
  read: (definition: string) => ExternalTable,
  dialect: Dialect,
): StoredTable {
  return {
    name: target.table,
    exists: dialect.tableExists(definitions),
    query: `SELECT definition FROM ${dialect.table(definitions)} WHERE table_name = ${keyOf(target, dialect)}`,
    read: ([definition]) => read(String(definition)),
  };
}

/**
 * Adds the rows of a file.
 *
 * @param cells values of a row of CSV
 */
export function fillExternalTable(
  { load, computed }: ExternalTable,
  path: string,
  cells: number,
  dialect: Dialect,
): string {
  const { format, origin, target } = load;
  const { value, relation } =
    format.type === 'CSV' ? readCells(format, cells, dialect) : readRecord(format, dialect);
  const field = (each: MetadataField) => `${renderMetadata(each, origin, dialect)} AS ${dialect.name(each)}`;
  const rows = numberRows(relation(path), format.type === 'CSV' ? '*' : 'r', dialect);
  const seen = `SELECT ${value} AS ${dialect.name(valueColumn)}, ${metadataFieldNames.map(field).join(', ')} FROM ${rows}`;
  const list = [
    dialect.name(valueColumn),
    ...computed.map(({ sql, type }) => dialect.cast(sql, type, false)),
  ];
  const query = `SELECT ${list.join(', ')}\nFROM (${seen})`;
  return dialect.insertRows(dialect.table(target), query, [valueColumn, ...computed.map(({ name }) => name)]);
}

/** Values are c1, c2 and so on, as texts. */
export const nameCells = (cells: number) =>
  Array.from({ length: cells }, (_, index) => ({ name: `c${index + 1}`, type: 'VARCHAR' }));

function readCells(
  format: Extract<ObjectLoad['format'], { type: 'CSV' }>,
  cells: number,
  dialect: Dialect,
): { value: string; relation(path: string): string } {
  const { values, relation } = readCsvValues(nameCells(cells), format, dialect);
  const members = values.map(({ column, text }) => `${dialect.literal(column.name)}, ${text}`);
  return { value: `json_object(${members.join(', ')})`, relation };
}

function readRecord(
  format: Exclude<ObjectLoad['format'], { type: 'CSV' }>,
  dialect: Dialect,
): { value: string; relation(path: string): string } {
  const { values, relation } = readObjectValues(
    [{ name: valueColumn, type: 'JSON' }],
    format,
    'position',
    [],
    dialect,
  );
  return { value: values[0]?.converted ?? 'NULL', relation };
}
