/**
 * Reads a cron expression.
 *
 * Two formats. Five fields: minutes, hours, day of month, month, day of week; Sunday is 0 or 7. Six or seven
 * fields, as Quartz: seconds first, Sunday is 1, an optional year last.
 */
import { type DaysOfMonth, type DaysOfWeek, readDaysOfMonth, readDaysOfWeek } from './cron-days.ts';
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

/** What an expression chooses. The numbers of each field are in ascending order. */
export interface CronFields {
  seconds: readonly number[];
  minutes: readonly number[];
  hours: readonly number[];
  dom: DaysOfMonth;
  /** January is 1. */
  months: readonly number[];
  dow: DaysOfWeek;
  years: readonly number[];
}

/** @returns what it chooses, or what is wrong, with the value. */
export function readCronExpression(expression: string): { fields: CronFields } | { fault: string } {
  try {
    return { fields: readFields(expression) };
  } catch (error) {
    if (error instanceof FieldFault) return { fault: error.message };
    throw error;
  }
}

function readFields(expression: string): CronFields {
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
  return {
    seconds: isQuartz ? read(seconds, readList) : [0],
    minutes: read(minutes, readList),
    hours: read(hours, readList),
    dom,
    months: read(month, readList),
    dow,
    years: isQuartz ? read(year, readList) : readList(year, '*'),
  };
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

function readList(kind: FieldKind, text: string): number[] {
  return readNumbers(kind, text.split(','));
}
