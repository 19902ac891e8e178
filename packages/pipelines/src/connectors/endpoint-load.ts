/**
 * Loading the rows of an endpoint into a table: what a component asks for, and the SQL that does it.
 *
 * The rows wait in a file, one JSON object a line: `n`, which counts them, and `r`, the row. One transaction then
 * makes the table, fills it and moves the high-water mark, so that nothing is ever half loaded.
 */
import { ParameterError } from '../parameters.ts';
import type { Dialect, StatementList, TableReference } from '../sql/dialect.ts';
import type { EndpointValues } from './endpoint-request.ts';
import { ConnectorError, type RequestPlace } from './profile.ts';
import type { JsonMap } from './profile-reader.ts';
import type { ConnectorColumn, ConnectorColumnType } from './schema.ts';

export type LoadMode = 'replace' | 'truncate' | 'append' | 'fail-if-exists';

/** What happens if rows do not fit the schema of the profile. */
export type SchemaChange =
  /** A value that does not fit its column ends the load. Members without a column are left out, and named. */
  | 'stop'
  /** A member without a column ends the load too. */
  | 'stop-on-new'
  /** Columns are added, and get a type that fits. */
  | 'widen';

export interface EndpointSource {
  /** `flex-…`, `custom-…`, or the name of a profile of the version. */
  profile: string;
  /** Its name or id. */
  endpoint: string;
  connection: JsonMap;
  values: EndpointValues;
  rowsPerPage: number | undefined;
}

export interface EndpointLoad {
  target: TableReference;
  mode: LoadMode;
  /** Each page becomes one row with one column of JSON. */
  wholePages: boolean;
  schemaChange: SchemaChange;
  /** Lists of objects become tables of their own. */
  childTables: boolean;
  primaryKeys: readonly string[];
  /** The columns to load; all if there are none. */
  selection: readonly string[];
  /** A condition on the loaded columns, as SQL. */
  condition: string | undefined;
  rowLimit: number | undefined;
  incremental: Incremental | undefined;
  /** Prints a line for each page. */
  isVerbose: boolean;
}

export interface Incremental {
  /** Its largest value is the high-water mark. */
  column: string;
  /** Where the mark of the last load stands in the request. */
  at: RequestPlace | undefined;
}

/** The column of whole pages. */
export const pageColumn: ConnectorColumn = { name: 'DATA_VALUE', type: 'json' };

/** A list of objects in each row. */
export interface ChildList {
  member: string;
  columns: readonly ConnectorColumn[];
}

/** What has been read. */
export interface GatheredRows {
  /** The file and the bytes of its longest line; undefined if there is no row. */
  file: { path: string; lineBytes: number } | undefined;
  columns: readonly ConnectorColumn[];
  children: readonly ChildList[];
  /** The columns of the table before the load; undefined if it did not exist. */
  existing: readonly { name: string; type: string }[] | undefined;
  mark: { key: string; value: string } | undefined;
}

const typeWords: Readonly<Record<ConnectorColumnType, string>> = {
  text: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  json: 'JSON',
};

/** The warehouse does not tell names apart by case. */
const isSameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

const sqlType = (dialect: Dialect, type: ConnectorColumnType): string =>
  dialect.type({ type: typeWords[type] });

/** Where high-water marks are kept: in the environment's own database, so that they move with its rows. */
const markTable: TableReference = { table: 'headgate_high_water_marks' };

export function createMarkTable(dialect: Dialect): string {
  return `CREATE TABLE IF NOT EXISTS ${dialect.table(markTable)} (load_key VARCHAR, high_water_mark VARCHAR, updated_at TIMESTAMP)`;
}

export function readMark(dialect: Dialect, key: string): string {
  return `SELECT high_water_mark FROM ${dialect.table(markTable)} WHERE load_key = ${dialect.literal(key)}`;
}

/** Identifies what is loaded. Requests with other parameters, into another table, have another mark. */
export function createMarkKey(source: EndpointSource, { target, incremental }: EndpointLoad): string {
  const { profile, endpoint, values } = source;
  const { headers, query, uri, body } = values;
  return JSON.stringify([
    profile,
    endpoint,
    incremental?.column,
    target.schema ?? '',
    target.table,
    uri,
    query,
    headers,
    body ?? null,
  ]);
}

/**
 * The statements of the load, for one transaction.
 *
 * @throws ConnectorError if the rows do not fit the table
 */
