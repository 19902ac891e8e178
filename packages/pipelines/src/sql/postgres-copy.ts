/** COPY of PostgreSQL: files go through the connection, as CSV. */
import { type CopyDialect, type FileFormat, SqlError } from './dialect/dialect.ts';
import { duckdb } from './duckdb.ts';
import { quoteNames, quoteText } from './tokens/tokens.ts';

/** Types that mean the same in between. Values of others go through as texts, and PostgreSQL reads them. */
const same = new Set(
  [
    'BOOLEAN',
    'SMALLINT',
    'INTEGER',
    'BIGINT',
    'REAL',
    'DOUBLE PRECISION',
    'DATE',
    'TIME',
    'TIMESTAMP',
  ].concat(['TIMESTAMP WITH TIME ZONE', 'UUID', 'JSON']),
);
const mostDigits = 38;

function betweenType(type: string): string {
  if (same.has(type)) return type;
  if (type === 'JSONB') return 'JSON';
  const [, digits = '', scale = '0'] = /^NUMERIC\((\d{1,4}),(\d{1,4})\)$/.exec(type) ?? [];
  return digits !== '' && Number(digits) <= mostDigits ? `DECIMAL(${digits},${scale})` : 'VARCHAR';
}

const own: Readonly<Record<string, string>> = {
  TINYINT: 'SMALLINT',
  UTINYINT: 'SMALLINT',
  USMALLINT: 'INTEGER',
  UINTEGER: 'BIGINT',
  UBIGINT: 'NUMERIC(20,0)',
  HUGEINT: 'NUMERIC(39,0)',
  UHUGEINT: 'NUMERIC(39,0)',
  FLOAT: 'REAL',
  DOUBLE: 'DOUBLE PRECISION',
  JSON: 'JSONB',
  BLOB: 'BYTEA',
  TIMESTAMP_NS: 'TIMESTAMP',
  TIMESTAMP_MS: 'TIMESTAMP',
  TIMESTAMP_S: 'TIMESTAMP',
};

/** Lists and structures are JSON, as they are written in between. */
function ownType(type: string): string {
  if (type.startsWith('DECIMAL(')) return type.replace('DECIMAL', 'NUMERIC');
  if (/^(?:STRUCT|MAP|UNION)\(|\]$/.test(type)) return 'JSONB';
  return own[type] ?? (same.has(type) ? type : 'VARCHAR');
}

/** Bytes of a row that is written in between. Without a size, a buffer of DuckDB has 32 times as much. */
const longestLine = 67_108_864;

/** No text has it. */
const noNull = '\u0001headgate';

export const postgresCopy: CopyDialect = {
  between: duckdb,
  betweenType,
  ownType,
  readCopied(path, columns) {
    const types = columns.map(({ name, type }) => `${quoteText(name)}: ${quoteText(type)}`).join(', ');
    return `read_csv(${duckdb.quotePath(path)}, auto_detect = false, header = false, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, new_line = '\\n', max_line_size = ${longestLine}, buffer_size = ${longestLine + 1}, parallel = false, columns = {${types}})`;
  },
  // All values are enclosed: a lone \. would end the rows.
  writeCopied: (table, path) =>
    `COPY (FROM ${table}) TO ${quoteText(path)} (FORMAT csv, HEADER false, FORCE_QUOTE *)`,
  copyIn(table, columns, { delimiter, quote, escapeCharacter, nullWord, isNullQuoted }, name) {
    const options = [
      `FORMAT csv, ENCODING 'UTF8', DELIMITER ${quoteText(delimiter)}, QUOTE ${quoteText(quote)}`,
      `ESCAPE ${quoteText(escapeCharacter)}, NULL ${quoteText(nullWord ?? noNull)}`,
      ...(isNullQuoted ? [`FORCE_NULL (${columns.map((each) => quoteNames([each])).join(', ')})`] : []),
    ];
    return `COPY ${table} (${columns.map((each) => quoteNames([each])).join(', ')}) FROM ${name === undefined ? 'STDIN' : quoteText(name)} (${options.join(', ')})`;
  },
  copyOut(query, format: FileFormat, name) {
    const place = name === undefined ? 'STDOUT' : quoteText(name);
    if (format.type === 'PARQUET') throw new SqlError('Parquet is written by the agent');
    // JSON has no control characters, so that nothing is enclosed.
    if (format.type === 'JSON')
      return `COPY (SELECT row_to_json("rows") FROM (\n${query}\n) AS "rows") TO ${place} (FORMAT csv, ENCODING 'UTF8', DELIMITER E'\\x02', QUOTE E'\\x01')`;
    const { header, delimiter, quote = '"', nullWord = '' } = format;
    const options = [
      `FORMAT csv, ENCODING 'UTF8', HEADER ${header}, DELIMITER ${quoteText(delimiter)}, NULL ${quoteText(nullWord)}`,
      `QUOTE ${quoteText(quote)}, ESCAPE ${quoteText(quote)}`,
    ];
    return `COPY (\n${query}\n) TO ${place} (${options.join(', ')})`;
  },
};
