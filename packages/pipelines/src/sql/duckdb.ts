/**
 * The dialect of DuckDB 1.5. Where tables of other databases and schemas are: `rewrite/names.ts`.
 */
import {
  type ColumnType,
  type Dialect,
  type FileColumn,
  type FileFormat,
  SqlError,
  type StatementList,
  type TableCreation,
  type TableReference,
  type TextMatch,
} from './dialect/dialect.ts';
import { renderMergeCheck } from './dialect/merge-check.ts';
import { createStandardSql } from './dialect/standard-sql.ts';
import { fitValue, listWiderTypes } from './duckdb-fit.ts';
import { boundObjects, createObjectReading } from './duckdb-objects.ts';
import { shapeRows } from './duckdb-shapes.ts';
import { readTextLength, translateCast } from './functions/index.ts';
import { translateType } from './functions/types.ts';
import { createUserSql } from './rewriter.ts';
import { lengthMark, writeLengthCheck } from './statements/text-lengths.ts';
import { placeSchema, type SqlRules, vendorOf } from './tokens/names.ts';

function refuseNul(text: string): string {
  if (text.includes('\0')) throw new SqlError('a name or a value contains a NUL character: remove it');
  return text;
}

function name(identifier: string): string {
  if (identifier === '') throw new SqlError('a name is empty: fill it in');
  return `"${refuseNul(identifier).replaceAll('"', '""')}"`;
}

function quoteText(text: string): string {
  return `'${refuseNul(text).replaceAll("'", "''")}'`;
}

/** DuckDB quotes the key of a struct like a text. */
const structKey = quoteText;

const decimalTypes = ['NUMBER', 'NUMERIC', 'DECIMAL'];
/** Of the types that are known, the ones to name in an error. */
const namedTypes =
  'VARCHAR, TEXT, STRING, CHAR, BOOLEAN, DATE, TIME, TIMESTAMP, TIMESTAMP_NTZ, TIMESTAMP_TZ, TIMESTAMP_LTZ, DATETIME, SMALLINT, INTEGER, INT, BIGINT, REAL, FLOAT, DOUBLE, DOUBLE PRECISION, BINARY, VARIANT, JSON, UUID';

/** The same types as in users' SQL. */
function type({ type: word, size, precision }: ColumnType): string {
  const expected = word.trim().toUpperCase();
  if (decimalTypes.includes(expected)) return renderDecimal(size, precision);
  const found = translateType(expected, []);
  if (found === undefined) {
    throw new SqlError(`"${word}" is not a type: use one of ${decimalTypes.join(', ')}, ${namedTypes}`);
  }
  return found;
}

/** The names of DuckDB's types of dates and times in Snowflake. */
const momentTypes: Readonly<Record<string, string>> = {
  DATE: 'DATE',
  TIMESTAMP: 'TIMESTAMP_NTZ',
  // Of components: the moment counts.
  'TIMESTAMP WITH TIME ZONE': 'TIMESTAMP_LTZ',
};

function cast(sql: string, target: string, isTolerant: boolean): string {
  const moment = momentTypes[target];
  const plain = `${isTolerant ? 'TRY_CAST' : 'CAST'}(${sql} AS ${target})`;
  if (moment === undefined) return plain;
  const value = { value: sql, type: moment, args: [], safe: isTolerant, dialect: 'snowflake' } as const;
  return translateCast(value) ?? plain;
}

/** A number without a size has 38 digits and no fraction, as in Snowflake. */
function renderDecimal(size: string | undefined, precision: string | undefined): string {
  const digits = isEmpty(size) ? 38 : readWholeNumber(size, 1, 38, 'size');
  const scale = isEmpty(precision) ? 0 : readWholeNumber(precision, 0, digits, 'precision');
  return `DECIMAL(${digits}, ${scale})`;
}

function isEmpty(text: string | undefined): text is undefined | '' {
  return text === undefined || text.trim() === '';
}

