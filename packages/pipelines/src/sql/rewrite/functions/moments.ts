/** Reads dates and times from text. */
import { type FunctionCall, refuseCall } from './call.ts';
import { readFormat } from './date-formats.ts';
import { asText, bindOnce } from './expressions.ts';
import { quoteText, readText } from './literals.ts';

/** The formats that Snowflake tries by itself, besides ISO 8601 that DuckDB reads. */
const automaticFormats = [
  '%d-%b-%Y',
  '%m/%d/%Y',
  '%m/%d/%Y %H:%M:%S',
  '%m/%d/%Y %H:%M:%S.%f',
  '%d-%b-%Y %H:%M:%S',
  '%Y-%m-%dT%H',
  '%Y-%m-%dT%H:%M',
  '%Y-%m-%d %H:%M',
  '%Y-%m-%d %H',
  '%a, %d %b %Y %H:%M:%S',
  '%a, %d %b %Y %I:%M:%S %p',
  '%a, %d %b %Y %H:%M:%S %z',
  '%d %b %Y %H:%M:%S %z',
  '%d %b %Y %H:%M:%S',
  '%a %b %d %H:%M:%S %z %Y',
];
const plainFormats = automaticFormats.filter((each) => !each.includes('%z'));
const zonedFormats = automaticFormats.filter((each) => each.includes('%z'));
const renderList = (formats: readonly string[]) => `[${formats.map(quoteText).join(', ')}]`;

const isoText = /^\s*\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?\s*$/;
const zoneOfText = String.raw`(:\d\d(?:\.\d+)?)\s*(?:Z|[+-]\d\d(?::?\d\d)?)$`;

export interface Reading {
  readonly call: FunctionCall;
  /** TIMESTAMP or TIMESTAMP WITH TIME ZONE. */
  readonly zoned: boolean;
  /** NULL for a text that cannot be read, in place of an error. */
  readonly safe: boolean;
}

/** Text as written in one of the usual forms. A whole number counts from 1970, in a unit that its size tells. */
export function readMoment(text: string, { zoned, safe }: Reading): string {
  const type = zoned ? 'TIMESTAMP WITH TIME ZONE' : 'TIMESTAMP';
  const literal = readText(text);
  if (literal !== undefined && isoText.test(literal))
    return `${safe ? 'TRY_CAST' : 'CAST'}(${text} AS ${type})`;
  return bindOnce([text], (name = '') => {
    // The offset of the text does not count for a TIMESTAMP, as in TIMESTAMP_NTZ.
    const local = zoned ? name : `regexp_replace(${name}, '${zoneOfText}', '\\1')`;
    const readings = [
      `TRY_CAST(${local} AS ${type})`,
      `try_strptime(trim(${name}), ${renderList(plainFormats)})`,
    ];
    readings.push(`try_strptime(trim(${name}), ${renderList(zonedFormats)})`);
    if (!safe) readings.push(`CAST(${name} AS ${type})`);
    const read = `coalesce(${readings.map((each) => `CAST(${each} AS ${type})`).join(', ')})`;
    const epoch = readEpoch(`TRY_CAST(${name} AS BIGINT)`, zoned);
    return `CASE WHEN regexp_full_match(${name}, '\\s*-?\\d+\\s*') THEN ${epoch} ELSE ${read} END`;
  });
}

/** Seconds, milliseconds, microseconds or nanoseconds, by the size of the number. */
function readEpoch(number: string, zoned: boolean): string {
  const limit = (value: string) => `abs(${number}) < ${value}`;
  const micros = `CASE WHEN ${limit('31536000000')} THEN ${number} * 1000000 WHEN ${limit('31536000000000')} THEN ${number} * 1000 WHEN ${limit('31536000000000000')} THEN ${number} ELSE ${number} // 1000 END`;
  return `${zoned ? 'make_timestamptz' : 'make_timestamp'}(${micros})`;
}

/** A number of seconds since 1970, or of units of 10^-scale seconds. */
export function readNumberAsMoment(number: string, scale: number, zoned: boolean): string {
  const micros = `CAST(floor(CAST(${number} AS DECIMAL(38, 9)) * ${scale >= 6 ? 1 : 10 ** (6 - scale)}${scale > 6 ? ` / ${10 ** (scale - 6)}` : ''}) AS BIGINT)`;
  return `${zoned ? 'make_timestamptz' : 'make_timestamp'}(${micros})`;
}

/** Text in the given format of the dialect. */
export function readFormattedMoment(text: string, format: string, { call, zoned, safe }: Reading): string {
  const readable = readFormat(format, call.dialect);
  if (readable === undefined || readable === '') {
    return refuseCall(
      call.name,
      `"${format}" has an element that cannot be read: use year, month, day and time`,
    );
  }
  const type = zoned ? 'TIMESTAMP WITH TIME ZONE' : 'TIMESTAMP';
  let value = asText(text);
  // strptime reads at most six digits of a second.
  if (readable.includes('%f')) value = `regexp_replace(${value}, '(\\.\\d{6})\\d+', '\\1')`;
  let form = readable;
  if (readable.endsWith('%z')) {
    // The offset of the text does not count for a TIMESTAMP, as in TIMESTAMP_NTZ.
    if (zoned) value = `regexp_replace(${value}, '[Zz]$', '+0000')`;
    else {
      value = `regexp_replace(${value}, '\\s*(?:[Zz]|[+-]\\d\\d(?::?\\d\\d)?)$', '')`;
      form = readable.slice(0, -2).trimEnd();
    }
  }
  return `CAST(${safe ? 'try_strptime' : 'strptime'}(${value}, ${quoteText(form)}) AS ${type})`;
}
