/**
 * Reads a cron expression and turns it into patterns of croner.
 *
 * Two formats. Five fields: minutes, hours, day of month, month, day of week; Sunday is 0 or 7. Six or seven
 * fields, as Quartz: seconds first, Sunday is 1, an optional year last. All patterns together are the
 * expression: croner has no `L-3`, so such a day becomes one pattern for each length of month.
 */
import { type DayFromEnd, type DaysOfMonth, readDaysOfMonth, readDaysOfWeek } from './cron-days.ts';
import { FieldFault, type FieldKind, readNumbers } from './cron-field.ts';

export const firstYear = 1970;
export const lastYear = 2099;
const longestExpression = 255;

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const seconds = createField('seconds', 0, 59);
const minutes = createField('minutes', 0, 59);
const hours = createField('hours', 0, 23);
const dayOfMonth = createField('day of month', 1, 31);
const month = { ...createField('month', 1, 12), names: numberNames(months, 1) };
const quartzDayOfWeek = { ...createField('day of week', 1, 7), names: numberNames(weekdays, 1) };
const classicDayOfWeek = { ...createField('day of week', 0, 7), last: 6, names: numberNames(weekdays, 0) };
const year = { ...createField('year', firstYear, lastYear), wraps: false };

function createField(name: string, least: number, most: number): FieldKind {
  return { name, least, most, last: most, wraps: true };
}

function numberNames(names: readonly string[], first: number): ReadonlyMap<string, number> {
  return new Map(names.map((name, index) => [name, first + index]));
}

/** @returns patterns of croner with seven fields (Sunday is 0), or what is wrong, with the value. */
export function readCronExpression(expression: string): { patterns: string[] } | { fault: string } {
  try {
    return { patterns: listPatterns(expression) };
  } catch (error) {
    if (error instanceof FieldFault) return { fault: error.message };
    throw error;
  }
}

function listPatterns(expression: string): string[] {
  if (expression.length > longestExpression) {
    throw new FieldFault(
      `the expression has ${expression.length} characters; the limit is ${longestExpression}`,
    );
  }
  const texts = expression
    .trim()
    .toUpperCase()
    .split(/\s+/)
    .filter((text) => text !== '');
  const isQuartz = texts.length === 6 || texts.length === 7;
  if (!isQuartz && texts.length !== 5) {
    throw new FieldFault(
      `${JSON.stringify(expression)} has ${texts.length === 1 ? '1 field' : `${texts.length} fields`}. Use 6 or 7 (seconds minutes hours day-of-month ` +
        'month day-of-week [year]), for example "0 0 2 * * ?", or 5 without seconds and year, for example "0 2 * * *"',
    );
  }
  const kinds = isQuartz
    ? [seconds, minutes, hours, dayOfMonth, month, quartzDayOfWeek, year]
    : [minutes, hours, dayOfMonth, month, classicDayOfWeek];
  const read = <Value>(kind: FieldKind, reader: (kind: FieldKind, text: string) => Value): Value => {
    const index = kinds.indexOf(kind);
    try {
      return reader(kind, texts[index] ?? '*');
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error;
      const where = `${kind.name} (field ${index + 1} of ${texts.length})`;
      throw new FieldFault(`${JSON.stringify(expression)}: in ${where}, ${error.message}`);
    }
  };
  const dow = read(isQuartz ? quartzDayOfWeek : classicDayOfWeek, readDaysOfWeek);
  const dom = read(dayOfMonth, readDaysOfMonth);
  if (isQuartz) checkQuartzDays(expression, dom.isAny, dow.isAny, texts[3] === '?' && texts[5] === '?');
  return combine({
    time: [isQuartz ? read(seconds, readTime) : '0', read(minutes, readTime), read(hours, readTime)].join(
      ' ',
    ),
    dom,
    months: read(month, readList),
    weekdays: dow.isAny ? '*' : dow.days.join(','),
    years: isQuartz ? read(year, readList) : readList(year, '*'),
    isEveryYear: (texts[6] ?? '*') === '*',
  });
}

/** In Quartz the two day fields exclude each other, and one of them says so with `?`. */
function checkQuartzDays(expression: string, anyDom: boolean, anyDow: boolean, areBothOpen: boolean): void {
  const shown = JSON.stringify(expression);
  if (areBothOpen) {
    throw new FieldFault(
      `${shown}: day of month (field 4) and day of week (field 6) are both "?". Use "*" in one`,
    );
  }
  if (!anyDom && !anyDow) {
    throw new FieldFault(
      `${shown}: day of month (field 4) and day of week (field 6) both choose days. Use "?" in one`,
    );
  }
}

function readTime(kind: FieldKind, text: string): string {
  if (text === '*') return '*';
  return readNumbers(kind, text.split(',')).join(',');
}

function readList(kind: FieldKind, text: string): number[] {
  return readNumbers(kind, text.split(','));
}

interface ReadExpression {
  /** Seconds, minutes and hours. */
  time: string;
  dom: DaysOfMonth;
  months: readonly number[];
  weekdays: string;
  years: readonly number[];
  isEveryYear: boolean;
}

function combine({ time, dom, months, weekdays, years, isEveryYear }: ReadExpression): string[] {
  const write = (days: string, ofMonths: readonly number[], ofYears?: readonly number[]): string[] => {
    const writtenYears = ofYears ?? (isEveryYear ? undefined : years);
    if (ofMonths.length === 0 || writtenYears?.length === 0) return [];
    return [`${time} ${days} ${ofMonths.join(',')} ${weekdays} ${writtenYears?.join(',') ?? '*'}`];
  };
  if (dom.isAny) return write('*', months);
  const plain = [...dom.days.map(String), ...dom.nearestWeekdays.map((day) => `${day}W`)];
  const patterns = plain.length > 0 ? write(plain.join(','), months) : [];
  for (const day of dom.fromEnd) {
    if (day.offset === 0) patterns.push(...write(day.isWeekday ? 'LW' : 'L', months));
    else for (const group of monthsByLength(months, years)) patterns.push(...writeFromEnd(day, group, write));
  }
  return patterns;
}

interface MonthsOfLength {
  length: number;
  months: readonly number[];
  /** Set for February, which has two lengths. */
  years?: readonly number[];
}

function monthsByLength(months: readonly number[], years: readonly number[]): MonthsOfLength[] {
  const isShort = (each: number) => [4, 6, 9, 11].includes(each);
  const february = months.filter((each) => each === 2);
  return [
    { length: 31, months: months.filter((each) => each !== 2 && !isShort(each)) },
    { length: 30, months: months.filter(isShort) },
    // Within firstYear and lastYear every fourth year is a leap year.
    { length: 29, months: february, years: years.filter((each) => each % 4 === 0) },
    { length: 28, months: february, years: years.filter((each) => each % 4 !== 0) },
  ];
}

function writeFromEnd(
  day: DayFromEnd,
  { length, months, years }: MonthsOfLength,
  write: (days: string, months: readonly number[], years?: readonly number[]) => string[],
): string[] {
  const date = length - day.offset;
  return date < 1 ? [] : write(`${date}${day.isWeekday ? 'W' : ''}`, months, years);
}
