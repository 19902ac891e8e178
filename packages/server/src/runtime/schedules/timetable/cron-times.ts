/**
 * Finds the local times of a cron expression. Local times are milliseconds since 1970, written as if they were UTC.
 *
 * The search goes by months, then by days, then by times of day, so its cost is that of the months up to the next
 * match: 1,560 at most, whatever the expression.
 */
import { chooseDays } from './cron-days.ts';
import type { CronFields } from './cron-expression.ts';

const daySeconds = 86_400;

/** Returns the first matching local time after one; infinity if there is none. */
export function createLocalSearch(fields: CronFields): (after: number) => number {
  const firstTime = findTimeOfDay(fields, 0);
  return (after) => {
    // The first whole second that may match.
    const begin = Math.floor(after / 1_000) + 1;
    const from = new Date(Math.floor(begin / daySeconds) * daySeconds * 1_000);
    const today = findTimeOfDay(fields, begin - from.getTime() / 1_000);
    const [year, month, day] = [from.getUTCFullYear(), from.getUTCMonth() + 1, from.getUTCDate()];
    for (const [index, monthStart] of listMonths(fields, year, month)) {
      // Days before `day`, and `day` itself if its last time has passed, are over.
      const isThisMonth = index === year * 12 + month;
      const least = isThisMonth ? (today === undefined ? day + 1 : day) : 1;
      const found = findDay(fields, monthStart, least);
      if (found === undefined) continue;
      const time = isThisMonth && found === day ? today : firstTime;
      return monthStart.getTime() + ((found - 1) * daySeconds + (time ?? 0)) * 1_000;
    }
    return Number.POSITIVE_INFINITY;
  };
}

/** The chosen months from one on, in order: a number that no other month has, and its start. */
function* listMonths({ years, months }: CronFields, fromYear: number, fromMonth: number) {
  for (const year of years) {
    if (year < fromYear) continue;
    for (const month of months)
      if (year > fromYear || month >= fromMonth)
        yield [year * 12 + month, new Date(Date.UTC(year, month - 1, 1))] as const;
  }
}

function findDay({ dom, dow }: CronFields, monthStart: Date, least: number): number | undefined {
  const end = Date.UTC(monthStart.getUTCFullYear(), monthStart.getUTCMonth() + 1, 1);
  const length = (end - monthStart.getTime()) / (daySeconds * 1_000);
  const chosen = chooseDays(dom, dow, { length, firstWeekday: monthStart.getUTCDay() });
  for (let day = least; day <= length; day++) if (chosen.has(day)) return day;
  return undefined;
}

/** The first time of day that is not before one, in seconds; undefined if there is none. */
function findTimeOfDay({ hours, minutes, seconds }: CronFields, from: number): number | undefined {
  for (const hour of hours) {
    if (hour * 3_600 + 3_599 < from) continue;
    for (const minute of minutes) {
      const start = hour * 3_600 + minute * 60;
      const second = seconds.find((each) => start + each >= from);
      if (second !== undefined) return start + second;
    }
  }
  return undefined;
}
