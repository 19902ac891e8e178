/** The statements that load a file of an object into a table. */
import {
  type CsvFormat,
  type Dialect,
  type PlainFormat,
  type RejectTables,
  SqlError,
  type TableReference,
} from '../sql/dialect/dialect.ts';
import { loadedObjectsTable } from '../sql/statements/own-tables.ts';
import type { ObjectLoad, TargetColumn } from './object-load.ts';
import { numberRows, planMetadata, rowNumberName } from './object-metadata.ts';

export interface FileLoad {
  /** Loads the rows without a fault. If there are no rejects tables, a fault ends the statement. */
  insert(path: string, rejects?: RejectTables): string;
  /** One row: how many rows could be divided into values, and how many of them do not fit. */
  count(path: string, rejects?: RejectTables): string;
  /** Rows `(number, column, value, type)` of values that do not fit, in order. `number`: of the row in the file. */
  listMisfits(path: string, limit: number, rejects?: RejectTables): string;
}

interface LoadedValue {
  readonly column: TargetColumn;
  /** The value before it is converted. */
  readonly text: string;
  readonly converted: string;
  /** The same, and NULL instead of an error. */
  readonly tried: string;
}

/**
 * @param members of all objects of the file, if its values are matched by name
 * @throws SqlError, ParameterError
 */
export function planFileLoad(
  load: ObjectLoad,
  existing: readonly TargetColumn[],
  members: readonly string[],
  dialect: Dialect,
): FileLoad {
  const { target, columns: chosen, format, match } = load;
  const filled = planMetadata(load, existing, dialect);
  const numbers = load.metadata.some(({ field }) => field === 'METADATA$FILE_ROW_NUMBER');
  const others = existing.filter((each) => !filled.some(({ column }) => column === each));
  const columns = chooseColumns(target, chosen, others);
  const { values, relation } =
    format.type === 'CSV'
      ? readCsvValues(columns, format, dialect)
      : readObjectValues(
          columns,
          format,
          match,
          members,
          dialect,
          load.conversion === undefined ? format.type : 'Avro',
        );
  const misfits = values.map((value) => {
    const { length } = value.column;
    const long = length === undefined ? [] : [`length(${value.tried}) > ${length}`];
    return [`(${value.text} IS NOT NULL AND ${value.tried} IS NULL)`, ...long].join(' OR ');
  });
  const misfit = misfits.join(' OR ');
  const table = dialect.table(target);
  const names = [...columns, ...filled.map(({ column }) => column)].map(({ name }) => name);
  return {
    insert(path, rejects) {
      const list = values.map(({ converted, tried }) => (rejects === undefined ? converted : tried));
      list.push(...filled.map(({ sql }) => sql));
      const where = rejects === undefined ? '' : `\nWHERE (${misfit}) IS NOT TRUE`;
      const rows = relation(path, rejects);
      const from = numbers ? numberRows(rows, format.type === 'CSV' ? '*' : 'r', dialect) : rows;
      const query = `SELECT ${list.join(', ')}\nFROM ${from}${where}`;
      return dialect.insertRows(table, query, names);
    },
    count: (path, rejects) =>
      `SELECT count(*), count(*) FILTER (WHERE ${misfit}) FROM ${relation(path, rejects)}`,
    listMisfits(path, limit, rejects) {
      const number = dialect.name(rowNumberName);
      const rows = `SELECT row_number() OVER () AS ${number}, * FROM ${relation(path, rejects)}`;
      const cases = values.map(({ column, text }, index) => {
        const { length } = column;
        const type = length === undefined ? column.type : `${column.type}(${length})`;
        return `WHEN ${misfits[index]} THEN [${dialect.literal(column.name)}, left(CAST(${text} AS VARCHAR), 200), ${dialect.literal(type)}]`;
      });
      const found = `CASE ${cases.join(' ')} END`;
      return `SELECT ${number}, found[1], found[2], found[3] FROM (SELECT ${number}, ${found} AS found FROM (${rows}) AS r WHERE ${misfit}) ORDER BY ${number} LIMIT ${limit}`;
    },
  };
}

function chooseColumns(
  target: TableReference,
  chosen: readonly string[],
  existing: readonly TargetColumn[],
): readonly TargetColumn[] {
  if (chosen.length === 0) return existing;
  return chosen.map((name) => {
    const found =
      existing.find((column) => column.name === name) ??
      existing.find((column) => column.name.toLowerCase() === name.toLowerCase());
    if (found !== undefined) return found;
    const known = existing.map((column) => column.name).join(', ');
    throw new SqlError(
      `"loadColumns" has "${name}", which is not a column of the table "${target.table}", or one that "metadataFields" fills: it has ${known}`,
    );
  });
}

