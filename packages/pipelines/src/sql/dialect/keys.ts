/**
 * PRIMARY KEY and UNIQUE of tables. As in the vendors' warehouses, they are declared and not enforced: each column of
 * a key has a mark at the beginning of its comment, which stays with the column when it is renamed.
 */
import { quoteNames, quoteText } from '../tokens/tokens.ts';

/** The columns of one key. `name` stands for the key in the marks of its columns. */
export interface DeclaredKey {
  readonly kind: 'PRIMARY KEY' | 'UNIQUE';
  readonly columns: readonly string[];
}

/** A column with its comment, as in the catalog of the warehouse. */
interface CommentedColumn {
  readonly column: string;
  readonly comment: string;
}

/** `[PRIMARY KEY]` and `[UNIQUE a,b]`. Names are written so that they have no bracket, comma or blank. */
const mark = /^\[(PRIMARY KEY|UNIQUE [^\] ]+)\]/;

/** For a condition in SQL: the comments that begin with a mark. */
export const hasMark = "regexp_matches(comment, '^\\[(PRIMARY KEY|UNIQUE [^\\] ]+)\\]')";

/** SQL of a comment without its marks; NULL if nothing is left. */
export const removeMarks = (comment: string) =>
  `nullif(regexp_replace(${comment}, '^(\\[(PRIMARY KEY|UNIQUE [^\\] ]+)\\])+ ?', ''), '')`;

function createMark({ kind, columns }: DeclaredKey): string {
  const names = columns.map((name) => encodeURIComponent(name.toLowerCase().toWellFormed()));
  return kind === 'UNIQUE' ? `[UNIQUE ${names.join(',')}]` : '[PRIMARY KEY]';
}

const isOf = ({ columns }: DeclaredKey, column: string) =>
  columns.some((name) => name.toLowerCase() === column.toLowerCase());

/** The comment of a column of a new table: the marks of its keys, and what people wrote. */
export function createComment(column: string, keys: readonly DeclaredKey[], written = ''): string {
  const marks = keys.filter((key) => isOf(key, column)).map(createMark);
  // What people wrote is no mark.
  const text = written !== '' && (marks.length > 0 || mark.test(written)) ? ` ${written}` : written;
  return `${marks.join('')}${text}`;
}

/** The statements that declare the keys of a new table. `quote`: how the dialect writes a name. */
export function declareKeys(
  table: string,
  keys: readonly DeclaredKey[],
  quote: (name: string) => string,
): string[] {
  const names = [
    ...new Map(keys.flatMap(({ columns }) => columns.map((name) => [name.toLowerCase(), name]))),
  ];
  return names.map(
    ([, name]) => `COMMENT ON COLUMN ${table}.${quote(name)} IS ${quoteText(createComment(name, keys))}`,
  );
}

/** What the marks of a table's columns say. */
export function readKeys(columns: readonly CommentedColumn[]): DeclaredKey[] {
  const keys = new Map<string, { kind: DeclaredKey['kind']; columns: string[] }>();
  for (const { column, comment } of columns) {
    let rest = comment;
    for (let found = mark.exec(rest); found !== null; found = mark.exec(rest)) {
      const [written, name = ''] = found;
      const kind = name === 'PRIMARY KEY' ? name : 'UNIQUE';
      const key = keys.get(name) ?? { kind, columns: [] };
      keys.set(name, key);
      key.columns.push(column);
      rest = rest.slice(written.length);
    }
  }
  return [...keys.values()];
}

/** A query for `(schema, table, column, comment)` of all columns that belong to a key. */
export const keyedColumns = `SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() WHERE database_name IN (current_database(), 'temp') AND comment IS NOT NULL AND ${hasMark} ORDER BY table_oid, column_index`;

/** Rows of a table that are looked at. */
export const countedRows = 1_000_000;

/**
 * A query for how many rows of a table were looked at, and how many of them repeat the key of an earlier one. NULLs
 * repeat nothing.
 */
export function countRepeated(
  table: string,
  { columns }: DeclaredKey,
  quote: (name: string) => string,
): string {
  const names = columns.map(quote);
  const isWhole = names.map((name) => `${name} IS NOT NULL`).join(' AND ');
  const rows = `SELECT ${names.join(', ')} FROM ${table} LIMIT ${countedRows}`;
  return `SELECT coalesce(sum(n), 0)::BIGINT, coalesce(sum(repeated), 0)::BIGINT FROM (SELECT count(*) AS n, CASE WHEN ${isWhole} THEN count(*) - 1 ELSE 0 END AS repeated FROM (${rows}) GROUP BY ${names.join(', ')})`;
}

