/** The shortest interval between two ticks that the operator allows (HEADGATE_SCHEDULE_INTERVAL_SECONDS). */
import { problem } from '../../../kernel/http/problems.ts';
import type { QueueLimit } from '../../../kernel/work/queued-runs.ts';
import { nextTickAfter } from '../timetable/timetable.ts';
import type { ScheduleRow } from './schedule.store.ts';
import { listTicksFrom, readTimetable } from './schedule.ts';

/** Of the configuration. */
export interface ScheduleLimits extends QueueLimit {
  /** Schedules that were written with a shorter interval keep it. */
  scheduleIntervalSeconds: number;
}

/** A minute of every second has 60. */
const mostTicks = 61;
const searchMilliseconds = 20;

/** Whether all ticks are at the same second of a minute, which most expressions are. Then the search is spared. */
function isWholeMinute({ cron_expression: expression }: ScheduleRow): boolean {
  // As the expression is read: any white space separates fields.
  const fields = expression?.trim().split(/\s+/) ?? [];
  return fields.length === 5 || (fields.length > 5 && !Number.isNaN(Number(fields[0])));
}

/**
 * The shortest interval in seconds among the next ticks, or one that is shorter than `least`. The search is bounded
 * by a number of ticks and by time. Infinity with fewer than two ticks.
 */
export function findShortestInterval(row: ScheduleRow, first: Date | undefined, least: number): number {
  const { timetable } = readTimetable(row);
  if (timetable === undefined || (least <= 60 && isWholeMinute(row))) return Number.POSITIVE_INFINITY;
  const end = performance.now() + searchMilliseconds;
  let shortest = Number.POSITIVE_INFINITY;
  let tick = first;
  for (let count = 1; tick !== undefined && count < mostTicks && shortest >= least; count++) {
    const next = nextTickAfter(timetable, tick);
    if (next !== undefined) shortest = Math.min(shortest, (next.getTime() - tick.getTime()) / 1_000);
    if (performance.now() > end) break;
    tick = next;
  }
  return shortest;
}

/** Throws `schedule-too-frequent`. */
export function requireInterval(
  row: ScheduleRow,
  first: Date | undefined,
  at: string,
  { scheduleIntervalSeconds: least }: ScheduleLimits,
): void {
  const seconds = findShortestInterval(row, first, least);
  if (seconds >= least) return;
  const isInterval = row.cron_expression === null;
  const field = `${at}.${isInterval ? 'intervalExpression' : 'cronExpression'}`;
  const example = isInterval ? `{"interval": ${least}, "unit": "SECONDS"}` : findRareExpression(least);
  throw problem('schedule-too-frequent', { field, seconds, least, example });
}

/** An expression whose ticks are at least this many seconds apart; at most a day is allowed as a setting. */
function findRareExpression(least: number): string {
  if (least <= 60) return '"0 * * * * ?", every minute';
  return least <= 3_600 ? '"0 0 * * * ?", every hour' : '"0 0 2 * * ?" in UTC, every day';
}

/** The warning of an answer with a schedule that keeps a shorter interval from before. */
export function warnOfInterval(
  row: ScheduleRow,
  now: Date,
  { scheduleIntervalSeconds: least }: ScheduleLimits,
): { warning?: string } {
  const [first] = listTicksFrom(row, now, 1);
  const seconds = findShortestInterval(row, first, least);
  if (seconds >= least) return {};
  const warning = `The schedule has ticks ${seconds} s apart; the shortest interval is ${least} s (HEADGATE_SCHEDULE_INTERVAL_SECONDS). It keeps them until its times are changed.`;
  return { warning };
}