function readWholeNumber(text: string, least: number, most: number, what: string): number {
  const value = /^\s*\d{1,3}\s*$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) {
    throw new SqlError(`the ${what} of a number must be from ${least} to ${most}, not "${text}"`);
  }
  return value;
}

function isSameText(column: string, value: string): string {
  return `lower(${column}) = lower(${quoteText(value)})`;
}

function renderSchemaFilter({ database, schema }: Omit<TableReference, 'table'>, rules: SqlRules): string {
  const [placed = '', catalog] = placeSchema(database, schema, rules).path.toReversed();
  return [
    catalog === undefined ? 'table_catalog = current_database()' : isSameText('table_catalog', catalog),
    isSameText('table_schema', placed),
  ].join(' AND ');
}

function renderCatalogFilter(reference: TableReference, rules: SqlRules): string {
  return `${renderSchemaFilter(reference, rules)} AND ${isSameText('table_name', reference.table)}`;
}

/** Names that were created without quotes are upper case in other warehouses, so case is ignored. */
function tablesLike(
  schema: Omit<TableReference, 'table'>,
  pattern: string,
  isRegex: boolean,
  rules: SqlRules,
): string {
  const matches = isRegex
    ? `regexp_full_match(table_name, ${quoteText(pattern)}, 'i')`
    : `table_name ILIKE ${quoteText(pattern)}`;
  return `SELECT table_name FROM information_schema.tables WHERE ${renderSchemaFilter(schema, rules)} AND ${matches} ORDER BY table_name`;
}

const temporaryTable = (tableName: string) => `temp.main.${name(tableName)}`;

function createTemporaryTable(target: string, query: string): string {
  return `CREATE OR REPLACE TEMPORARY TABLE ${target} AS\n${query}`;
}

const renderColumnList = (columns: readonly string[] | undefined) =>
  columns === undefined ? undefined : `(${columns.map(name).join(', ')})`;

function insertRows(target: string, query: string, columns: readonly string[] | undefined): string {
  return `INSERT INTO ${target} ${renderColumnList(columns) ?? 'BY NAME'}\n${query}`;
}

/**
 * The new rows go to a temporary table first, because the query may read the table. A single MERGE does not
 * work: DuckDB inserts before it deletes, so a key that stays would violate its constraint.
 */
function replaceRows(target: string, query: string, columns: readonly string[] | undefined): StatementList {
  const aside = temporaryTable('headgate_new_rows');
  return {
    statements: [
      createTemporaryTable(aside, query),
      `DELETE FROM ${target}`,
      insertRows(target, `SELECT * FROM ${aside}`, columns),
      `DROP TABLE ${aside}`,
    ],
    counted: 2,
  };
}

