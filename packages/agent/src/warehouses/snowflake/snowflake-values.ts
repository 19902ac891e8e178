/** Values of Snowflake, which come as texts, as the warehouse port gives them. */
import { readDecimal, readFloat, readInteger, type Value } from '../served/served-values.ts';

/** What the server says of a column. */
export interface SnowflakeColumn {
  name: string;
  type: string;
  scale: number;
}

const day = 86_400_000;
/** Days and seconds that a date of JavaScript can have. */
const mostDays = 100_000_000;
const mostSeconds = mostDays * 86_400;

/** Days since 1970. */
function readDate(text: string): Value {
  const days = Number(text);
  if (!/^-?\d{1,9}$/.test(text) || Math.abs(days) > mostDays) return text;
  return writeDate(new Date(days * day));
}

/** In the years from 0000 to 9999; others have a sign and more digits. */
const writeDate = (date: Date) => date.toISOString().slice(0, date.toISOString().indexOf('T'));

/** Seconds since midnight, with a fraction. */
function readTime(text: string): Value {
  const parts = readSeconds(text);
  if (parts === undefined || parts.seconds < 0 || parts.seconds >= 86_400) return text;
  const time = new Date(parts.seconds * 1_000).toISOString().slice(11, 19);
  return parts.fraction === '' ? time : `${time}.${parts.fraction}`;
}

interface Seconds {
  /** Whole ones, rounded down. */
  seconds: number;
  /** At least milliseconds, at most nanoseconds, or '' if there is none. */
  fraction: string;
}

const form = /^(-?)(\d{1,16})(?:\.(\d{1,9}))?$/;

function readSeconds(text: string): Seconds | undefined {
  const [, sign, whole = '', digits = ''] = form.exec(text) ?? [];
  if (sign === undefined || Number(whole) > mostSeconds) return undefined;
  let nanoseconds = Number(digits.padEnd(9, '0'));
  let seconds = Number(whole);
  if (sign === '-') {
    seconds = -seconds - (nanoseconds > 0 ? 1 : 0);
    nanoseconds = nanoseconds > 0 ? 1_000_000_000 - nanoseconds : 0;
  }
  const all = String(nanoseconds).padStart(9, '0');
  const end = all.endsWith('000000') ? 3 : all.endsWith('000') ? 6 : 9;
  return { seconds, fraction: nanoseconds === 0 ? '' : all.slice(0, end) };
}

/** Without a zone. */
function readTimestamp(text: string): Value {
  const parts = readSeconds(text);
  if (parts === undefined) return text;
  const moment = writeMoment(parts);
  return parts.fraction === '' ? moment : `${moment}.${parts.fraction}`;
}

/** In UTC. A value with a zone has its offset behind a blank. */
function readMoment(text: string): Value {
  const [seconds = ''] = text.split(' ', 1);
  const parts = readSeconds(seconds);
  return parts === undefined ? text : `${writeMoment(parts)}.${parts.fraction || '000'}Z`;
}

const writeMoment = ({ seconds }: Seconds) =>
  new Date(seconds * 1_000).toISOString().slice(0, -'.000Z'.length);

const readers: Readonly<Record<string, (text: string) => Value>> = {
  real: readFloat,
  boolean: (text) => text === '1' || text.toLowerCase() === 'true',
  date: readDate,
  time: readTime,
  timestamp_ntz: readTimestamp,
  timestamp_ltz: readMoment,
  timestamp_tz: readMoment,
};

/** How the values of a column are read. */
export function findReader({ type, scale }: SnowflakeColumn): (text: string) => Value {
  const word = type.toLowerCase();
  if (word === 'fixed') return scale === 0 ? readInteger : readDecimal;
  return Object.hasOwn(readers, word) ? (readers[word] ?? String) : String;
}
