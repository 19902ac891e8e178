/** TO_CHAR and TO_VARCHAR, and casts to text as the warehouses write dates and numbers. */
import {
  argumentAt,
  define,
  type FunctionCall,
  type FunctionTable,
  refuseCall,
  type SourceDialect,
} from './call.ts';
import { isDateFormat, usesMomentOnce, writeMoment } from './date-formats.ts';
import {
  asBigint,
  asMoment,
  asNumber,
  asText,
  bindOnce,
  isSimple,
  mayBeJson,
  readKnownType,
} from './expressions.ts';
import { readText, requireText } from './literals.ts';
import { isHexFormat, writeHex, writeNumber } from './number-formats.ts';

const writeDouble = (name: string) =>
  `replace(regexp_replace(CAST(${name} AS VARCHAR), '\\.0$', ''), 'nan', 'NaN')`;

/** The expression as a text, as the warehouse writes each type by default. */
export function writeDefaultText(sql: string, dialect: SourceDialect = 'snowflake'): string {
  const type = readKnownType(sql);
  if (type === 'VARCHAR') return sql;
  if (dialect === 'redshift') {
    if (type !== undefined && type !== 'ARITHMETIC' && type !== 'DOUBLE') return asText(sql);
    return bindOnce(
      [sql],
      (name = '') => `CASE typeof(${name}) WHEN 'DOUBLE' THEN ${writeDouble(name)} ELSE ${asText(name)} END`,
    );
  }
  if (type === 'BLOB') return `hex(${sql})`;
  if (type === 'NUMBER' || type === 'DATE' || (isSimple(sql) && readText(sql) !== undefined))
    return asText(sql);
  const moment = (name: string) => `strftime(CAST(${name} AS TIMESTAMP), '%Y-%m-%d %H:%M:%S.%g')`;
  const zoned = (name: string) => {
    const value = `CAST(${name} AS TIMESTAMP WITH TIME ZONE)`;
    const offset = ['hour', 'minute'].map((part) => `date_part('timezone_${part}', ${value})`);
    return `strftime(${value}, '%Y-%m-%d %H:%M:%S.%g ') || printf('%+03d%02d', ${offset.join(', ')})`;
  };
  return bindOnce([sql], (name = '') =>
    [
      `CASE typeof(${name}) WHEN 'JSON' THEN json_extract_string(to_json(${name}), '$')`,
      `WHEN 'TIMESTAMP' THEN ${moment(name)}`,
      `WHEN 'TIMESTAMP WITH TIME ZONE' THEN ${zoned(name)}`,
      `WHEN 'DOUBLE' THEN ${writeDouble(name)}`,
      `WHEN 'TIME' THEN left(CAST(${name} AS VARCHAR), 8)`,
      // hex() takes no date, and the branch must fit each type.
      `WHEN 'BLOB' THEN hex(CAST(CAST(${name} AS VARCHAR) AS BLOB))`,
      `ELSE CAST(${name} AS VARCHAR) END`,
    ].join(' '),
  );
}

/** An operand of `||`: DuckDB would write a known TIMESTAMP or DOUBLE otherwise. */
export function writeJoined(sql: string, dialect: SourceDialect): string {
  return /^(?:TIME|DOUBLE)/.test(readKnownType(sql) ?? '') ? `(${writeDefaultText(sql, dialect)})` : sql;
}

function writeText(call: FunctionCall): string {
  const value = argumentAt(call, 0);
  if (call.args.length === 1) return writeDefaultText(value);
  const format = requireText(call, 1, 'format');
  if (/^(?:hex|base64|utf-?8)$/i.test(format)) return writeBinary(value, format);
  if (isHexFormat(format)) return writeHex(asBigint(asNumber(value)), format);
  if (isNumberFormat(format)) return writeNumber(call, asNumber(value), format);
  if (/^TM[9E]?$/i.test(format)) return writeDefaultText(value);
  if (/^AUTO$/i.test(format)) return writeDefaultText(value);
  if (/^[\d$LSGD.,FM]*PR$/i.test(format))
    refuseCall(call.name, `the format "${format}" is not supported: write S or MI for the sign`);
  if (!isDateFormat(format, call.dialect)) {
    refuseCall(
      call.name,
      `the format "${format}" has no element of a date or a number: write one such as 'YYYY-MM-DD'`,
    );
  }
  const moment = asMoment(value);
  if (usesMomentOnce(format, call.dialect)) return writeMoment(moment, format, call.dialect);
  return bindOnce([moment], (bound = '') => writeMoment(bound, format, call.dialect));
}

/** Digits are literal text in a format of dates, and rare there. */
function isNumberFormat(format: string): boolean {
  const bare = format.replaceAll(/"[^"]*"/g, '').toUpperCase();
  return /^(?:FM)?[\s$LSB]*[,.GD]*[90][90,.GD]*(?:S|MI|\s)*$/.test(bare);
}

function writeBinary(value: string, format: string): string {
  if (/hex/i.test(format)) return `hex(${value})`;
  return /base64/i.test(format) ? `to_base64(${value})` : `decode(${value})`;
}

const singles = /^(?:N?CHAR|CHARACTER)$/;
const varying = /^(?:N?VARCHAR2?|TEXT|STRING|CHARACTER VARYING|(?:NCHAR|CHAR) VARYING)$/;

/**
 * The n of VARCHAR(n) and CHAR(n); undefined: any length.
 *
 * @param use Redshift's lengths without a number differ for columns
 */
export function readTextLength(
  type: string,
  [size]: readonly string[],
  dialect: SourceDialect,
  use: 'cast' | 'column',
): number | undefined {
  if (!singles.test(type) && !varying.test(type) && type !== 'BPCHAR') return undefined;
  const written = size?.trim() ?? '';
  if (/^\d{1,9}$/.test(written)) return Number(written);
  if (size !== undefined) return undefined;
  if (singles.test(type)) return 1;
  return dialect === 'redshift' && use === 'column' ? 256 : undefined;
}

/** VARCHAR(n) keeps the first n characters. */
export function cutText(text: string, length: number | undefined): string {
  return length === undefined ? text : `left(${text}, ${length})`;
}

const toChar = define(1, 2, writeText);

export const textConversions: FunctionTable = {
  TO_CHAR: toChar,
  TO_VARCHAR: toChar,
  TO_JSON: define(1, 1, (call) => `CAST(to_json(${argumentAt(call, 0)}) AS VARCHAR)`),
  TEXT: define(1, 1, (call) => (mayBeJson(argumentAt(call, 0)) ? asText(argumentAt(call, 0)) : undefined)),
};
