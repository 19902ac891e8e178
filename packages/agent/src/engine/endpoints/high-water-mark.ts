/**
 * The largest value of a column, up to which an endpoint has been loaded.
 *
 * With primary keys, rows that are as large as the mark are loaded again and replaced. Without, only larger
 * ones are loaded, because the others are in the table already.
 */
import { createHash } from 'node:crypto';
import {
  ConnectorError,
  compareDecimals,
  type Dialect,
  type EndpointLoad,
  type EndpointSource,
  type Incremental,
  isDecimal,
  isRawNumber,
  type PageRequest,
  readScalarText,
  shorten,
  trimEnd,
} from '@headgate/pipelines';

export interface HighWaterMark {
  /** Whether the row is to be loaded. @throws ConnectorError if it has no value that can be ordered */
  take(row: Readonly<Record<string, unknown>>): boolean;
  /** The part of the request that names the last load. */
  readonly parameters: PageRequest['parameters'];
  /** Undefined if no row has come yet. */
  readonly value: string | undefined;
}

/**
 * Identifies what is loaded, and into which table. Requests by another connection or with other parameters have
 * another mark. These are a digest, because they may hold secrets.
 *
 * @param profile the name of its file. @param endpoint its id
 */
export function createMarkKey(
  { profile, endpoint }: { profile: string; endpoint: string },
  { connection, values: { uri, query, headers, body } }: EndpointSource,
  { target, incremental, condition }: EndpointLoad,
  dialect: Dialect,
): string {
  const properties = Object.entries(connection).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const request = JSON.stringify([properties, uri, query, headers, body ?? null, condition ?? null]);
  const digest = createHash('sha256').update(request).digest('base64url').slice(0, digestLength);
  return JSON.stringify([
    profile,
    endpoint,
    incremental?.column,
    dialect.table(target).toLowerCase(),
    digest,
  ]);
}

/** Characters of 6 bits. */
const digestLength = 22;

/** @param before the value of the last load */
export function createHighWaterMark(
  { column, at }: Incremental,
  hasKeys: boolean,
  before: string | undefined,
): HighWaterMark {
  const least = before === undefined ? undefined : readOrdered(before, column);
  let largest = least;
  return {
    parameters: at === undefined || before === undefined ? [] : [{ at, value: before }],
    take(row) {
      const value = row[column];
      const text = readScalarText(value);
      if (text === undefined)
        throw new ConnectorError(
          `a row has no value at "${column}", the column of the high-water mark: choose another column`,
        );
      if (typeof value === 'boolean') throw describeUnordered(text, column);
      const ordered = typeof value === 'number' || isRawNumber(value) ? { text } : readOrdered(text, column);
      if (largest === undefined || compare(ordered, largest, column) > 0) largest = ordered;
      if (least === undefined) return true;
      const difference = compare(ordered, least, column);
      return difference > 0 || (hasKeys && difference === 0);
    },
    get value() {
      return largest?.text;
    },
  };
}

/** A value as it came, read as a date and time if it is one, else as a number. */
interface Ordered {
  text: string;
  moment?: Moment;
}

interface Moment {
  /** Milliseconds since 1970 of the whole second. A time without a time zone is taken as UTC. */
  seconds: number;
  /** Digits after the point, without zeros at the end. */
  fraction: string;
  hasZone: boolean;
}

function readOrdered(text: string, column: string): Ordered {
  if (isDecimal(text)) return { text };
  const moment = readMoment(text);
  if (moment === undefined) throw describeUnordered(text, column);
  return { text, moment };
}

function describeUnordered(text: string, column: string): ConnectorError {
  return new ConnectorError(
    `the column of the high-water mark, "${column}", has the value ${JSON.stringify(shorten(text))}, which has no known order: choose a column with numbers, or with dates and times such as 2026-01-31T08:30:00Z`,
  );
}

const written =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?)?(?: ?(Z|[+-]\d\d)(?::?(\d\d))?)?$/;

function readMoment(text: string): Moment | undefined {
  const [, date, time, second = '00', fraction = '', zone, minutes = '00'] = written.exec(text) ?? [];
  if (date === undefined || (zone !== undefined && time === undefined)) return undefined;
  const offset = zone === undefined || zone === 'Z' ? 'Z' : `${zone}:${minutes}`;
  const seconds = Date.parse(`${date}T${time ?? '00:00'}:${second}${offset}`);
  // JavaScript takes 30 February for 2 March.
  const isDay = new Date(`${date}T00:00:00Z`).getUTCDate() === Number(date.slice(-2));
  if (Number.isNaN(seconds) || !isDay) return undefined;
  return { seconds, fraction: trimEnd(fraction, '0'), hasZone: zone !== undefined };
}

function compare(one: Ordered, other: Ordered, column: string): number {
  if (one.text === other.text) return 0;
  const [left, right] = [one.moment, other.moment];
  if (left === undefined && right === undefined) return compareDecimals(one.text, other.text);
  if (left?.hasZone !== right?.hasZone)
    throw new ConnectorError(
      `the column of the high-water mark, "${column}", has the values "${shorten(one.text)}" and "${shorten(other.text)}", which have no common order: choose a column whose values all have the same form`,
    );
  if (left === undefined || right === undefined || left.seconds !== right.seconds)
    return (left?.seconds ?? 0) - (right?.seconds ?? 0);
  if (left.fraction === right.fraction) return 0;
  return left.fraction < right.fraction ? -1 : 1;
}
