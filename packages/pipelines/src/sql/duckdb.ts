/** The dialect of DuckDB 1.5. The default catalog is the environment's database, the default schema `main`. */
import {
  type ColumnType,
  type Dialect,
  type FileColumn,
  type FileFormat,
  SqlError,
  type StatementList,
  type TableReference,
} from './dialect.ts';

const defaultSchema = 'main';

function checked(text: string): string {
  if (text.includes('\0')) throw new SqlError('a name or a value holds a NUL character: remove it');
  return text;
}

function name(identifier: string): string {
  if (identifier === '') throw new SqlError('a name is empty: fill it in');
  return `"${checked(identifier).replaceAll('"', '""')}"`;
}

function textLiteral(text: string): string {
  return `'${checked(text).replaceAll("'", "''")}'`;
}

/** An identifier as a key of a DuckDB struct: quoted like a text. */
const structKey = textLiteral;

/** The words of the format for types, and what DuckDB calls them. */
const plainTypes: Readonly<Record<string, string>> = {
  VARCHAR: 'VARCHAR',
  TEXT: 'VARCHAR',
  STRING: 'VARCHAR',
  CHAR: 'VARCHAR',
  BOOLEAN: 'BOOLEAN',
  DATE: 'DATE',
  TIME: 'TIME',
  TIMESTAMP: 'TIMESTAMP',
  TIMESTAMP_NTZ: 'TIMESTAMP',
  TIMESTAMP_TZ: 'TIMESTAMP WITH TIME ZONE',
  TIMESTAMP_LTZ: 'TIMESTAMP WITH TIME ZONE',
  DATETIME: 'TIMESTAMP',
  SMALLINT: 'SMALLINT',
  INTEGER: 'INTEGER',
  INT: 'INTEGER',
  BIGINT: 'BIGINT',
  REAL: 'REAL',
  FLOAT: 'DOUBLE',
  DOUBLE: 'DOUBLE',
  'DOUBLE PRECISION': 'DOUBLE',
  BINARY: 'BLOB',
  VARIANT: 'JSON',
  JSON: 'JSON',
  UUID: 'UUID',
};
const decimalTypes = ['NUMBER', 'NUMERIC', 'DECIMAL'];

function type({ type: word, size, precision }: ColumnType): string {
  const wanted = word.trim().toUpperCase();
  if (decimalTypes.includes(wanted)) return decimal(size, precision);
  const found = Object.hasOwn(plainTypes, wanted) ? plainTypes[wanted] : undefined;
  if (found === undefined) {
    throw new SqlError(
      `"${word}" is no type; there are ${[...decimalTypes, ...Object.keys(plainTypes)].join(', ')}`,
    );
  }
  return found;
}

/** A number of no stated size is a DOUBLE: a default scale of 0 would round fractions away unseen. */
function decimal(size: string | undefined, precision: string | undefined): string {
  if (isEmpty(size) && isEmpty(precision)) return 'DOUBLE';
  const digits = isEmpty(size) ? 38 : wholeNumber(size, 1, 38, 'size');
  const scale = isEmpty(precision) ? 0 : wholeNumber(precision, 0, digits, 'precision');
  return `DECIMAL(${digits}, ${scale})`;
}

function isEmpty(text: string | undefined): text is undefined | '' {
  return text === undefined || text.trim() === '';
}

function wholeNumber(text: string, least: number, most: number, what: string): number {
  const value = /^\s*\d{1,3}\s*$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) {
    throw new SqlError(`the ${what} of a number must be from ${least} to ${most}, not "${text}"`);
  }
  return value;
}

const isDefault = (text: string | undefined): text is undefined =>
  text === undefined || text.trim() === '' || text === '[Environment Default]';

function table({ database, schema, table: tableName }: TableReference): string {
  const parts = [isDefault(schema) ? defaultSchema : schema, tableName];
  if (!isDefault(database)) parts.unshift(database);
  return parts.map(name).join('.');
}

