/**
 * Finds the ticks of a cron expression in a time zone.
 *
 * The search is in local time only, as if it were UTC (cron-times.ts), so that it never walks through the times of a
 * gap one by one. The stretches of one offset are walked here, with this policy: an expression with one second,
 * one minute and one hour has fixed times. A fixed time in a gap runs right after the gap, if that is the same
 * day; one that happens twice runs at the first. Other expressions skip the times in a gap and run on both passes
 * of an overlap.
 */
import { type CronFields, lastYear } from './cron-expression.ts';
import { createLocalSearch } from './cron-times.ts';
import type { Segment, Zone } from './zone.ts';

/** Returns the first tick after a time. Both are milliseconds since 1970. */
export type FindNext = (after: number) => number | undefined;

/** No tick is later, so a search for a date that never comes ends. */
export const latest = Date.UTC(lastYear + 1, 0, 1);

const day = 86_400_000;

export function createCronSearch(fields: CronFields, zone: Zone): FindNext {
  const search = createZonedSearch(fields, zone);
  // Many schedules share an expression and ask at about the same time.
  let last: { after: number; next: number | undefined } | undefined;
  return (after) => {
    if (last !== undefined && after >= last.after && after < (last.next ?? Number.POSITIVE_INFINITY)) {
      return last.next;
    }
    const next = search(after);
    last = { after, next };
    return next;
  };
}

function createZonedSearch(fields: CronFields, zone: Zone): FindNext {
  const isFixed = [fields.seconds, fields.minutes, fields.hours].every(({ length }) => length === 1);
  const findLocal = createLocalSearch(fields);
  return (after) => {
    let at = after;
    let segment = zone.findSegment(at);
    let local = findLocal(skipRepeated(segment, at + segment.offset, isFixed));
    while (at < latest && local !== Number.POSITIVE_INFINITY) {
      if (local - segment.offset < segment.end) return local - segment.offset;
      at = segment.end;
      const next = zone.findSegment(at);
      if (isFixed && isInGap(local, segment, next)) return at;
      // The local times before `start` belong to the stretch before; those in a gap to none.
      const start = skipRepeated(next, at - 1 + next.offset, isFixed);
      if (next.offset < segment.offset || local <= start) local = findLocal(start);
      // Nothing matches before `local`, so changes of the clocks long before it need not be read.
      const near = local - 2 * day;
      segment = near > next.end && local !== Number.POSITIVE_INFINITY ? zone.findSegment(near) : next;
    }
    return undefined;
  };
}

/** Fixed times run once: skips the second pass of an overlap. */
function skipRepeated({ begun, offset }: Segment, local: number, isFixed: boolean): number {
  return isFixed && begun !== undefined && begun.offset > offset
    ? Math.max(local, begun.at + begun.offset - 1)
    : local;
}

function isInGap(local: number, before: Segment, after: Segment): boolean {
  const end = before.end + after.offset;
  return local < end && isSameDay(local, end);
}

function isSameDay(one: number, other: number): boolean {
  return Math.floor(one / day) === Math.floor(other / day);
}
