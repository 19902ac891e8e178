/**
 * Time zones of the IANA database: the offset from UTC, and when it changes.
 *
 * Times are milliseconds since 1970; an offset is what is added to one to get the local time, written as if it
 * were UTC. A change forward leaves a gap in local time, a change back an overlap.
 */
import { nearestName } from '@headgate/contract';

/** A stretch of time with one offset. */
export interface Segment {
  offset: number;
  /** Its start, and the offset before it; undefined if the change was long ago. */
  begun?: { at: number; offset: number };
  /** Its end, if the offset changes within a year or two. */
  end: number;
}

export interface Zone {
  findSegment(at: number): Segment;
}

const day = 86_400_000;
/** Two changes are never this close to each other. */
const probe = 5 * day;

/** Zones that were used, by their names in the IANA database, of which there are some hundreds. */
const zones = new Map<string, Zone>();
/** The same zones as they were spelled, which may be in any case. */
const spelledZones = new Map<string, Zone>();
const mostSpelled = 2_000;

/** @returns undefined for what is not a name of the IANA database */
export function findZone(name: string): Zone | undefined {
  const known = spelledZones.get(name);
  if (known !== undefined) return known;
  const format = findFormat(name);
  if (format === undefined) return undefined;
  const { timeZone } = format.resolvedOptions();
  const zone = zones.get(timeZone) ?? createZone((at) => readOffset(format, at));
  zones.set(timeZone, zone);
  if (spelledZones.size < mostSpelled) spelledZones.set(name, zone);
  return zone;
}

export function describeUnknownZone(name: string): string {
  const near = nearestName(name, Intl.supportedValuesOf('timeZone'));
  const hint = near === undefined ? 'Use one such as Europe/Berlin or UTC.' : `Did you mean ${near}?`;
  return `${JSON.stringify(name)} is not a time zone of the IANA database. ${hint}`;
}

function findFormat(name: string): Intl.DateTimeFormat | undefined {
  // Intl also reads offsets such as +02:00, which are not names.
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function readOffset(format: Intl.DateTimeFormat, at: number): number {
  // "11/23/2026, 14:05:09"
  const [month = 0, date = 0, year = 0, hour = 0, minute = 0, second = 0] = (
    format.format(at).match(/\d+/g) ?? []
  ).map(Number);
  return Date.UTC(year, month - 1, date, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

interface Change {
  at: number;
  before: number;
  after: number;
}

function createZone(readOffsetAt: (at: number) => number): Zone {
  const changesOfYears = new Map<number, Change[]>();
  const listChanges = (year: number): Change[] => {
    const known = changesOfYears.get(year);
    if (known !== undefined) return known;
    const changes = findChanges(readOffsetAt, Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1));
    changesOfYears.set(year, changes);
    return changes;
  };
  return {
    findSegment(at) {
      const year = new Date(at).getUTCFullYear();
      const near = [...listChanges(year - 1), ...listChanges(year), ...listChanges(year + 1)];
      const begun = near.findLast((change) => change.at <= at);
      const next = near.find((change) => change.at > at);
      return {
        offset: begun?.after ?? next?.before ?? readOffsetAt(at),
        ...(begun === undefined ? {} : { begun: { at: begun.at, offset: begun.before } }),
        end: next?.at ?? Date.UTC(year + 2, 0, 1),
      };
    },
  };
}

function findChanges(readOffsetAt: (at: number) => number, from: number, to: number): Change[] {
  const changes: Change[] = [];
  let before = readOffsetAt(from);
  for (let start = from; start < to; start += probe) {
    const after = readOffsetAt(Math.min(start + probe, to));
    if (after !== before) {
      changes.push({ at: bisect(readOffsetAt, before, start, Math.min(start + probe, to)), before, after });
    }
    before = after;
  }
  return changes;
}

/** The first second at which the offset is no longer `before`; it is after `start` and not after `end`. */
function bisect(readOffsetAt: (at: number) => number, before: number, start: number, end: number): number {
  let same = start / 1000;
  let changed = end / 1000;
  while (changed - same > 1) {
    const middle = Math.floor((same + changed) / 2);
    if (readOffsetAt(middle * 1000) === before) same = middle;
    else changed = middle;
  }
  return changed * 1000;
}
