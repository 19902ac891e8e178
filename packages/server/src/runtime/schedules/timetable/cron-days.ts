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

/** A day of the week in a month. Sunday is 0. */
interface DayOfWeekInMonth {
  day: number;
  /** 1 for the first such day of the month; undefined for the last. */
  nth: number | undefined;
}

export interface DaysOfWeek {
  isAny: boolean;
  /** Those of each week. Sunday is 0. */
  days: readonly number[];
  inMonth: readonly DayOfWeekInMonth[];
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
  const inMonth: DayOfWeekInMonth[] = [];
  for (const part of isAny ? [] : text.split(',')) {
    const [day = '', nth, ...more] = part.split('#');
    if (nth !== undefined) {
      const count = more.length > 0 ? undefined : readWholeNumber(nth);
      if (count === undefined || count < 1 || count > 5) {
        throw new FieldFault(`"${part}" is not the nth such day of a month; n of DAY#n is 1–5`);
      }
      inMonth.push({ day: toSundayZero(kind, readValue(kind, day)), nth: count });
    } else if (part.length > 1 && part.endsWith('L')) {
      inMonth.push({ day: toSundayZero(kind, readValue(kind, part.slice(0, -1))), nth: undefined });
    } else {
      plain.push(part === 'L' ? 'SAT' : part);
    }
  }
  return { isAny, days: readNumbers(kind, plain).map((day) => toSundayZero(kind, day)), inMonth };
}

function toSundayZero(kind: FieldKind, day: number): number {
  return (day - kind.least) % 7;
}

/** A month of the calendar, in which the two fields choose days. */
export interface Month {
  length: number;
  /** The day of the week of its first day; Sunday is 0. */
  firstWeekday: number;
}

/** If both fields choose days, a day of either is chosen, as in other crons. */
export function chooseDays(dom: DaysOfMonth, dow: DaysOfWeek, month: Month): Set<number> {
  const chosen = new Set<number>();
  if (!dom.isAny) addDaysOfMonth(dom, month, chosen);
  if (!dow.isAny) addDaysOfWeek(dow, month, chosen);
  if (dom.isAny && dow.isAny) for (let day = 1; day <= month.length; day++) chosen.add(day);
  return chosen;
}

function addDaysOfMonth(
  { days, nearestWeekdays, fromEnd }: DaysOfMonth,
  month: Month,
  to: Set<number>,
): void {
  const add = (day: number, isWeekday: boolean) => {
    if (day >= 1 && day <= month.length) to.add(isWeekday ? findNearestWeekday(day, month) : day);
  };
  for (const day of days) add(day, false);
  for (const day of nearestWeekdays) add(day, true);
  for (const { offset, isWeekday } of fromEnd) add(month.length - offset, isWeekday);
}

/** Within the month. */
function findNearestWeekday(day: number, { length, firstWeekday }: Month): number {
  const weekday = (firstWeekday + day - 1) % 7;
  if (weekday === 6) return day === 1 ? day + 2 : day - 1;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  return day;
}

function addDaysOfWeek(
  { days, inMonth }: DaysOfWeek,
  { length, firstWeekday }: Month,
  to: Set<number>,
): void {
  const findFirst = (weekday: number) => 1 + ((weekday - firstWeekday + 7) % 7);
  for (const weekday of days) for (let day = findFirst(weekday); day <= length; day += 7) to.add(day);
  for (const { day: weekday, nth } of inMonth) {
    const first = findFirst(weekday);
    const day = nth === undefined ? first + 7 * Math.floor((length - first) / 7) : first + 7 * (nth - 1);
    if (day <= length) to.add(day);
  }
}
