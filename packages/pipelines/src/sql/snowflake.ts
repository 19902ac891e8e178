/**
 * The dialect of Snowflake. Names are quoted as they are written, so their case counts. SQL of users is sent as it is
 * written. DDL ends a transaction, so that what must be whole is one statement.
 */
import {
  type ColumnType,
  type Dialect,
  SqlError,
  type TableCreation,
  type TableReference,
  type TextMatch,
} from './dialect/dialect.ts';
import { createStandardSql } from './dialect/standard-sql.ts';
import { raisedMark } from './postgres/raised-mark.ts';
import { translateSimilarPattern } from './rewrite/similar-patterns.ts';
import { createPlainSql } from './rewriter.ts';
import { createSnowflakeShapes } from './snowflake/snowflake-shapes.ts';
import { snowflakeType } from './snowflake/snowflake-types.ts';
import { isDefaultName } from './tokens/names.ts';
import { quoteNames, quoteText } from './tokens/tokens.ts';

/** What a name without a schema means. The database is that of the session. */
export interface SnowflakePlace {
  readonly schema: string;
}

function refuseNul(text: string): string {
  if (text.includes('\0')) throw new SqlError('a name or a value contains a NUL character: remove it');
  return text;
}

function name(identifier: string): string {
  if (identifier === '') throw new SqlError('a name is empty: fill it in');
  return quoteNames([refuseNul(identifier)]);
}

/** A backslash is an escape in texts of Snowflake. */
const literal = (text: string) => quoteText(refuseNul(text).replaceAll('\\', '\\\\'));

const creations: Readonly<Record<TableCreation, string>> = {
  create: 'CREATE TABLE',
  replace: 'CREATE OR REPLACE TABLE',
  'if-missing': 'CREATE TABLE IF NOT EXISTS',
};

const functions = { contains: 'contains', starts: 'startswith', ends: 'endswith' } as const;

function matchText(how: TextMatch, text: string, pattern: string): string {
  if (how === 'like' || how === 'ilike') return `${text} ${how.toUpperCase()} ${pattern}`;
  return `${functions[how]}(${text}, ${pattern})`;
}

/** Without its length, and the name that `type` gives to texts. */
const nameType = (column: string) => `CASE ${column} WHEN 'TEXT' THEN 'VARCHAR' ELSE ${column} END`;

function unknownColumns(): never {
  throw new SqlError('the columns of a source are not known: name them in its component');
}

function refuseFiles(): never {
  throw new SqlError('files and responses of APIs are loaded in the embedded warehouse only');
}

