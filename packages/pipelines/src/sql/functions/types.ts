/** Types of Snowflake and Redshift as types of DuckDB. */
import { SqlError } from '../dialect/dialect.ts';
import type { SourceDialect } from './call.ts';

const types: Readonly<Record<string, string>> = {
  VARCHAR: 'VARCHAR',
  VARCHAR2: 'VARCHAR',
  NVARCHAR: 'VARCHAR',
  NVARCHAR2: 'VARCHAR',
  CHAR: 'VARCHAR',
  NCHAR: 'VARCHAR',
  BPCHAR: 'VARCHAR',
  CHARACTER: 'VARCHAR',
  'CHARACTER VARYING': 'VARCHAR',
  'CHAR VARYING': 'VARCHAR',
  'NCHAR VARYING': 'VARCHAR',
  STRING: 'VARCHAR',
  TEXT: 'VARCHAR',
  BOOLEAN: 'BOOLEAN',
  BOOL: 'BOOLEAN',
  DATE: 'DATE',
  TIME: 'TIME',
  'TIME WITHOUT TIME ZONE': 'TIME',
  TIMETZ: 'TIME WITH TIME ZONE',
  'TIME WITH TIME ZONE': 'TIME WITH TIME ZONE',
  DATETIME: 'TIMESTAMP',
  TIMESTAMP: 'TIMESTAMP',
  TIMESTAMP_NTZ: 'TIMESTAMP',
  TIMESTAMPNTZ: 'TIMESTAMP',
  'TIMESTAMP WITHOUT TIME ZONE': 'TIMESTAMP',
  TIMESTAMP_LTZ: 'TIMESTAMP WITH TIME ZONE',
  TIMESTAMPLTZ: 'TIMESTAMP WITH TIME ZONE',
  'TIMESTAMP WITH LOCAL TIME ZONE': 'TIMESTAMP WITH TIME ZONE',
  TIMESTAMP_TZ: 'TIMESTAMP WITH TIME ZONE',
  TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE',
  'TIMESTAMP WITH TIME ZONE': 'TIMESTAMP WITH TIME ZONE',
  BIGINT: 'BIGINT',
  INT8: 'BIGINT',
  FLOAT: 'DOUBLE',
  FLOAT8: 'DOUBLE',
  DOUBLE: 'DOUBLE',
  'DOUBLE PRECISION': 'DOUBLE',
  BINARY: 'BLOB',
  VARBINARY: 'BLOB',
  VARBYTE: 'BLOB',
  'BINARY VARYING': 'BLOB',
  VARIANT: 'JSON',
  OBJECT: 'JSON',
  ARRAY: 'JSON',
  SUPER: 'JSON',
  JSON: 'JSON',
  UUID: 'UUID',
};

/** In Snowflake all whole numbers have 38 digits; BIGINT has 18 and is fast. */
const integers: Readonly<Record<string, string>> = {
  INT: 'INTEGER',
  INTEGER: 'INTEGER',
  INT4: 'INTEGER',
  SMALLINT: 'SMALLINT',
  INT2: 'SMALLINT',
  TINYINT: 'SMALLINT',
  BYTEINT: 'SMALLINT',
};

const unsupported: Readonly<Record<string, string>> = {
  GEOGRAPHY: 'keep the coordinates as numbers, or the text as VARCHAR',
  GEOMETRY: 'keep the coordinates as numbers, or the text as VARCHAR',
  HLLSKETCH: 'keep the rows and count them by COUNT(DISTINCT …)',
};

/**
 * The type of DuckDB; undefined: the name is not Snowflake's or Redshift's, and stays as it is.
 *
 * @param name as written, such as NUMBER or "double precision"
 * @param args what follows in parentheses
 * @throws SqlError if the type is not supported, or a size is wrong
 */
export function translateType(
  name: string,
  args: readonly string[],
  dialect: SourceDialect = 'snowflake',
): string | undefined {
  const expected = name.trim().replaceAll(/\s+/g, ' ').toUpperCase();
  if (Object.hasOwn(unsupported, expected)) {
    throw new SqlError(`the type ${expected} is not supported: ${unsupported[expected]}`);
  }
  if (/^(?:NUMBER|NUMERIC|DECIMAL|DEC)$/.test(expected)) return renderDecimal(expected, args, dialect);
  if (Object.hasOwn(integers, expected)) return dialect === 'snowflake' ? 'BIGINT' : integers[expected];
  // Snowflake's REAL and FLOAT4 have 64 bits.
  if (expected === 'REAL' || expected === 'FLOAT4') return dialect === 'snowflake' ? 'DOUBLE' : 'REAL';
  if (expected === 'VECTOR') return renderVector(args);
  return Object.hasOwn(types, expected) ? types[expected] : undefined;
}

function renderDecimal(name: string, args: readonly string[], dialect: SourceDialect): string {
  const [size = dialect === 'redshift' ? '18' : '38', scale = '0'] = args;
  const [digits, places] = [size, scale].map((each) =>
    /^\s*\d{1,2}\s*$/.test(each) ? Number(each) : Number.NaN,
  );
  if (digits === undefined || places === undefined || !(digits >= 1 && digits <= 38 && places <= digits)) {
    throw new SqlError(
      `${name}(${args.join(', ')}) is not a type: write a size from 1 to 38 and a scale up to the size, as in NUMBER(10, 2)`,
    );
  }
  return `DECIMAL(${digits}, ${places})`;
}

function renderVector([element = 'FLOAT', size = '']: readonly string[]): string {
  if (!/^\s*\d{1,4}\s*$/.test(size))
    throw new SqlError(`VECTOR(${element}, ${size}) is not a type: write VECTOR(FLOAT, 256)`);
  return `${/int/i.test(element) ? 'INTEGER' : 'FLOAT'}[${Number(size)}]`;
}