export function readCsvValues(columns: readonly TargetColumn[], format: CsvFormat, dialect: Dialect) {
  const cells = columns.map((_, index) => `c${index + 1}`);
  const values = columns.map((column, index): LoadedValue => {
    const raw = dialect.name(cells[index] ?? '');
    const trimmed = format.trims ? `trim(${raw}, chr(32) || chr(9))` : raw;
    const words = format.nullWords.map((word) => dialect.literal(word)).join(', ');
    const text = words === '' ? trimmed : `CASE WHEN ${trimmed} IN (${words}) THEN NULL ELSE ${trimmed} END`;
    const cut = format.cutsTexts && column.length !== undefined ? `left(${text}, ${column.length})` : text;
    return {
      column,
      text,
      converted: convert(cut, column.type, format, dialect, false),
      tried: convert(cut, column.type, format, dialect, true),
    };
  });
  const blank = format.skipsBlankLines
    ? ` WHERE ${cells.map((cell) => `${dialect.name(cell)} IS NOT NULL`).join(' OR ')}`
    : '';
  const relation = (path: string, rejects?: RejectTables) => {
    const rows = dialect.readDelimited(path, format, cells, rejects);
    return blank === '' ? rows : `(SELECT * FROM ${rows}${blank})`;
  };
  return { values, relation };
}

function convert(
  text: string,
  type: string,
  { dateFormat, timeFormat, timestampFormat }: CsvFormat,
  dialect: Dialect,
  isTolerant: boolean,
): string {
  const call = (word: string, format: string) =>
    dialect.user.expression(
      `${isTolerant ? 'TRY_' : ''}${word}(CAST(${text} AS VARCHAR), ${dialect.literal(format)})`,
    ).sql;
  if (type === 'DATE' && dateFormat !== undefined) return call('TO_DATE', dateFormat);
  if (type === 'TIME' && timeFormat !== undefined) return call('TO_TIME', timeFormat);
  if (type.startsWith('TIMESTAMP') && timestampFormat !== undefined)
    return `CAST(${call('TO_TIMESTAMP', timestampFormat)} AS ${type})`;
  return type === 'VARCHAR' ? text : dialect.cast(text, type, isTolerant);
}

export function readObjectValues(
  columns: readonly TargetColumn[],
  format: PlainFormat,
  match: ObjectLoad['match'],
  members: readonly string[],
  dialect: Dialect,
  type: string = format.type,
) {
  if (match === 'position' && columns.length !== 1)
    throw new SqlError(
      `objects of ${type} are loaded into one column of the type VARIANT, and the table has ${columns.length} columns: set matchByColumnName to Case Insensitive, or name one column in loadColumns`,
    );
  const values = columns.map((column): LoadedValue => {
    const { type } = column;
    const source = match === 'position' ? undefined : listMembers(column.name, members, match);
    const { text, json } = dialect.objectValue(format, source);
    const isJson = type === 'JSON';
    return {
      column,
      text,
      converted: isJson ? json : dialect.cast(text, type, false),
      tried: isJson ? json : dialect.cast(text, type, true),
    };
  });
  return { values, relation: (path: string) => dialect.readObjects(path, format) };
}

/** The members that a column is filled from: usually one, or none. */
const listMembers = (name: string, members: readonly string[], match: ObjectLoad['match']) =>
  members.filter(
    (member) => member === name || (match === 'name' && member.toLowerCase() === name.toLowerCase()),
  );

/** Which objects the tables of the environment have, so that a load takes each object once. */
const loadedObjects: TableReference = { table: loadedObjectsTable };

export const createLoadedObjects = (dialect: Dialect): string =>
  `CREATE TABLE IF NOT EXISTS ${dialect.table(loadedObjects)} (loaded_table VARCHAR, object_name VARCHAR, object_version VARCHAR, loaded_at TIMESTAMP)`;

const isOf = (target: TableReference, dialect: Dialect) =>
  `loaded_table = ${dialect.literal(dialect.table(target).toLowerCase())}`;

/** Rows `(name, version)`. */
export const readLoadedObjects = (target: TableReference, dialect: Dialect): string =>
  `SELECT object_name, object_version FROM ${dialect.table(loadedObjects)} WHERE ${isOf(target, dialect)}`;

/** A table without rows has no objects: it was made again, or emptied. */
export const forgetLoadedObjects = (target: TableReference, dialect: Dialect): string =>
  `DELETE FROM ${dialect.table(loadedObjects)} WHERE ${isOf(target, dialect)}`;

export function noteLoadedObjects(
  target: TableReference,
  objects: readonly { name: string; version: string }[],
  dialect: Dialect,
): string {
  const table = dialect.literal(dialect.table(target).toLowerCase());
  const rows = objects.map(
    ({ name, version }) =>
      `(${table}, ${dialect.literal(name)}, ${dialect.literal(version)}, CAST(current_timestamp AS TIMESTAMP))`,
  );
  return `INSERT INTO ${dialect.table(loadedObjects)} (loaded_table, object_name, object_version, loaded_at) VALUES ${rows.join(', ')}`;
}
