/** TO_DATE, TO_TIMESTAMP, TO_TIME and their TRY_ forms. */
import { argumentAt, define, type FunctionCall, type FunctionEntry, type FunctionTable } from './call.ts';
import { asText, bindOnce, mayBeJson, readKnownType } from './expressions.ts';
import { readInteger, readText, requireText } from './literals.ts';
import { type Reading, readFormattedMoment, readMoment, readNumberAsMoment } from './moments.ts';

const texts = "('VARCHAR', 'JSON')";
const numbers = /^(?:NUMBER|DECIMAL|DOUBLE|BIGINT|INTEGER|HUGEINT|FLOAT)/;
const numberNames =
  "('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'DOUBLE', 'FLOAT')";

/** A cast for each type that the value may have. Branches of other types are dropped when the query is planned. */
export function convertMoment(value: string, type: string, reading: Reading, format?: string): string {
  const known = readKnownType(value);
  const cast = (sql: string) => `${reading.safe ? 'TRY_CAST' : 'CAST'}(${sql} AS ${type})`;
  const readAs = (text: string) => {
    if (format === undefined) return readMoment(text, type, reading);
    const moment = readFormattedMoment(text, format, reading);
    return readKnownType(moment) === type ? moment : `CAST(${moment} AS ${type})`;
  };
  if (known === 'VARCHAR') return readAs(value);
  if (known !== undefined && /^(?:DATE|TIMESTAMP)/.test(known)) return cast(value);
  if (known !== undefined && numbers.test(known)) return readFromNumber(value, type, reading, format, readAs);
  return bindOnce([value], (name = '') => {
    const text = mayBeJson(value) ? `json_extract_string(to_json(${name}), '$')` : `CAST(${name} AS VARCHAR)`;
    const isNumber = `typeof(${name}) IN ${numberNames} OR typeof(${name}) LIKE 'DECIMAL%'`;
    const number = readFromNumber(`CAST(${name} AS VARCHAR)`, type, reading, format, readAs);
    return `CASE WHEN typeof(${name}) IN ${texts} THEN ${readAs(text)} WHEN ${isNumber} THEN ${number} ELSE ${cast(name)} END`;
  });
}

/** With a format, the digits of a number are read as text: 20240131 and 'YYYYMMDD'. */
function readFromNumber(
  number: string,
  type: string,
  { zoned }: Reading,
  format: string | undefined,
  readAs: (text: string) => string,
): string {
  if (format !== undefined) return readAs(asText(number));
  return `CAST(${readNumberAsMoment(number, 0, zoned)} AS ${type})`;
}

interface Target {
  readonly type: string;
  readonly zoned: boolean;
  readonly safe: boolean;
}

function convert(call: FunctionCall, { type, zoned, safe }: Target): string {
  const value = argumentAt(call, 0);
  const reading: Reading = { call, zoned, safe };
  const second = call.args[1];
  if (second === undefined) return convertMoment(value, type, reading);
  const scale = readInteger(second);
  if (scale !== undefined) return `CAST(${readNumberAsMoment(value, scale, zoned)} AS ${type})`;
  const format = requireText(call, 1, 'format');
  return convertMoment(value, type, reading, /^auto$/i.test(format) ? undefined : format);
}

const convertTo = (type: string, zoned: boolean, safe: boolean): FunctionEntry =>
  define(1, 3, (call) => convert(call, { type, zoned, safe }));

const zonedType = 'TIMESTAMP WITH TIME ZONE';

/** DuckDB's to_timestamp(number) gives the same seconds; Redshift's TO_TIMESTAMP has a zone. */
const toTimestamp = (safe: boolean) =>
  define(1, 3, (call) =>
    call.dialect === 'redshift'
      ? convert(call, { type: zonedType, zoned: true, safe })
      : convert(call, { type: 'TIMESTAMP', zoned: false, safe }),
  );

function toTime(call: FunctionCall, safe: boolean): string {
  const value = argumentAt(call, 0);
  const cast = (sql: string) => `${safe ? 'TRY_CAST' : 'CAST'}(${sql} AS TIME)`;
  if (call.args.length === 1) return cast(mayBeJson(value) ? asText(value) : value);
  const format = requireText(call, 1, 'format');
  if (/^auto$/i.test(format)) return cast(value);
  const text = readText(value) === undefined ? asText(value) : value;
  return cast(readFormattedMoment(text, format, { call, zoned: false, safe }));
}

const time = (safe: boolean) => define(1, 2, (call) => toTime(call, safe));

export const dateConversions: FunctionTable = {
  TO_DATE: convertTo('DATE', false, false),
  DATE: convertTo('DATE', false, false),
  TRY_TO_DATE: convertTo('DATE', false, true),
  TO_TIMESTAMP: toTimestamp(false),
  TRY_TO_TIMESTAMP: toTimestamp(true),
  TO_TIMESTAMP_NTZ: convertTo('TIMESTAMP', false, false),
  TRY_TO_TIMESTAMP_NTZ: convertTo('TIMESTAMP', false, true),
  TO_DATETIME: convertTo('TIMESTAMP', false, false),
  TO_TIMESTAMP_LTZ: convertTo(zonedType, true, false),
  TRY_TO_TIMESTAMP_LTZ: convertTo(zonedType, true, true),
  TO_TIMESTAMP_TZ: convertTo(zonedType, true, false),
  TRY_TO_TIMESTAMP_TZ: convertTo(zonedType, true, true),
  TO_TIME: time(false),
  TIME: time(false),
  TRY_TO_TIME: time(true),
};