export function planEndpointLoad(load: EndpointLoad, rows: GatheredRows, dialect: Dialect): StatementList {
  const { columns, existing } = rows;
  const table = dialect.table(load.target);
  const before = [...dialect.makeSchema(load.target)];
  const isNew = existing === undefined || load.mode === 'replace';
  if (isNew && columns.length === 0)
    throw new ConnectorError(
      `no row has come, and the profile has no schema, so the columns of "${load.target.table}" are not known: add the schema to the profile`,
    );
  if (columns.length > 0) before.push(createTable(load.mode, table, columns, dialect));
  if (!isNew) before.push(...alterColumns(load, rows, dialect));
  if (load.mode === 'truncate' && !isNew) before.push(`DELETE FROM ${table}`);
  const marks = rows.mark === undefined ? [] : writeMark(rows.mark, dialect);
  if (rows.file === undefined)
    return { statements: [...before, ...childTables(load, rows, dialect), ...marks], counted: -1 };
  const query = selectRows(load, rows, dialect);
  if (load.mode === 'append' && load.primaryKeys.length > 0) {
    const keys = load.primaryKeys.map(dialect.name).join(', ');
    before.push(`DELETE FROM ${table} WHERE (${keys}) IN (SELECT ${keys} FROM (${query}))`);
  }
  const statements = [...before, dialect.insertRows(table, query, undefined)];
  return {
    statements: [...statements, ...childTables(load, rows, dialect), ...marks],
    counted: statements.length - 1,
  };
}

const creations: Readonly<Record<LoadMode, string>> = {
  replace: 'CREATE OR REPLACE TABLE',
  'fail-if-exists': 'CREATE TABLE',
  truncate: 'CREATE TABLE IF NOT EXISTS',
  append: 'CREATE TABLE IF NOT EXISTS',
};

function createTable(
  mode: LoadMode,
  table: string,
  columns: readonly ConnectorColumn[],
  dialect: Dialect,
): string {
  const lines = columns.map(({ name, type }) => `${dialect.name(name)} ${sqlType(dialect, type)}`);
  return `${creations[mode]} ${table} (\n  ${lines.join(',\n  ')}\n)`;
}

/** @throws ConnectorError if the table lacks a column, unless the table is to be widened */
function alterColumns(
  { schemaChange, target }: EndpointLoad,
  { columns, existing = [] }: GatheredRows,
  dialect: Dialect,
): string[] {
  const table = dialect.table(target);
  return columns.flatMap(({ name, type }) => {
    const known = existing.find((each) => isSameName(each.name, name));
    const wanted = sqlType(dialect, type);
    if (known === undefined) {
      if (schemaChange === 'widen')
        return [`ALTER TABLE ${table} ADD COLUMN ${dialect.name(name)} ${wanted}`];
      throw new ConnectorError(
        `the table "${target.table}" has no column "${name}": add it, replace the table, or set schemaChange to Widen`,
      );
    }
    if (schemaChange !== 'widen') {
      // The warehouse would round the fractions.
      if (known.type.toUpperCase() === 'BIGINT' && type === 'number')
        throw new ConnectorError(
          `the column "${known.name}" of the table "${target.table}" is BIGINT, and the API gives numbers with fractions: replace the table, or set schemaChange to Widen`,
        );
      return [];
    }
    if (!isNarrower(known.type, type)) return [];
    return [`ALTER TABLE ${table} ALTER COLUMN ${dialect.name(name)} TYPE ${wanted}`];
  });
}

const widths: Readonly<Record<string, readonly ConnectorColumnType[]>> = {
  BIGINT: ['number', 'text', 'json'],
  DOUBLE: ['text', 'json'],
  BOOLEAN: ['text', 'json'],
  JSON: ['text'],
};

const isNarrower = (known: string, type: ConnectorColumnType) =>
  widths[known.toUpperCase()]?.includes(type) ?? false;

function writeMark({ key, value }: { key: string; value: string }, dialect: Dialect): string[] {
  const table = dialect.table(markTable);
  return [
    `DELETE FROM ${table} WHERE load_key = ${dialect.literal(key)}`,
    `INSERT INTO ${table} (load_key, high_water_mark, updated_at) SELECT ${dialect.literal(key)}, ${dialect.literal(value)}, CAST(current_timestamp AS TIMESTAMP)`,
  ];
}

function readFile({ file }: GatheredRows, type: string, dialect: Dialect): string {
  return dialect.readRecords(file?.path ?? '', type, file?.lineBytes ?? 0);
}

