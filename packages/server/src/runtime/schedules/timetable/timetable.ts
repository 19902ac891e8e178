/**
 * When a schedule runs: the ticks of a cron expression in a time zone, or of an interval, which is elapsed
 * time.
 */
import { firstYear, lastYear, readCronExpression } from './cron-expression.ts';
import { createCronSearch, type FindNext, latest } from './cron-search.ts';
import { type IntervalExpression, readInterval } from './interval.ts';
import { describeUnknownZone, findZone, type Zone } from './zone.ts';

export interface TimetableInput {
  /** Exactly one of cronExpression and intervalExpression. */
  cronExpression?: string | undefined;
  intervalExpression?: IntervalExpression | undefined;
  /** A name of the IANA database. Read for cron expressions; checked for intervals too. */
  cronTimezone: string;
  /** The first time that may be a tick. */
  effectiveFrom?: Date | undefined;
  /** Where an interval without effectiveFrom starts; its first tick is one interval later. */
  createdAt: Date;
}

export interface TimetableFault {
  field: 'cronExpression' | 'intervalExpression' | 'cronTimezone';
  /** One or more sentences. */
  message: string;
}

export interface Timetable {
  /** Milliseconds since 1970. No tick is earlier. */
  readonly start: number;
  readonly findNext: FindNext;
}

const earliest = Date.UTC(firstYear, 0, 1);

export function parseTimetable(
  input: TimetableInput,
): { timetable: Timetable; fault?: never } | { timetable?: never; fault: TimetableFault } {
  const { cronExpression, intervalExpression, cronTimezone, effectiveFrom, createdAt } = input;
  const zone = findZone(cronTimezone);
  if (zone === undefined) {
    return { fault: { field: 'cronTimezone', message: describeUnknownZone(cronTimezone) } };
  }
  const start = effectiveFrom?.getTime() ?? earliest;
  if (cronExpression !== undefined) {
    const read = findCron(cronExpression, cronTimezone, zone);
    return 'fault' in read
      ? { fault: { field: 'cronExpression', message: `${read.fault}.` } }
      : { timetable: { start, findNext: read.findNext } };
  }
  if (intervalExpression === undefined) {
    throw new Error('A timetable needs a cron expression or an interval.');
  }
  const read = readInterval(intervalExpression);
  if ('fault' in read) return { fault: { field: 'intervalExpression', message: `${read.fault}.` } };
  // Whole seconds: a tick is a time that people read.
  const anchor = Math.floor((effectiveFrom ?? createdAt).getTime() / 1000) * 1000;
  const { milliseconds } = read;
  const findNext = (after: number) =>
    anchor + (Math.floor((after - anchor) / milliseconds) + 1) * milliseconds;
  return { timetable: { start: effectiveFrom === undefined ? earliest : anchor, findNext } };
}

/** Returns undefined if the timetable has no tick after `at`. */
export function nextTickAfter(timetable: Timetable, at: Date): Date | undefined {
  // The tick at the start counts, so the search begins just before it.
  const after = Math.max(at.getTime(), timetable.start - 1, earliest - 1);
  if (after >= latest) return undefined;
  const next = timetable.findNext(after);
  return next === undefined || next >= latest ? undefined : new Date(next);
}

/** The ticks from `from` (included) to `to` (excluded), in order; the first `atMost` of them. */
export function listTicks(timetable: Timetable, from: Date, to: Date, atMost: number): Date[] {
  const ticks: Date[] = [];
  let tick = nextTickAfter(timetable, new Date(from.getTime() - 1));
  while (tick !== undefined && tick < to && ticks.length < atMost) {
    ticks.push(tick);
    tick = nextTickAfter(timetable, tick);
  }
  return ticks;
}

/** Says so if no tick is left: 30 February, a year that is past, an effectiveFrom after the last year. */
export function findTicklessFault(
  timetable: Timetable,
  { cronExpression, effectiveFrom }: Pick<TimetableInput, 'cronExpression' | 'effectiveFrom'>,
  now: Date,
): TimetableFault | undefined {
  if (nextTickAfter(timetable, now) !== undefined) return undefined;
  const from = effectiveFrom !== undefined && effectiveFrom > now ? effectiveFrom : now;
  const shown = cronExpression === undefined ? 'The interval' : JSON.stringify(cronExpression);
  return {
    field: cronExpression === undefined ? 'intervalExpression' : 'cronExpression',
    message:
      `${shown} never fires between ${from.toISOString()} and the end of ${lastYear}. ` +
      'Choose a date that exists and a year that has not passed.',
  };
}

/** The same ticks, also before effectiveFrom: a backfill is for the time before. */
export function ignoreStart({ findNext }: Timetable): Timetable {
  return { start: earliest, findNext };
}

/** How many read expressions are kept. */
const mostKept = 256;
const cache = new Map<string, FindNext>();

function findCron(
  expression: string,
  zoneName: string,
  zone: Zone,
): { findNext: FindNext } | { fault: string } {
  const key = `${zoneName}\n${expression}`;
  const known = cache.get(key);
  if (known !== undefined) return { findNext: known };
  const read = readCronExpression(expression);
  if ('fault' in read) return read;
  const findNext = createCronSearch(read.fields, zone);
  cache.set(key, findNext);
  for (const oldest of cache.keys()) {
    if (cache.size <= mostKept) break;
    cache.delete(oldest);
  }
  return { findNext };
}
