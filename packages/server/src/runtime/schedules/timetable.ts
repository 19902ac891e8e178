/**
 * When a schedule runs: the ticks of a cron expression in a time zone, or of an interval.
 *
 * Daylight saving, as croner does it: an expression with one second, one minute and one hour has fixed times.
 * A fixed time in a gap runs right after the gap on the same day; one that happens twice runs at the first.
 * Other expressions skip the times in a gap and run on both passes of an overlap. Intervals are elapsed time.
 */
import { nearestName } from '@headgate/contract';
import { Cron } from 'croner';
import { firstYear, lastYear, readCronExpression } from './cron-expression.ts';
import { type IntervalExpression, readInterval } from './interval.ts';

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
  message: string;
}

export interface Timetable {
  /** Milliseconds since 1970. No tick is earlier. */
  readonly start: number;
  readonly findNext: FindNext;
}

/** Returns the first tick after a time. Both are milliseconds since 1970. */
type FindNext = (after: number) => number | undefined;

const earliest = Date.UTC(firstYear, 0, 1);
/** No tick is later, so a search for a date that never comes ends. */
const latest = Date.UTC(lastYear + 1, 0, 1);

export function parseTimetable(
  input: TimetableInput,
): { timetable: Timetable; fault?: never } | { timetable?: never; fault: TimetableFault } {
  const { cronExpression, intervalExpression, cronTimezone, effectiveFrom, createdAt } = input;
  const zoneFault = describeZoneFault(cronTimezone);
  if (zoneFault !== undefined) return { fault: { field: 'cronTimezone', message: zoneFault } };
  const start = effectiveFrom?.getTime() ?? earliest;
  if (cronExpression !== undefined) {
    const read = findCron(cronExpression, cronTimezone);
    return 'fault' in read
      ? { fault: { field: 'cronExpression', message: read.fault } }
      : { timetable: { start, findNext: read.findNext } };
  }
  if (intervalExpression === undefined) {
    throw new Error('A timetable needs a cron expression or an interval.');
  }
  const read = readInterval(intervalExpression);
  if ('fault' in read) return { fault: { field: 'intervalExpression', message: read.fault } };
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
      'Choose a date that exists and a year that has not passed',
  };
}

/** The same ticks, also before effectiveFrom: a backfill is for the time before. */
export function ignoreStart({ findNext }: Timetable): Timetable {
  return { start: earliest, findNext };
}

/** How many read expressions are kept. One takes about 80 kB, most of it croner's table of years. */
const mostKept = 256;
const kept = new Map<string, FindNext>();

function findCron(expression: string, zone: string): { findNext: FindNext } | { fault: string } {
  const key = `${zone}\n${expression}`;
  const known = kept.get(key);
  if (known !== undefined) return { findNext: known };
  const read = readCronExpression(expression);
  if ('fault' in read) return read;
  const findNext = createCronSearch(read.patterns, zone);
  kept.set(key, findNext);
  for (const oldest of kept.keys()) {
    if (kept.size <= mostKept) break;
    kept.delete(oldest);
  }
  return { findNext };
}

function createCronSearch(patterns: readonly string[], zone: string): FindNext {
  // The fixed offset gives the same ticks as the zone UTC and is several times faster.
  const place = zone.toUpperCase() === 'UTC' ? { utcOffset: 0 } : { timezone: zone };
  const crons = patterns.map((pattern) => new Cron(pattern, { ...place, mode: '7-part', paused: true }));
  // Many schedules share an expression and ask at about the same time.
  let last: { after: number; next: number | undefined } | undefined;
  return (after) => {
    if (last !== undefined && after >= last.after && after < (last.next ?? Number.POSITIVE_INFINITY)) {
      return last.next;
    }
    let next: number | undefined;
    for (const cron of crons) {
      const found = cron.nextRun(new Date(after))?.getTime();
      if (found !== undefined && (next === undefined || found < next)) next = found;
    }
    last = { after, next };
    return next;
  };
}

/** Zones that were checked. The list is bounded by the number of names in the IANA database. */
const knownZones = new Set(['UTC']);

function describeZoneFault(zone: string): string | undefined {
  if (knownZones.has(zone)) return undefined;
  if (isZoneName(zone)) {
    if (knownZones.size < 2_000) knownZones.add(zone);
    return undefined;
  }
  const near = nearestName(zone, Intl.supportedValuesOf('timeZone'));
  const hint = near === undefined ? 'Use one such as Europe/Berlin or UTC' : `Did you mean ${near}?`;
  return `${JSON.stringify(zone)} is not a time zone of the IANA database. ${hint}`;
}

function isZoneName(zone: string): boolean {
  // Intl also reads offsets such as +02:00, which have no daylight saving and no name.
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== undefined;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
