/** Types as people write them for any warehouse, as types of PostgreSQL. */
import { type ColumnType, SqlError } from '../dialect/dialect.ts';

/** Names by the PostgreSQL type that they mean. */
const meanings: Readonly<Record<string, string>> = {
  BOOLEAN: 'BOOLEAN BOOL',
  SMALLINT: 'SMALLINT INT2 TINYINT BYTEINT',
  INTEGER: 'INTEGER INT INT4',
  BIGINT: 'BIGINT INT8',
  REAL: 'REAL FLOAT4',
  'DOUBLE PRECISION': 'DOUBLE FLOAT FLOAT8',
  DATE: 'DATE',
  TIME: 'TIME',
  'TIME WITH TIME ZONE': 'TIMETZ',
  TIMESTAMP: 'TIMESTAMP DATETIME TIMESTAMP_NTZ TIMESTAMPNTZ',
  'TIMESTAMP WITH TIME ZONE': 'TIMESTAMPTZ TIMESTAMP_TZ TIMESTAMP_LTZ TIMESTAMPLTZ',
  INTERVAL: 'INTERVAL',
  BYTEA: 'BYTEA BINARY VARBINARY VARBYTE BLOB',
  JSONB: 'JSONB VARIANT OBJECT ARRAY SUPER',
  JSON: 'JSON',
  UUID: 'UUID',
};

const types: ReadonlyMap<string, string> = new Map([
  ...Object.entries(meanings).flatMap(([type, names]) =>
    names.split(' ').map((each) => [each, type] as const),
  ),
  ['DOUBLE PRECISION', 'DOUBLE PRECISION'],
  ['TIME WITHOUT TIME ZONE', 'TIME'],
  ['TIME WITH TIME ZONE', 'TIME WITH TIME ZONE'],
  ['TIMESTAMP WITHOUT TIME ZONE', 'TIMESTAMP'],
  ['TIMESTAMP WITH TIME ZONE', 'TIMESTAMP WITH TIME ZONE'],
  ['TIMESTAMP WITH LOCAL TIME ZONE', 'TIMESTAMP WITH TIME ZONE'],
]);

const texts = new Set(
  'VARCHAR,VARCHAR2,NVARCHAR,NVARCHAR2,CHAR,NCHAR,BPCHAR,CHARACTER,CHARACTER VARYING,STRING,TEXT'.split(','),
);
const decimals = new Set(['NUMBER', 'NUMERIC', 'DECIMAL', 'DEC']);

/** A longer text has no limit in PostgreSQL. */
const longestText = 10_485_760;
const mostDigits = 1_000;

/** @throws SqlError that lists the types */
export function postgresType({ type, size, precision }: ColumnType): string {
  const expected = type.trim().replaceAll(/\s+/g, ' ').toUpperCase();
  if (decimals.has(expected)) return renderDecimal(expected, size, precision);
  if (texts.has(expected)) {
    const length = readNumber(size, 'size of a text', 1, Number.MAX_SAFE_INTEGER);
    return length === undefined || length > longestText ? 'VARCHAR' : `VARCHAR(${length})`;
  }
  const found = types.get(expected);
  if (found !== undefined) return found;
  const known = [...decimals, ...texts, ...types.keys()].join(', ');
  throw new SqlError(`"${type}" is not a type: use one of ${known}`);
}

/** NUMBER, which PostgreSQL does not have, is as in Snowflake: 38 digits and no fraction. */
function renderDecimal(word: string, size: string | undefined, precision: string | undefined): string {
  const digits = readNumber(size, 'size of a number', 1, mostDigits);
  const scale = readNumber(precision, 'precision of a number', 0, digits ?? mostDigits);
  if (digits === undefined && scale === undefined) return word === 'NUMBER' ? 'NUMERIC(38,0)' : 'NUMERIC';
  return `NUMERIC(${digits ?? 38},${scale ?? 0})`;
}

function readNumber(text: string | undefined, what: string, least: number, most: number): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const value = /^\s*\d{1,12}\s*$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SqlError(`the ${what} must be from ${least} to ${most}, not "${text}"`);
}