function ofTable(place: readonly string[]): string {
  const [table = '', schema = ''] = place.toReversed();
  const same = (column: string, name: string) => `lower(${column}) = ${quoteText(name.toLowerCase())}`;
  return `FROM duckdb_columns() WHERE ${same('schema_name', schema)} AND ${same('table_name', table)}`;
}

/** SQL that gives the statement which sets the comment of a column to the value of other SQL. */
function renderComment(place: readonly string[], value: string): string {
  const column = `'"' || replace(column_name, '"', '""') || '"'`;
  const quoted = `coalesce('''' || replace(${value}, '''', '''''') || '''', 'NULL')`;
  return `${quoteText(`COMMENT ON COLUMN ${quoteNames(place)}.`)} || ${column} || ' IS ' || ${quoted} AS statement`;
}

/** A query for the statements that declare a key of a table that is there, beside what its columns have. */
export function listMarks(place: readonly string[], key: DeclaredKey): string {
  const names = key.columns.map((name) => quoteText(name.toLowerCase()));
  const missing = names.map(
    (name, index) =>
      `SELECT error(${quoteText(`the table has no column "${key.columns[index]}"`)}) WHERE NOT EXISTS (SELECT 1 ${ofTable(place)} AND lower(column_name) = ${name})`,
  );
  const rest = `coalesce(CASE WHEN ${hasMark} THEN comment ELSE ' ' || comment END, '')`;
  const marked = renderComment(place, `(${quoteText(createMark(key))} || ${rest})`);
  const marks = `SELECT ${marked} ${ofTable(place)} AND lower(column_name) IN (${names.join(', ')})`;
  return [marks, ...missing].join(' UNION ALL ');
}

/** A query for the statements that take a key away. */
export function listUnmarks(place: readonly string[], key: DeclaredKey): string {
  const mark = quoteText(createMark(key));
  const left = `nullif(ltrim(replace(comment, ${mark}, '')), '')`;
  return `SELECT ${renderComment(place, left)} ${ofTable(place)} AND contains(comment, ${mark})`;
}

/** DESCRIBE of a table, with its keys in the column `key`. */
export function describeWithKeys(table: string, place: readonly string[]): string {
  const key = `CASE WHEN contains(comment, '[PRIMARY KEY]') THEN 'PRI' WHEN ${hasMark} THEN 'UNI' END`;
  return `SELECT described.* EXCLUDE (place) REPLACE (coalesce(described."key", marked."key") AS "key") FROM (SELECT *, row_number() OVER () AS place FROM (DESCRIBE ${table})) described LEFT JOIN (SELECT DISTINCT column_name, ${key} AS "key" ${ofTable(place)} AND ${hasMark}) marked USING (column_name) ORDER BY place`;
}

/** One row for each column of each key. */
const marked = `(SELECT database_name, schema_name, table_name, column_name, column_index, unnest(regexp_extract_all(regexp_extract(comment, '^(\\[(PRIMARY KEY|UNIQUE [^\\] ]+)\\])+'), '\\[([^\\]]+)\\]', 1)) AS mark FROM duckdb_columns() WHERE comment IS NOT NULL AND ${hasMark})`;

const keyName = `table_name || CASE WHEN mark = 'PRIMARY KEY' THEN '_pkey' ELSE '_' || replace(substr(mark, 8), ',', '_') || '_key' END`;

/** `information_schema.table_constraints` with the declared keys. */
export const tableConstraints = `(SELECT * FROM information_schema.table_constraints UNION ALL BY NAME SELECT DISTINCT database_name AS constraint_catalog, schema_name AS constraint_schema, ${keyName} AS constraint_name, database_name AS table_catalog, schema_name AS table_schema, table_name, split_part(mark, ' ', 1) || CASE WHEN mark = 'PRIMARY KEY' THEN ' KEY' ELSE '' END AS constraint_type, 'NO' AS is_deferrable, 'NO' AS initially_deferred, 'NO' AS enforced FROM ${marked})`;

/** `information_schema.key_column_usage` with the declared keys. */
export const keyColumns = `(SELECT * FROM information_schema.key_column_usage UNION ALL BY NAME SELECT database_name AS constraint_catalog, schema_name AS constraint_schema, ${keyName} AS constraint_name, database_name AS table_catalog, schema_name AS table_schema, table_name, column_name, (row_number() OVER (PARTITION BY database_name, schema_name, table_name, mark ORDER BY column_index))::INTEGER AS ordinal_position FROM ${marked})`;
