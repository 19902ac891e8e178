/**
 * Finds the ticks of patterns of croner in a time zone.
 *
 * croner searches in local time only, as if it were UTC, so that a search never walks through the times of a
 * gap one by one. The stretches of one offset are walked here, with this policy: a pattern with one second,
 * one minute and one hour has fixed times. A fixed time in a gap runs right after the gap, if that is the same
 * day; one that happens twice runs at the first. Other patterns skip the times in a gap and run on both passes
 * of an overlap.
 */
import { Cron } from 'croner';
import { lastYear } from './cron-expression.ts';
import type { Segment, Zone } from './zone.ts';

/** Returns the first tick after a time. Both are milliseconds since 1970. */
export type FindNext = (after: number) => number | undefined;

/** No tick is later, so a search for a date that never comes ends. */
export const latest = Date.UTC(lastYear + 1, 0, 1);

export function createCronSearch(patterns: readonly string[], zone: Zone): FindNext {
  const searches = patterns.map((pattern) => createPatternSearch(pattern, zone));
  // Many schedules share an expression and ask at about the same time.
  let last: { after: number; next: number | undefined } | undefined;
  return (after) => {
    if (last !== undefined && after >= last.after && after < (last.next ?? Number.POSITIVE_INFINITY)) {
      return last.next;
    }
    let next: number | undefined;
    for (const search of searches) {
      const found = search(after);
      if (found !== undefined && (next === undefined || found < next)) next = found;
    }
    last = { after, next };
    return next;
  };
}

function createPatternSearch(pattern: string, zone: Zone): FindNext {
  const cron = new Cron(pattern, { utcOffset: 0, mode: '7-part', paused: true });
  const isFixed = /^\d+ \d+ \d+ /.test(pattern);
  /** The first matching local time after one. */
  const findLocal = (after: number) => cron.nextRun(new Date(after))?.getTime() ?? Number.POSITIVE_INFINITY;
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
      segment = next;
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
  return Math.floor(one / 86_400_000) === Math.floor(other / 86_400_000);
}
