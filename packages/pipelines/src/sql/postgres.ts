/**
 * The dialect of PostgreSQL 15 and later. Names are quoted as they are written, so their case counts. SQL of users is
 * sent as it is written.
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
import { createPostgresShapes } from './postgres/postgres-shapes.ts';
import { postgresType } from './postgres/postgres-types.ts';
import { raisedMark } from './postgres/raised-mark.ts';
import { createPlainSql } from './rewriter.ts';
import { isDefaultName } from './tokens/names.ts';
import { quoteNames, quoteText } from './tokens/tokens.ts';

/** What a name without a schema means. */
export interface PostgresPlace {
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

const literal = (text: string) => quoteText(refuseNul(text));

const creations: Readonly<Record<TableCreation, string>> = {
  create: 'CREATE TABLE',
  replace: 'CREATE TABLE',
  'if-missing': 'CREATE TABLE IF NOT EXISTS',
};

function matchText(how: TextMatch, text: string, pattern: string): string {
  if (how === 'contains') return `strpos(${text}, ${pattern}) > 0`;
  if (how === 'starts') return `starts_with(${text}, ${pattern})`;
  if (how === 'ends') return `right(${text}, char_length(${pattern})) = ${pattern}`;
  // Without an escape character, as in the other warehouses.
  return `${text} ${how.toUpperCase()} ${pattern} ESCAPE ''`;
}

const textTypes = "'text', 'character varying', 'character', 'name'";

/** SQL for the name that `type` gives to a type, from the name that PostgreSQL gives. */
const nameType = (format: string) =>
  `CASE WHEN ${format} IN (${textTypes}) THEN 'VARCHAR' ELSE upper(replace(replace(${format}, 'character varying', 'varchar'), ' without time zone', '')) END`;

function unknownColumns(): never {
  throw new SqlError('the columns of a source are not known: name them in its component');
}

function refuseFiles(): never {
  throw new SqlError('files and responses of APIs are loaded in the embedded warehouse only');
}

/** Tables and views, and what is like a table. */
const relations = `pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')`;

export function createPostgres({ schema: defaultSchema }: PostgresPlace): Dialect {
  const placeOf = ({ database, schema }: Omit<TableReference, 'table'>): readonly string[] => [
    // PostgreSQL refuses another database than that of the connection, and names it.
    ...(isDefaultName(database) ? [] : [database.trim()]),
    isDefaultName(schema) ? defaultSchema : schema.trim(),
  ];
  const table = (reference: TableReference) => [...placeOf(reference), reference.table].map(name).join('.');

  function isIn(reference: Omit<TableReference, 'table'>): string {
    const [schema = '', database] = placeOf(reference).toReversed();
    const ofDatabase = database === undefined ? '' : ` AND current_database() = ${literal(database)}`;
    return `n.nspname = ${literal(schema)}${ofDatabase}`;
  }

  return {
    ...createStandardSql(name, table),
    user: createPlainSql('postgres'),
    label: (component) =>
      `/* ${refuseNul(component)
        .replaceAll(/[*/\s]+/g, ' ')
        .trim()} */ `,
    namesAllColumns: true,
    enforcesKeys: true,
    ignoresAccess: false,
    name,
    literal(value) {
      if (value === null) return 'NULL';
      return typeof value === 'string' ? literal(value) : String(value);
    },
    type: (column: ColumnType) => postgresType(column),
    lengthCheck: () => '',
    cast(sql, type, isTolerant) {
      if (isTolerant) refuseFiles();
      return `CAST(${sql} AS ${type})`;
    },
    table,
    // A role that may not create schemas could not even name one that is there.
    makeSchema: () => [],
    tableExists: (reference) =>
      `SELECT c.relname FROM ${relations} AND ${isIn(reference)} AND c.relname = ${literal(reference.table)}`,
    tableColumns: (reference) =>
      `SELECT a.attname, ${nameType('pg_catalog.format_type(a.atttypid, a.atttypmod)')} FROM ${relations.replace(' WHERE', ' JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE')} AND ${isIn(reference)} AND c.relname = ${literal(reference.table)} ORDER BY a.attnum`,
    tablesLike(schema, pattern, isRegex) {
      const matches = isRegex
        ? `c.relname ~* ${literal(`^(?:${pattern})$`)}`
        : `c.relname ILIKE ${literal(pattern)} ESCAPE ''`;
      const columns =
        '(SELECT json_agg(a.attname ORDER BY a.attnum)::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)';
      return `SELECT c.relname, ${columns} FROM ${relations} AND ${isIn(schema)} AND ${matches} ORDER BY c.relname`;
    },
    ...createPostgresShapes(name, literal),
    columnsExcept: unknownColumns,
    columnsRenamed: unknownColumns,
    ignoreNulls() {
      throw new SqlError(
        'PostgreSQL cannot pass over NULLs in lead and lag: set "ignoreNulls" to No, or write SQL',
      );
    },
    matchText,
    matchSimilar: (text, pattern) => `${text} SIMILAR TO ${literal(pattern)}`,
    compareFraction(column, operator, fraction) {
      const text = `CAST(${column} AS VARCHAR)`;
      return `CASE WHEN pg_typeof(${column})::text IN (${textTypes}) THEN ${text} ${operator} ${literal(fraction)} ELSE CAST(${text} AS NUMERIC) ${operator} ${fraction.trim()} END`;
    },
    columnTypes: (from, columns) =>
      columns
        .map(
          (column) =>
            `SELECT ${literal(column)}, ${nameType(`pg_typeof((SELECT ${name(column)} FROM ${from} LIMIT 0))::text`)}`,
        )
        .join('\nUNION ALL\n'),
    // The agent takes the message out of the error.
    raise: (message) => `CAST(${literal(raisedMark)} || ${message} AS BOOLEAN)`,
    // MERGE itself refuses to change a row twice.
    checkMerge: () => [],
    beginTable: (of, creation) => ({
      before: creation === 'replace' ? [`DROP TABLE IF EXISTS ${of}`] : [],
      create: `${creations[creation]} ${of}`,
    }),
    replaceTable(reference, query) {
      const aside = table({ ...reference, table: `headgate_new_${reference.table}` });
      return {
        statements: [
          `CREATE TABLE ${aside} AS\n${query}`,
          `DROP TABLE IF EXISTS ${table(reference)}`,
          `ALTER TABLE ${aside} RENAME TO ${name(reference.table)}`,
        ],
        counted: 0,
      };
    },
    replaceRows(target, query, columns) {
      const aside = 'pg_temp."headgate_new_rows"';
      return {
        statements: [
          `CREATE TEMPORARY TABLE ${aside} ON COMMIT DROP AS\n${query}`,
          `TRUNCATE ${target}`,
          insertRows(target, `SELECT * FROM ${aside}`, columns),
        ],
        counted: 2,
      };
    },
    temporaryTable: (tableName) => `pg_temp.${name(tableName)}`,
    createTemporaryTable: (target, query) => `CREATE TEMPORARY TABLE ${target} ON COMMIT DROP AS\n${query}`,
    insertRows,
    fitValue: refuseFiles,
    listWiderTypes: refuseFiles,
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

function insertRows(target: string, query: string, columns: readonly string[] | undefined): string {
  if (columns === undefined) unknownColumns();
  return `INSERT INTO ${target} (${columns.map(name).join(', ')})\n${query}`;
}
