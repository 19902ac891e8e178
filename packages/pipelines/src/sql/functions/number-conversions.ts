/** TO_NUMBER, TO_DOUBLE, TO_BOOLEAN, TO_BINARY and their TRY_ forms. */
import {
  argumentAt,
  define,
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  refuse,
  refuseCall,
} from './call.ts';
import { asText, bindOnce, mayBeJson, readKnownType } from './expressions.ts';
import { readInteger, readText, requireInteger } from './literals.ts';
import { cleanNumberText, parseNumberFormat } from './number-formats.ts';

const casting = (safe: boolean) => (safe ? 'TRY_CAST' : 'CAST');
const scalar = (sql: string) => (mayBeJson(sql) ? asText(sql) : sql);

/** TO_NUMBER(x [, format] [, precision [, scale]]). In Snowflake the scale is 0 unless it is given. */
function toNumber(call: FunctionCall, safe: boolean): string {
  const rest = call.args.slice(1);
  const format = readText(rest[0]);
  if (format !== undefined) rest.shift();
  else if (rest.length > 0 && readInteger(rest[0]) === undefined) {
    refuseCall(call.name, `the format must be a text in quotes, not ${call.source[1]}`);
  }
  const offset = call.args.length - rest.length;
  const precision = rest.length > 0 ? requireInteger(call, offset, 'precision') : 38;
  const scale = rest.length > 1 ? requireInteger(call, offset + 1, 'scale') : defaultScale(call, format);
  if (precision < 1 || precision > 38 || scale < 0 || scale > precision) {
    refuseCall(
      call.name,
      `the precision must be from 1 to 38 and the scale from 0 to it, not ${precision}, ${scale}`,
    );
  }
  const type = `DECIMAL(${precision}, ${scale})`;
  const value = scalar(argumentAt(call, 0));
  if (format === undefined || /^TM[9E]?$/i.test(format)) return castToDecimal(value, precision, scale, safe);
  if (/^(?:FM)?X+$/i.test(format)) {
    const places = format.replace(/^FM/i, '').length;
    const misfit = safe
      ? 'NULL'
      : `error('${call.name}: "' || ${value} || '" has more digits than the format ${format}')`;
    const fitting = `CASE WHEN length(${value}) <= ${places} THEN ${value} ELSE ${misfit} END`;
    return `${casting(safe)}(${casting(safe)}('0x' || ${fitting} AS BIGINT) AS ${type})`;
  }
  const clean = cleanNumberText(asText(value), format);
  return castToDecimal(clean, precision, scale, safe);
}

/** Digits apart by `_`, and numbers in other bases, are numbers in DuckDB only. */
const foreignNumber = '_|^\\s*[-+]?0[a-zA-Z]';

/** A cast to a number, which reads no text that only DuckDB takes as one. */
export function readNumber(value: string, cast: string, safe: boolean): string {
  const type = readKnownType(value);
  const literal = readText(value);
  const isNumberText = literal !== undefined && !/_|^\s*[-+]?0[a-z]/i.test(literal);
  if (isNumberText || (type !== undefined && type !== 'VARCHAR')) return cast;
  const text = type === 'VARCHAR' ? value : `CAST(${value} AS VARCHAR)`;
  const isForeign = `regexp_matches(${text}, '${foreignNumber}')`;
  const refused = safe ? 'NULL' : `error('"' || ${text} || '" is not a number')`;
  return `CASE WHEN ${type === 'VARCHAR' ? '' : `typeof(${value}) = 'VARCHAR' AND `}${isForeign} THEN ${refused} ELSE ${cast} END`;
}