function catalogFilter({ database, schema, table: tableName }: TableReference): string {
  const same = (column: string, value: string) => `lower(${column}) = lower(${textLiteral(value)})`;
  return [
    isDefault(database) ? 'table_catalog = current_database()' : same('table_catalog', database),
    same('table_schema', isDefault(schema) ? defaultSchema : schema),
    same('table_name', tableName),
  ].join(' AND ');
}

const columnList = (columns: readonly string[] | undefined) =>
  columns === undefined ? undefined : `(${columns.map(name).join(', ')})`;

function insertRows(target: string, query: string, columns: readonly string[] | undefined): string {
  return `INSERT INTO ${target} ${columnList(columns) ?? 'BY NAME'}\n${query}`;
}

/**
 * The new rows are set aside first, since the query may read the table. One MERGE would do without, but DuckDB inserts before it deletes, so
 * a key that stays would break its constraint.
 */
function replaceRows(target: string, query: string, columns: readonly string[] | undefined): StatementList {
  const aside = `temp.main.${name('headgate_new_rows')}`;
  return {
    statements: [
      `CREATE OR REPLACE TEMPORARY TABLE ${aside} AS\n${query}`,
      `DELETE FROM ${target}`,
      insertRows(target, `SELECT * FROM ${aside}`, columns),
      `DROP TABLE ${aside}`,
    ],
    counted: 2,
  };
}

function readFile(path: string, format: FileFormat, columns: readonly FileColumn[]): string {
  // Wildcards in brackets stand for themselves.
  const file = textLiteral(path.replaceAll(/[*?[]/g, '[$&]'));
  if (format.type === 'PARQUET') {
    const list = columns.map(
      (column) => `CAST(${name(column.name)} AS ${column.type}) AS ${name(column.name)}`,
    );
    return `SELECT ${list.length === 0 ? '*' : list.join(', ')} FROM read_parquet(${file})`;
  }
  const options = columns.length === 0 ? [] : [`columns = ${columnStruct(columns)}`];
  if (format.type === 'JSON') return `SELECT * FROM read_json(${[file, ...options].join(', ')})`;
  const csv = [`header = ${format.header}`, `delim = ${textLiteral(format.delimiter)}`];
  return `SELECT * FROM read_csv(${[file, ...csv, ...options].join(', ')})`;
}

function columnStruct(columns: readonly FileColumn[]): string {
  return `{${columns.map((column) => `${structKey(column.name)}: ${textLiteral(column.type)}`).join(', ')}}`;
}

function writeFile(query: string, path: string, format: FileFormat): string {
  const options =
    format.type === 'CSV'
      ? `FORMAT csv, HEADER ${format.header}, DELIMITER ${textLiteral(format.delimiter)}`
      : `FORMAT ${format.type.toLowerCase()}`;
  return `COPY (\n${query}\n) TO ${textLiteral(path)} (${options})`;
}

export const duckdb: Dialect = {
  name,
  literal(value) {
    if (value === null) return 'NULL';
    return typeof value === 'string' ? textLiteral(value) : String(value);
  },
  type,
  table,
  tableExists: (reference) =>
    `SELECT table_name FROM information_schema.tables WHERE ${catalogFilter(reference)}`,
  tableColumns: (reference) =>
    `SELECT column_name, data_type FROM information_schema.columns WHERE ${catalogFilter(reference)} ORDER BY ordinal_position`,
  columnsExcept: (names) =>
    `COLUMNS(lambda c: lower(c) NOT IN (${names.map((each) => textLiteral(each.toLowerCase())).join(', ')}))`,
  columnsRenamed: (renames) =>
    `* RENAME (${renames.map(([from, to]) => `${name(from)} AS ${name(to)}`).join(', ')})`,
  replaceRows,
  insertRows,
  readFile,
  writeFile,
};
