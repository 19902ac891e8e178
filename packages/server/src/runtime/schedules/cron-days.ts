/**
 * The two day fields of a cron expression, with the modifiers of Quartz.
 *
 * Day of month: `L` the last day, `L-3` three days before it, `15W` the weekday (Monday to Friday) nearest to
 * the 15th within the month, `LW` the last weekday, `L-3W`. Day of week: `6L` the last such day of the month,
 * `6#3` the third, `L` alone Saturday.
 */
import { FieldFault, type FieldKind, readNumbers, readValue, readWholeNumber } from './cron-field.ts';

/** A day counted from the end of the month: 0 is the last day. */
export interface DayFromEnd {
  offset: number;
  /** Whether the nearest weekday is meant. */
  isWeekday: boolean;
}

export interface DaysOfMonth {
  /** `*` or `?`: the field chooses no days. */
  isAny: boolean;
  days: readonly number[];
  nearestWeekdays: readonly number[];
  fromEnd: readonly DayFromEnd[];
}

export interface DaysOfWeek {
  isAny: boolean;
  /** In the syntax of croner, Sunday is 0: `5`, `5#3`, `5#L`. */
  days: readonly string[];
}

export function readDaysOfMonth(kind: FieldKind, text: string): DaysOfMonth {
  const isAny = text === '*' || text === '?';
  const plain: string[] = [];
  const nearestWeekdays: number[] = [];
  const fromEnd: DayFromEnd[] = [];
  for (const part of isAny ? [] : text.split(',')) {
    const end = /^L(?:-(\d{1,2}))?(W)?$/.exec(part);
    const nearest = /^(\d+)W$/.exec(part);
    if (end !== null) fromEnd.push({ offset: readOffset(part, end[1]), isWeekday: end[2] !== undefined });
    else if (nearest !== null) nearestWeekdays.push(readValue(kind, nearest[1] ?? ''));
    else plain.push(part);
  }
  return { isAny, days: readNumbers(kind, plain), nearestWeekdays, fromEnd };
}

function readOffset(part: string, digits: string | undefined): number {
  const offset = Number(digits ?? 0);
  if (offset > 30) throw new FieldFault(`"${part}": no month has a day ${offset} days before its last`);
  return offset;
}

export function readDaysOfWeek(kind: FieldKind, text: string): DaysOfWeek {
  const isAny = text === '*' || text === '?';
  const plain: string[] = [];
  const days: string[] = [];
  for (const part of isAny ? [] : text.split(',')) {
    const [day = '', nth, ...more] = part.split('#');
    if (nth !== undefined) {
      const count = more.length > 0 ? undefined : readWholeNumber(nth);
      if (count === undefined || count < 1 || count > 5) {
        throw new FieldFault(`"${part}" is not the nth such day of a month; n of DAY#n is 1–5`);
      }
      days.push(`${toSundayZero(kind, readValue(kind, day))}#${count}`);
    } else if (part.length > 1 && part.endsWith('L')) {
      days.push(`${toSundayZero(kind, readValue(kind, part.slice(0, -1)))}#L`);
    } else {
      plain.push(part === 'L' ? 'SAT' : part);
    }
  }
  const everyWeek = readNumbers(kind, plain).map((day) => toSundayZero(kind, day));
  return { isAny, days: [...new Set([...everyWeek.map(String), ...days])] };
}

function toSundayZero(kind: FieldKind, day: number): number {
  return (day - kind.least) % 7;
}
