/** Types as people write them for any warehouse, as types of Snowflake. */
import { type ColumnType, SqlError } from '../dialect/dialect.ts';

/** Names by the Snowflake type that they mean. */
const meanings: Readonly<Record<string, string>> = {
  BOOLEAN: 'BOOLEAN BOOL',
  SMALLINT: 'SMALLINT INT2 TINYINT BYTEINT',
  INTEGER: 'INTEGER INT INT4',
  BIGINT: 'BIGINT INT8',
  FLOAT: 'FLOAT FLOAT4 FLOAT8 DOUBLE REAL',
  DATE: 'DATE',
  TIME: 'TIME',
  TIMESTAMP_NTZ: 'TIMESTAMP_NTZ TIMESTAMPNTZ TIMESTAMP DATETIME',
  TIMESTAMP_LTZ: 'TIMESTAMP_LTZ TIMESTAMPLTZ',
  TIMESTAMP_TZ: 'TIMESTAMP_TZ TIMESTAMPTZ',
  BINARY: 'BINARY VARBINARY VARBYTE BYTEA BLOB',
  VARIANT: 'VARIANT JSON JSONB SUPER',
  OBJECT: 'OBJECT',
  ARRAY: 'ARRAY',
  GEOGRAPHY: 'GEOGRAPHY',
  GEOMETRY: 'GEOMETRY',
};

const types: ReadonlyMap<string, string> = new Map([
  ...Object.entries(meanings).flatMap(([type, names]) =>
    names.split(' ').map((each) => [each, type] as const),
  ),
  ['DOUBLE PRECISION', 'FLOAT'],
  ['TIME WITHOUT TIME ZONE', 'TIME'],
  ['TIMESTAMP WITHOUT TIME ZONE', 'TIMESTAMP_NTZ'],
  ['TIMESTAMP WITH TIME ZONE', 'TIMESTAMP_TZ'],
  ['TIMESTAMP WITH LOCAL TIME ZONE', 'TIMESTAMP_LTZ'],
]);

const texts = new Set('VARCHAR,VARCHAR2,NVARCHAR,NVARCHAR2,BPCHAR,CHARACTER VARYING,STRING,TEXT'.split(','));
/** Without a length they have one character. */
const characters = new Set(['CHAR', 'NCHAR', 'CHARACTER']);
const decimals = new Set(['NUMBER', 'NUMERIC', 'DECIMAL', 'DEC']);

const longestText = 134_217_728;
const mostDigits = 38;
/** Digits of fractions of seconds. */
const mostFraction = 9;

/** @throws SqlError that lists the types */
export function snowflakeType({ type, size, precision }: ColumnType): string {
  const expected = type.trim().replaceAll(/\s+/g, ' ').toUpperCase();
  if (decimals.has(expected)) {
    const digits = readNumber(size, 'size of a number', 1, mostDigits) ?? mostDigits;
    return `NUMBER(${digits}, ${readNumber(precision, 'precision of a number', 0, Math.min(digits, 37)) ?? 0})`;
  }
  if (texts.has(expected) || characters.has(expected)) {
    const length = readNumber(size, 'size of a text', 1, longestText);
    if (length !== undefined) return `VARCHAR(${length})`;
    return texts.has(expected) ? 'VARCHAR' : 'VARCHAR(1)';
  }
  const found = types.get(expected);
  if (found === undefined) {
    const known = [...decimals, ...texts, ...characters, ...types.keys()].join(', ');
    throw new SqlError(`"${type}" is not a type: use one of ${known}`);
  }
  const fraction = found.startsWith('TIME') ? readNumber(size, 'size of a time', 0, mostFraction) : undefined;
  return fraction === undefined ? found : `${found}(${fraction})`;
}

function readNumber(text: string | undefined, what: string, least: number, most: number): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const value = /^\s*\d{1,12}\s*$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SqlError(`the ${what} must be from ${least} to ${most}, not "${text}"`);
}