function selectRows(load: EndpointLoad, rows: GatheredRows, dialect: Dialect): string {
  const { columns } = rows;
  if (load.wholePages)
    return `SELECT CAST(r AS JSON) AS ${dialect.name(pageColumn.name)} FROM ${readFile(rows, 'VARCHAR', dialect)}`;
  const list = columns.map(({ name }) => `r.${dialect.name(name)} AS ${dialect.name(name)}`).join(', ');
  const query = `SELECT ${list} FROM ${readFile(rows, rowType(columns, dialect), dialect)}${keepLast(load, dialect)}`;
  return load.condition === undefined ? query : `SELECT * FROM (\n${query}\n) WHERE ${load.condition}`;
}

/** A row may come twice, if it changes while the pages are read. */
function keepLast({ primaryKeys }: EndpointLoad, dialect: Dialect): string {
  if (primaryKeys.length === 0) return '';
  const keys = primaryKeys.map((key) => `r.${dialect.name(key)}`).join(', ');
  return ` QUALIFY row_number() OVER (PARTITION BY ${keys} ORDER BY n DESC) = 1`;
}

function rowType(columns: readonly ConnectorColumn[], dialect: Dialect, ...more: string[]): string {
  const members = columns.map(({ name, type }) => `${dialect.name(name)} ${sqlType(dialect, type)}`);
  return `STRUCT(${[...members, ...more].join(', ')})`;
}

/** The rows of a child table name the keys of their parent, and their place in its list. */
function childTables(load: EndpointLoad, rows: GatheredRows, dialect: Dialect): string[] {
  return rows.children.flatMap((child) => {
    const target = { ...load.target, table: `${load.target.table}_${child.member}` };
    const table = dialect.table(target);
    const keys = rows.columns.filter(({ name }) => load.primaryKeys.some((key) => isSameName(key, name)));
    const parents = keys.map((key): ConnectorColumn => ({ ...key, name: `parent_${key.name}` }));
    const all = [...parents, { name: 'position', type: 'integer' } as const, ...child.columns];
    const created = createTable(load.mode, table, all, dialect);
    const emptied = load.mode === 'truncate' ? [`DELETE FROM ${table}`] : [];
    if (rows.file === undefined) return [created, ...emptied];
    const list = `${dialect.name(child.member)} ${rowType(child.columns, dialect)}[]`;
    const source = `(SELECT * FROM ${readFile(rows, rowType(keys, dialect, list), dialect)}${keepLast(load, dialect)})`;
    const parentKeys = keys.map(
      ({ name }) => `s.r.${dialect.name(name)} AS ${dialect.name(`parent_${name}`)}`,
    );
    const members = child.columns.map(({ name }) => `e.item.${dialect.name(name)} AS ${dialect.name(name)}`);
    const elements = `(SELECT unnest(s.r.${dialect.name(child.member)}) AS item, generate_subscripts(s.r.${dialect.name(child.member)}, 1) AS place)`;
    const select = `SELECT ${[...parentKeys, `e.place AS ${dialect.name('position')}`, ...members].join(', ')} FROM ${source} AS s, ${elements} AS e`;
    const replaced =
      load.mode === 'append'
        ? [
            `DELETE FROM ${table} WHERE (${parents.map(({ name }) => dialect.name(name)).join(', ')}) IN (SELECT ${keys.map(({ name }) => `r.${dialect.name(name)}`).join(', ')} FROM ${readFile(rows, rowType(keys, dialect), dialect)})`,
          ]
        : [];
    return [created, ...emptied, ...replaced, dialect.insertRows(table, select, undefined)];
  });
}

/** @throws ParameterError about parameters that do not go together */
export function requireConsistent(load: EndpointLoad): void {
  if (load.childTables && load.primaryKeys.length === 0)
    throw new ParameterError(
      'child tables need "primaryKeys", by which their rows name their parent: add them',
    );
  if (load.wholePages && (load.childTables || load.primaryKeys.length > 0))
    throw new ParameterError('"primaryKeys" and child tables need rows: set "loadSelectedData" to Yes');
  if (load.incremental === undefined) return;
  if (load.wholePages)
    throw new ParameterError('an incremental load needs rows: set "loadSelectedData" to Yes');
  if (load.rowLimit !== undefined)
    throw new ParameterError(
      '"limit" cannot be used in an incremental load: the rows beyond it would never be loaded',
    );
  if (load.mode !== 'append')
    throw new ParameterError(
      'an incremental load adds rows to those of earlier loads: set "createTableMode" to Append',
    );
}
