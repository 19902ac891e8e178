/** Reads dates and times from text. */
import { type FunctionCall, refuseCall } from './call.ts';
import { readFormat } from './date-formats.ts';
import { asText, bindOnce } from './expressions.ts';
import { quoteText, readText } from './literals.ts';

/** The formats that Snowflake tries by itself, besides ISO 8601, which DuckDB reads. */
const formats = [
  '%d-%b-%Y',
  '%m/%d/%Y',
  '%d-%b-%Y %H:%M:%S',
  '%m/%d/%Y %H:%M:%S',
  '%m/%d/%Y %H:%M:%S.%f',
  '%a, %d %b %Y %H:%M:%S',
  '%a, %d %b %Y %I:%M:%S %p',
];
const zonedFormats = [
  '%Y-%m-%d %H:%M:%S %z',
  '%Y-%m-%d %H:%M:%S.%f %z',
  '%Y-%m-%dT%H:%M:%S%z',
  '%Y-%m-%dT%H:%M:%S.%f%z',
  '%a, %d %b %Y %H:%M:%S %z',
  '%a %b %d %H:%M:%S %z %Y',
];
const renderList = (formats: readonly string[]) => `[${formats.map(quoteText).join(', ')}]`;

const isoText = /^\s*\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?\s*$/;
const zoneOfText = String.raw`(:\d\d(?:\.\d+)?)\s*(?:Z|[+-]\d\d(?::?\d\d)?)$`;

export interface Reading {
  readonly call: FunctionCall;
  /** TIMESTAMP or TIMESTAMP WITH TIME ZONE. */
  readonly zoned: boolean;
  /** NULL for a text that cannot be read, instead of an error. */
  readonly safe: boolean;
}

/**
 * Text as written in one of the usual forms. A whole number counts from 1970, in a unit that its size tells.
 *
 * @param type DATE, TIMESTAMP or TIMESTAMP WITH TIME ZONE
 */
export function readMoment(written: string, type: string, { call, zoned, safe }: Reading): string {
  const text = keepsOffset(call) ? refuseOffset(written) : written;
  const literal = readText(text);
  const cast = safe ? 'TRY_CAST' : 'CAST';
  if (literal !== undefined && isoText.test(literal)) return `${cast}(${text} AS ${type})`;
  const wide = zoned ? 'TIMESTAMP WITH TIME ZONE' : 'TIMESTAMP';
  return bindOnce([text], (name = '') => {
    // The offset of the text does not count for a TIMESTAMP, as in TIMESTAMP_NTZ.
    const local = zoned ? name : `regexp_replace(${name}, '${zoneOfText}', '\\1')`;
    const readings = [
      `TRY_CAST(${local} AS ${wide})`,
      `try_strptime(${name}, ${renderList(formats)})`,
      `CAST(try_strptime(${name}, ${renderList(zonedFormats)}) AS ${wide})`,
      readEpoch(`TRY_CAST(${name} AS BIGINT)`, zoned),
    ];
    if (!safe) readings.push(`CAST(${name} AS ${wide})`);
    const read = `coalesce(${readings.join(', ')})`;
    return type === wide ? read : `CAST(${read} AS ${type})`;
  });
}

const offsetTypes = /^(?:(?:TRY_)?TO_TIMESTAMP_TZ|TIMESTAMP_?TZ|TIMESTAMP WITH TIME ZONE)$/;
/** Of JavaScript and of DuckDB. */
const offset = /:\d\d(?:\.\d{1,9})?\s{0,9}[+-][\d:]{0,5}[1-9][\d:]{0,5}\s{0,9}$/;

/** In Snowflake a TIMESTAMP_TZ has the offset of its text; DuckDB's has none. Redshift's is in UTC. */
const keepsOffset = ({ name, dialect }: FunctionCall) => dialect === 'snowflake' && offsetTypes.test(name);

/** The text, if it is in UTC. */
function refuseOffset(text: string): string {
  const literal = readText(text);
  if (literal !== undefined && !offset.test(literal)) return text;
  return bindOnce([text], (name) => {
    const fault = `'TIMESTAMP_TZ keeps no offset here: for ' || ${name} || ' write TIMESTAMP_LTZ, which is in UTC, or TIMESTAMP_NTZ, which has the time as written'`;
    return `CASE WHEN regexp_matches(${name}, '${offset.source}') THEN error(${fault}) ELSE ${name} END`;
  });
}

/** Seconds, milliseconds, microseconds or nanoseconds, by the size of the number. */
function readEpoch(number: string, zoned: boolean): string {
  const factors = [
    ['31536000000', '1000000'],
    ['31536000000000', '1000'],
    ['31536000000000000', '1'],
  ].map(([limit, factor]) => `WHEN abs(${number}) < ${limit} THEN ${factor}`);
  const micros = `CAST(${number} * CASE ${factors.join(' ')} ELSE 0.001 END AS BIGINT)`;
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
  let value = asText(keepsOffset(call) ? refuseOffset(text) : text);
  // strptime reads at most six digits of a second.
  if (readable.includes('%f')) value = `regexp_replace(${value}, '(\\.\\d{6})\\d+', '\\1')`;
  if (call.dialect === 'redshift') value = cutToFormat(value, readable);
  let form = readable;
  if (readable.endsWith('%z')) {
    // The offset of the text does not count for a TIMESTAMP, as in TIMESTAMP_NTZ.
    if (zoned) value = `regexp_replace(${value}, '[Zz]$', '+0000')`;
    else {
      value = `regexp_replace(${value}, '\\s*(?:[Zz]|[+-]\\d\\d(?::?\\d\\d)?)$', '')`;
      form = readable.slice(0, -2).trimEnd();
    }
  }
  const read = `${safe ? 'try_strptime' : 'strptime'}(${value}, ${quoteText(form)})`;
  return `CAST(${readable.includes('%y') ? moveCentury(read) : read} AS ${type})`;
}

/** Years of two digits begin with 1970 in both warehouses, and with 1969 in DuckDB. */
function moveCentury(moment: string): string {
  return bindOnce(
    [moment],
    (name) => `CASE WHEN year(${name}) = 1969 THEN ${name} + INTERVAL 100 YEAR ELSE ${name} END`,
  );
}

/** Redshift ignores what follows the part of the text that the format describes. */
function cutToFormat(text: string, readable: string): string {
  const pattern = readable.replaceAll(/%(.)|([^%\w\s])/g, (_, letter: string | undefined, sign: string) =>
    letter === undefined ? `\\${sign}` : (patterns[letter] ?? '\\d{1,2}'),
  );
  return bindOnce(
    [text],
    (name) => `coalesce(nullif(regexp_extract(${name}, ${quoteText(`^\\s*${pattern}`)}), ''), ${name})`,
  );
}

const patterns: Readonly<Record<string, string>> = {
  Y: '\\d{4}',
  j: '\\d{1,3}',
  f: '\\d{1,6}',
  g: '\\d{1,3}',
  b: '[A-Za-z]+',
  B: '[A-Za-z]+',
  a: '[A-Za-z]+',
  A: '[A-Za-z]+',
  p: '[AaPp][Mm]',
  z: '[+-]\\d\\d(?::?\\d\\d)?',
  '%': '%',
};
