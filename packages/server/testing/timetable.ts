/** Timetables for tests. */
import assert from 'node:assert/strict';
import {
  listTicks,
  parseTimetable,
  type Timetable,
  type TimetableInput,
} from '../src/runtime/schedules/timetable/timetable.ts';

export const createdAt = new Date('2026-01-01T00:00:00Z');

export function parse(input: Partial<TimetableInput>): Timetable {
  const { timetable, fault } = parseTimetable({ cronTimezone: 'UTC', createdAt, ...input });
  assert.ok(timetable !== undefined, fault?.message);
  return timetable;
}

/** The first ticks from a time on, in UTC to the minute, or to the second if it has seconds. */
export function list(expression: string, zone: string, from: string, count: number): string[] {
  const timetable = parse({ cronExpression: expression, cronTimezone: zone });
  return listTicks(timetable, new Date(from), new Date('2200-01-01'), count).map(write);
}

export function write(tick: Date): string {
  return tick
    .toISOString()
    .replace('T', ' ')
    .replace(/(:00)?\.000Z$/, '');
}