/** Wildcards in brackets are literal. */
const quotePath = (path: string) => quoteText(path.replaceAll(/[*?[]/g, '[$&]'));

function readFirstLine(path: string, delimiter: string): string {
  return `SELECT * FROM read_csv(${quotePath(path)}, header = false, skip = 0, delim = ${quoteText(delimiter)}, all_varchar = true, null_padding = true, ignore_errors = true) LIMIT 1`;
}

function readFile(path: string, format: FileFormat, columns: readonly FileColumn[]): string {
  const file = quotePath(path);
  if (format.type === 'PARQUET') {
    const list = columns.map(
      (column) => `CAST(${name(column.name)} AS ${column.type}) AS ${name(column.name)}`,
    );
    return `SELECT ${list.length === 0 ? '*' : list.join(', ')} FROM read_parquet(${file})`;
  }
  const options = columns.length === 0 ? [] : [`columns = ${renderColumnStruct(columns)}`];
  if (format.type === 'JSON') {
    const lines =
      format.lineBytes === undefined
        ? []
        : [`format = 'newline_delimited'`, `maximum_object_size = ${boundObjects(format.lineBytes)}`];
    return `SELECT * FROM read_json(${[file, ...lines, ...options].join(', ')})`;
  }
  const csv = [`header = ${format.header}`, `delim = ${quoteText(format.delimiter)}`];
  return `SELECT * FROM read_csv(${[file, ...csv, ...options].join(', ')})`;
}

function renderColumnStruct(columns: readonly FileColumn[]): string {
  return `{${columns.map((column) => `${structKey(column.name)}: ${quoteText(column.type)}`).join(', ')}}`;
}

function writeFile(query: string, path: string, format: FileFormat): string {
  const options =
    format.type === 'CSV'
      ? [
          `FORMAT csv, HEADER ${format.header}, DELIMITER ${quoteText(format.delimiter)}`,
          ...(format.quote === undefined
            ? []
            : [`QUOTE ${quoteText(format.quote)}, ESCAPE ${quoteText(format.quote)}`]),
          ...(format.nullWord === undefined ? [] : [`NULL ${quoteText(format.nullWord)}`]),
        ].join(', ')
      : `FORMAT ${format.type.toLowerCase()}`;
  return `COPY (\n${query}\n) TO ${quoteText(path)} (${options})`;
}

const creations: Readonly<Record<TableCreation, string>> = {
  create: 'CREATE TABLE',
  replace: 'CREATE OR REPLACE TABLE',
  'if-missing': 'CREATE TABLE IF NOT EXISTS',
};

function matchText(how: TextMatch, text: string, pattern: string): string {
  if (how === 'contains') return `contains(${text}, ${pattern})`;
  if (how === 'starts') return `starts_with(${text}, ${pattern})`;
  if (how === 'ends') return `ends_with(${text}, ${pattern})`;
  return `${text} ${how.toUpperCase()} ${pattern}`;
}

/** A pattern of SIMILAR TO as a regular expression. */
function translateSimilarTo(pattern: string): string {
  return pattern.replaceAll(/\\.|[%_.^$]/gs, (found) => {
    if (found === '%') return '.*';
    if (found === '_') return '.';
    return found.length === 2 ? found : `\\${found}`;
  });
}

/** DuckDB takes twice the largest object for each thread. */
const leastObjectBytes = 1_048_576;

function readRecords(path: string, rowType: string, lineBytes: number): string {
  const columns = `{n: 'BIGINT', r: ${quoteText(rowType)}, x: 'VARCHAR[]'}`;
  const bytes = Math.max(leastObjectBytes, lineBytes);
  return `read_json(${quotePath(path)}, format = 'newline_delimited', columns = ${columns}, maximum_object_size = ${bytes})`;
}

/** What does not depend on the project and the environment. */
const common = {
  name,
  literal(value) {
    if (value === null) return 'NULL';
    return typeof value === 'string' ? quoteText(value) : String(value);
  },
  type,
  cast,
  fitValue,
  listWiderTypes,
  label: () => '',
  namesAllColumns: false,
  ignoresCase: true,
  enforcesKeys: false,
  ...shapeRows(name, quoteText),
  ignoreNulls: (call) => `${call.slice(0, -1)} IGNORE NULLS)`,
  matchText,
  matchSimilar: (text, pattern) =>
    `regexp_full_match(${text}, ${quoteText(translateSimilarTo(pattern))}, 's')`,
  compareFraction(column, operator, fraction) {
    const asText = `CAST(${column} AS VARCHAR) ${operator} ${quoteText(fraction)}`;
    const asNumber = `TRY_CAST(${column} AS DOUBLE) ${operator} ${fraction.trim()}`;
    return `CASE WHEN typeof(${column}) = 'VARCHAR' THEN ${asText} ELSE ${asNumber} END`;
  },
  columnTypes(from, columns) {
    const list = columns.map(
      (column) => `SELECT ${quoteText(column)}, typeof(any_value(${name(column)})) FROM "rows"`,
    );
    return `SELECT * FROM (WITH "rows" AS (SELECT * FROM ${from} LIMIT 0)\n${list.join('\nUNION ALL\n')})`;
  },
  raise: (message) => `error(${message})`,
  checkMerge: (merge) => [renderMergeCheck(merge)],
  beginTable: (table, creation) => ({ before: [], create: `${creations[creation]} ${table}` }),
  columnsExcept: (names) =>
    `COLUMNS(lambda c: lower(c) NOT IN (${names.map((each) => quoteText(each.toLowerCase())).join(', ')}))`,
  columnsRenamed: (renames) =>
    `* RENAME (${renames.map(([from, to]) => `${name(from)} AS ${name(to)}`).join(', ')})`,
  temporaryTable,
  createTemporaryTable,
  replaceRows,
  insertRows,
  readFile,
  quotePath,
  readFileSize: (path) => `SELECT size FROM read_blob(${quotePath(path)})`,
  readFirstLine,
  readJsonMembers: (path) =>
    `SELECT to_json(list(DISTINCT member)) FROM (SELECT unnest(json_keys(json)) AS member FROM read_json_objects(${quotePath(path)}))`,
  readRecords,
  ...createObjectReading({ name, quoteText, quotePath }),
  writeFile,
} satisfies Partial<Dialect>;

const renderTable = ({ database, schema, table }: TableReference, rules: SqlRules) =>
  [...placeSchema(database, schema, rules).path, table].map(name).join('.');

function makeSchema({ database, schema }: TableReference, rules: SqlRules): string[] {
  const { path, isMade } = placeSchema(database, schema, rules);
  return isMade ? [`CREATE SCHEMA IF NOT EXISTS ${path.map(name).join('.')}`] : [];
}

/** DuckDB with the SQL of a project. */
export const createDuckdb = (rules: SqlRules): Dialect => ({
  ...common,
  // The warehouse has no locks: of two transactions that make the same table one fails, even if it is dropped in
  // between.
  lockTable(target) {
    const lock = this.table({ ...target, table: `headgate_load_of_${target.table.toLowerCase()}` });
    return [...this.makeSchema(target), `CREATE TABLE ${lock} (nothing BOOLEAN)`, `DROP TABLE ${lock}`];
  },
  ...createStandardSql(name, (reference) => renderTable(reference, rules)),
  user: createUserSql(rules),
  aggregate(word, column, over, within) {
    const isMean = word === 'average' || word === 'avg';
    // The mean of the vendor has another scale.
    return isMean && within === 'rows' ? this.user.expression(`AVG(${column})${over}`).sql : undefined;
  },
  ignoresAccess: rules.ignoresAccess ?? false,
  table: (reference) => renderTable(reference, rules),
  makeSchema: (reference) => makeSchema(reference, rules),
  lengthCheck(column, { type: word, size }) {
    const written = word.trim().toUpperCase();
    const vendor = vendorOf(rules);
    const length = readTextLength(written, isEmpty(size) ? [] : [size.trim()], vendor, 'column');
    return length === undefined ? '' : writeLengthCheck(column, written, length, vendor);
  },
  replaceTable(reference, query) {
    const create = `${creations.replace} ${renderTable(reference, rules)} AS\n${query}`;
    const statements = [...makeSchema(reference, rules), create];
    return { statements, counted: statements.length - 1 };
  },
  tableExists: (reference) =>
    `SELECT table_name FROM information_schema.tables WHERE ${renderCatalogFilter(reference, rules)}`,
  tableColumns: (reference) =>
    `SELECT column_name, data_type FROM information_schema.columns WHERE ${renderCatalogFilter(reference, rules)} ORDER BY ordinal_position`,
  tablesLike: (schema, pattern, isRegex) => tablesLike(schema, pattern, isRegex, rules),
  textLengths: (reference) =>
    `SELECT constraint_column_names[1], CAST(regexp_extract(constraint_text, '${lengthMark}\\w+\\((\\d+)\\)', 1) AS INTEGER) FROM (SELECT *, database_name AS table_catalog, schema_name AS table_schema FROM duckdb_constraints()) WHERE constraint_type = 'CHECK' AND contains(constraint_text, '${lengthMark}') AND ${renderCatalogFilter(reference, rules)}`,
});

export const duckdb: Dialect = createDuckdb({});
