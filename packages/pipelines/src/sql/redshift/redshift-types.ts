/** Types as people write them for any warehouse, as types of Redshift. */
import { type ColumnType, SqlError } from '../dialect/dialect.ts';

/** Names by the Redshift type that they mean. */
const meanings: Readonly<Record<string, string>> = {
  BOOLEAN: 'BOOLEAN,BOOL',
  SMALLINT: 'SMALLINT,INT2,TINYINT,BYTEINT',
  INTEGER: 'INTEGER,INT,INT4',
  BIGINT: 'BIGINT,INT8',
  REAL: 'REAL,FLOAT4',
  'DOUBLE PRECISION': 'DOUBLE PRECISION,DOUBLE,FLOAT,FLOAT8',
  DATE: 'DATE',
  TIME: 'TIME,TIME WITHOUT TIME ZONE',
  TIMETZ: 'TIMETZ,TIME WITH TIME ZONE',
  TIMESTAMP: 'TIMESTAMP,DATETIME,TIMESTAMP_NTZ,TIMESTAMPNTZ,TIMESTAMP WITHOUT TIME ZONE',
  TIMESTAMPTZ:
    'TIMESTAMPTZ,TIMESTAMP_TZ,TIMESTAMP_LTZ,TIMESTAMPLTZ,TIMESTAMP WITH TIME ZONE,TIMESTAMP WITH LOCAL TIME ZONE',
  VARBYTE: 'VARBYTE,BINARY,VARBINARY,BYTEA,BLOB',
  SUPER: 'SUPER,VARIANT,OBJECT,ARRAY,JSON,JSONB',
};

const types: ReadonlyMap<string, string> = new Map(
  Object.entries(meanings).flatMap(([type, names]) => names.split(',').map((each) => [each, type] as const)),
);
const texts = new Set('VARCHAR,VARCHAR2,NVARCHAR,NVARCHAR2,CHARACTER VARYING,STRING,TEXT'.split(','));
const characters = new Set('CHAR,NCHAR,CHARACTER,BPCHAR'.split(','));
const decimals = new Set('NUMBER,NUMERIC,DECIMAL,DEC'.split(','));

/** Bytes of a text. VARCHAR without a length would have 256. */
const longestText = 65_535;
const longestCharacters = 4_096;
const mostDigits = 38;

export const anyText = `VARCHAR(${longestText})`;

/**
 * The length of a text is in bytes there, and in characters where people write it: it has four times as many.
 *
 * @throws SqlError that lists the types
 */
export function redshiftType({ type, size, precision }: ColumnType): string {
  const expected = type.trim().replaceAll(/\s+/g, ' ').toUpperCase();
  if (decimals.has(expected)) {
    const digits = readNumber(size, 'size of a number', 1, mostDigits) ?? mostDigits;
    return `NUMERIC(${digits},${readNumber(precision, 'precision of a number', 0, Math.min(digits, 37)) ?? 0})`;
  }
  if (texts.has(expected)) {
    const length = readNumber(size, 'size of a text', 1, Number.MAX_SAFE_INTEGER) ?? longestText;
    return `VARCHAR(${Math.min(length * 4, longestText)})`;
  }
  if (characters.has(expected)) {
    const length = readNumber(size, 'size of a text', 1, Number.MAX_SAFE_INTEGER) ?? 1;
    return length > longestCharacters
      ? `VARCHAR(${Math.min(length * 4, longestText)})`
      : `VARCHAR(${length * 4})`;
  }
  const found = types.get(expected);
  if (found !== undefined) return found;
  const known = [...decimals, ...texts, ...characters, ...types.keys()].join(', ');
  throw new SqlError(`"${type}" is not a type of Redshift: use one of ${known}`);
}

function readNumber(text: string | undefined, what: string, least: number, most: number): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const value = /^\s*\d{1,12}\s*$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SqlError(`the ${what} must be from ${least} to ${most}, not "${text}"`);
}