/** DuckDB takes 40 µs to read a text as a decimal of more than 18 digits, so it tries fewer digits first. */
export function castToDecimal(value: string, precision: number, scale: number, safe: boolean): string {
  const type = `DECIMAL(${precision}, ${scale})`;
  const isText = readKnownType(value) === undefined || readKnownType(value) === 'VARCHAR';
  const cast = (name: string) => `${casting(safe)}(${name} AS ${type})`;
  if (!isText) return cast(value);
  const isShort = precision <= 18 || scale > 18 || readText(value) !== undefined;
  return bindOnce([value], (name = '') => {
    const short = `CAST(TRY_CAST(${name} AS DECIMAL(18, ${scale})) AS ${type})`;
    return readNumber(name, isShort ? cast(name) : `coalesce(${short}, ${cast(name)})`, safe);
  });
}

/** Redshift takes the scale from the format. */
function defaultScale(call: FunctionCall, format: string | undefined): number {
  return call.dialect === 'redshift' && format !== undefined
    ? parseNumberFormat(call, format).fraction.length
    : 0;
}

function toDouble(call: FunctionCall, safe: boolean): string {
  const format = call.args.length > 1 ? readText(call.args[1]) : undefined;
  const value = scalar(argumentAt(call, 0));
  const text = format === undefined || /^TM/i.test(format) ? value : cleanNumberText(asText(value), format);
  return bindOnce([text], (name = '') => readNumber(name, `${casting(safe)}(${name} AS DOUBLE)`, safe));
}

/** Text by its words, numbers by whether they are 0. */
export function convertToBoolean(value: string, safe: boolean): string {
  return bindOnce([scalar(value)], (name = '') => {
    const word = `lower(trim(CAST(${name} AS VARCHAR)))`;
    const texts = `CASE WHEN ${word} IN ('true', 't', 'yes', 'y', 'on', '1') THEN true WHEN ${word} IN ('false', 'f', 'no', 'n', 'off', '0') THEN false ELSE ${casting(safe)}(CAST(${name} AS VARCHAR) AS BOOLEAN) END`;
    return `CASE WHEN typeof(${name}) = 'VARCHAR' THEN ${texts} ELSE ${casting(safe)}(${name} AS BOOLEAN) END`;
  });
}

function toBinary(call: FunctionCall, safe: boolean): string {
  const value = argumentAt(call, 0);
  const format = call.args.length > 1 ? readText(call.args[1])?.toUpperCase() : 'HEX';
  const decoders: Readonly<Record<string, string>> = {
    HEX: 'unhex',
    BASE64: 'from_base64',
    'UTF-8': 'encode',
    UTF8: 'encode',
  };
  const decoder = decoders[format ?? ''];
  if (decoder === undefined)
    refuseCall(call.name, `the format must be 'HEX', 'BASE64' or 'UTF-8', not ${call.source[1]}`);
  const decoded = `${decoder}(${value})`;
  return safe ? `TRY(${decoded})` : decoded;
}

const pair = (names: readonly string[], most: number, build: (call: FunctionCall, safe: boolean) => string) =>
  names.flatMap((name): [string, FunctionEntry][] => [
    [name, define(1, most, (call) => build(call, false))],
    [`TRY_${name}`, define(1, most, (call) => build(call, true))],
  ]);

const geography = refuse('places and shapes are not supported: keep the coordinates as numbers, or the text');

export const numberConversions: FunctionTable = {
  ...Object.fromEntries([
    ...pair(['TO_NUMBER', 'TO_DECIMAL', 'TO_NUMERIC'], 4, toNumber),
    ...pair(['TO_DOUBLE'], 2, toDouble),
    ...pair(['TO_BOOLEAN'], 1, (call, safe) => convertToBoolean(argumentAt(call, 0), safe)),
    ...pair(['TO_BINARY'], 2, toBinary),
  ]),
  TO_GEOGRAPHY: geography,
  TRY_TO_GEOGRAPHY: geography,
  TO_GEOMETRY: geography,
  TRY_TO_GEOMETRY: geography,
  ST_MAKEPOINT: geography,
  ST_POINT: geography,
  ST_DISTANCE: geography,
};
