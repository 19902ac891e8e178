/** CAST, TRY_CAST and `::` as Snowflake and Redshift do them. */

import type { FunctionCall, SourceDialect } from './call.ts';
import { convertMoment } from './date-conversions.ts';
import { asText, bindOnce, mayBeJson, readKnownType } from './expressions.ts';
import { asJson } from './json-values.ts';
import { readText } from './literals.ts';
import { castToDecimal, convertToBoolean, readNumber } from './number-conversions.ts';
import { cutText, readTextLength, writeDefaultText } from './text-conversions.ts';
import { translateType } from './types.ts';

export interface Cast {
  /** SQL of DuckDB. */
  readonly value: string;
  /** The name of the type as written, such as NUMBER, and what follows it in parentheses. */
  readonly type: string;
  readonly args: readonly string[];
  /** TRY_CAST: NULL instead of an error. */
  readonly safe: boolean;
  readonly dialect: SourceDialect;
}

const texts = /^(?:(?:N?VAR)?CHAR2?|NCHAR|STRING|TEXT|BPCHAR|CHARACTER(?: VARYING)?)$/;

/** SQL of DuckDB for the cast; undefined: the type is DuckDB's own. */
export function translateCast({ value, type, args, safe, dialect }: Cast): string | undefined {
  const target = translateType(type, args, dialect);
  if (target === undefined) return undefined;
  const name = type.toUpperCase();
  const cast = (sql: string) => `${safe ? 'TRY_CAST' : 'CAST'}(${sql} AS ${target})`;
  if (target === 'JSON') return name === 'JSON' ? cast(value) : asJson(value);
  if (/^NULL$/i.test(value.trim())) return cast(value);
  if (texts.test(name)) {
    const length = readTextLength(name, args, dialect, 'cast');
    const text = writeDefaultText(value, dialect);
    if (length === undefined || (!safe && dialect === 'redshift')) return cutText(text, length);
    return bindOnce([text], (bound = '') => limitText(bound, length, safe));
  }
  if (target === 'DATE' || target === 'TIMESTAMP' || target === 'TIMESTAMP WITH TIME ZONE') {
    const call: FunctionCall = { name, args: [value], source: [value], distinct: false, dialect };
    return convertMoment(value, target, { call, zoned: target.endsWith('ZONE'), safe });
  }
  if (target === 'BLOB' && dialect === 'snowflake') return readBinary(value, safe);
  if (target === 'BOOLEAN') return convertToBoolean(value, safe);
  const scalar = mayBeJson(value) ? asText(value) : value;
  // DuckDB rounds a DOUBLE of 2.5 to 2.
  if (/^(?:BIGINT|INTEGER|SMALLINT)$/.test(target)) return roundHalfUp(scalar, cast, safe);
  const [, precision, scale] = /^DECIMAL\((\d+), (\d+)\)$/.exec(target) ?? [];
  if (precision !== undefined) return castToDecimal(scalar, Number(precision), Number(scale), safe);
  return /^(?:DOUBLE|REAL|FLOAT)$/.test(target)
    ? bindOnce([scalar], (name = '') => readNumber(name, cast(name), safe))
    : cast(scalar);
}

/** In Snowflake a longer text does not fit, in Redshift it is cut. */
function limitText(text: string, length: number, safe: boolean): string {
  const literal = readText(text);
  if (literal !== undefined && [...literal].length <= length) return text;
  const fault = `error('"' || left(${text}, 50) || '" has more than ${length} characters: write LEFT(…, ${length}) to cut it')`;
  return `CASE WHEN length(${text}) <= ${length} THEN ${text}${safe ? '' : ` WHEN ${text} IS NOT NULL THEN ${fault}`} END`;
}

/** A text has two digits for each byte, as BINARY_INPUT_FORMAT is by default. */
function readBinary(value: string, safe: boolean): string {
  return bindOnce([value], (name) => {
    const bytes = `unhex(CAST(${name} AS VARCHAR))`;
    const read = safe ? `TRY(${bytes})` : bytes;
    return `CASE WHEN typeof(${name}) = 'VARCHAR' THEN ${read} ELSE CAST(CAST(${name} AS VARCHAR) AS BLOB) END`;
  });
}

function roundHalfUp(value: string, cast: (sql: string) => string, safe: boolean): string {
  const type = readKnownType(value);
  if (type === 'VARCHAR') return bindOnce([value], (name = '') => readNumber(name, cast(name), safe));
  if (type !== undefined && !['ARITHMETIC', 'DOUBLE', 'FLOAT'].includes(type)) return cast(value);
  return bindOnce([value], (name = '') => {
    const rounded = cast(`round(CAST(${name} AS DOUBLE))`);
    return `CASE WHEN typeof(${name}) = 'DOUBLE' THEN ${rounded} ELSE ${readNumber(name, cast(name), safe)} END`;
  });
}