export function createSnowflake({ schema: defaultSchema }: SnowflakePlace): Dialect {
  const placeOf = ({ database, schema }: Omit<TableReference, 'table'>): readonly string[] => [
    ...(isDefaultName(database) ? [] : [database.trim()]),
    isDefaultName(schema) ? defaultSchema : schema.trim(),
  ];
  const table = (reference: TableReference) => [...placeOf(reference), reference.table].map(name).join('.');
  /** A view of the information schema of the database that a reference names. */
  const catalog = ({ database }: Omit<TableReference, 'table'>, view: string) =>
    `${isDefaultName(database) ? '' : `${name(database.trim())}.`}INFORMATION_SCHEMA.${view}`;
  const isIn = (reference: Omit<TableReference, 'table'>) =>
    `table_schema = ${literal(placeOf(reference).at(-1) ?? '')}`;
  const isTable = (reference: TableReference) =>
    `${isIn(reference)} AND table_name = ${literal(reference.table)}`;

  return {
    ...createStandardSql(name, table),
    user: createPlainSql('snowflake'),
    stores: 'snowflake',
    label: (component) =>
      `/* ${refuseNul(component)
        .replaceAll(/[*/\s]+/g, ' ')
        .trim()} */ `,
    namesAllColumns: true,
    // Snowflake shows the keys and does not check them.
    enforcesKeys: true,
    ignoresAccess: false,
    name,
    literal(value) {
      if (value === null) return 'NULL';
      return typeof value === 'string' ? literal(value) : String(value);
    },
    type: (column: ColumnType) => snowflakeType(column),
    lengthCheck: () => '',
    cast: (sql, type, isTolerant) =>
      isTolerant ? `TRY_CAST(CAST(${sql} AS VARCHAR) AS ${type})` : `CAST(${sql} AS ${type})`,
    table,
    makeSchema: () => [],
    tableExists: (reference) =>
      `SELECT table_name FROM ${catalog(reference, 'TABLES')} WHERE ${isTable(reference)}`,
    tableColumns: (reference) =>
      `SELECT column_name, ${nameType('data_type')} FROM ${catalog(reference, 'COLUMNS')} WHERE ${isTable(reference)} ORDER BY ordinal_position`,
    tablesLike(schema, pattern, isRegex) {
      const matches = isRegex
        ? `regexp_like(t.table_name, ${literal(pattern)}, 'i')`
        : `t.table_name ILIKE ${literal(pattern)}`;
      return `SELECT t.table_name, to_json(array_agg(c.column_name) WITHIN GROUP (ORDER BY c.ordinal_position)) FROM ${catalog(schema, 'TABLES')} t JOIN ${catalog(schema, 'COLUMNS')} c ON c.table_schema = t.table_schema AND c.table_name = t.table_name WHERE t.${isIn(schema)} AND ${matches} GROUP BY t.table_name ORDER BY t.table_name`;
    },
    ...createSnowflakeShapes(name, literal),
    columnsExcept: unknownColumns,
    columnsRenamed: unknownColumns,
    ignoreNulls: (call) => `${call} IGNORE NULLS`,
    matchText,
    matchSimilar: (text, pattern) =>
      `regexp_like(${text}, ${literal(translateSimilarPattern(pattern, '\\'))}, 's')`,
    compareFraction(column, operator, fraction) {
      const text = `CAST(${column} AS VARCHAR)`;
      return `CASE WHEN is_varchar(to_variant(${column})) THEN ${text} ${operator} ${literal(fraction)} ELSE try_to_double(${text}) ${operator} ${fraction.trim()} END`;
    },
    columnTypes: (from, columns) =>
      columns
        .map(
          (column) =>
            `SELECT ${literal(column)}, regexp_substr(system$typeof(any_value(${name(column)})), '^[A-Z_]+') FROM (SELECT ${name(column)} FROM ${from} LIMIT 1) AS "rows"`,
        )
        .join('\nUNION ALL\n'),
    // The agent takes the message out of the error.
    raise: (message) => `CAST(${literal(raisedMark)} || ${message} AS BOOLEAN)`,
    // MERGE itself refuses to change a row twice.
    checkMerge: () => [],
    beginTable: (of, creation) => ({ before: [], create: `${creations[creation]} ${of}` }),
    replaceTable: (reference, query) => ({
      statements: [`CREATE OR REPLACE TABLE ${table(reference)} AS\n${query}`],
      counted: 0,
    }),
    replaceRows: (target, query, columns) => ({
      statements: [insertInto('INSERT OVERWRITE INTO', target, query, columns)],
      counted: 0,
    }),
    temporaryTable: (tableName) => `${name(defaultSchema)}.${name(tableName)}`,
    createTemporaryTable: (target, query) => `CREATE OR REPLACE TEMPORARY TABLE ${target} AS\n${query}`,
    insertRows: (target, query, columns) => insertInto('INSERT INTO', target, query, columns),
    fitValue: refuseFiles,
    listWiderTypes: refuseFiles,
    // The components that need it work in the embedded warehouse only.
    lockTable: () => [],
    readFile: refuseFiles,
    quotePath: refuseFiles,
    readFileSize: refuseFiles,
    readFirstLine: refuseFiles,
    readJsonMembers: refuseFiles,
    readRecords: refuseFiles,
    readDelimited: refuseFiles,
    listRejects: refuseFiles,
    dropRejects: refuseFiles,
    readObjects: refuseFiles,
    listObjectMembers: refuseFiles,
    objectValue: refuseFiles,
    textLengths: refuseFiles,
    writeFile: refuseFiles,
  };
}

function insertInto(
  words: string,
  target: string,
  query: string,
  columns: readonly string[] | undefined,
): string {
  if (columns === undefined) unknownColumns();
  return `${words} ${target} (${columns.map(name).join(', ')})\n${query}`;
}
