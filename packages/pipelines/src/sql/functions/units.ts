/** Units of time, as words of Snowflake and Redshift. */
import { type FunctionCall, refuseCall } from './call.ts';
import { readText } from './literals.ts';

const spellings: Readonly<Record<string, string>> = {
  year: 'year y yy yyy yyyy yr years yrs',
  quarter: 'quarter q qtr qtrs quarters',
  month: 'month mm mon mons months',
  week: 'week w wk weekofyear woy wy weeks',
  week_iso: 'week_iso weekiso weekofyeariso weekofyear_iso',
  day: 'day d dd days dayofmonth',
  dayofweek: 'weekday dow dw dayofweek day_of_week',
  dayofweekiso: 'weekday_iso dow_iso dw_iso dayofweek_iso dayofweekiso',
  dayofyear: 'yearday doy dy dayofyear day_of_year',
  yearofweek: 'yearofweek yearofweekiso isoyear',
  hour: 'hour h hh hr hours hrs',
  minute: 'minute m mi min minutes mins',
  second: 'second s sec seconds secs',
  millisecond: 'millisecond ms msec milliseconds msecs msecond mseconds millisec millisecs milliseon',
  microsecond: 'microsecond us usec microseconds usecs usecond useconds microsec microsecs',
  nanosecond: 'nanosecond ns nsec nanosec nsecond nanoseconds nanosecs nseconds nsecs',
  epoch_second: 'epoch_second epoch epoch_seconds',
  epoch_millisecond: 'epoch_millisecond epoch_milliseconds',
  epoch_microsecond: 'epoch_microsecond epoch_microseconds',
  epoch_nanosecond: 'epoch_nanosecond epoch_nanoseconds',
  timezone_hour: 'timezone_hour tzh',
  timezone_minute: 'timezone_minute tzm',
  decade: 'decade decades',
  century: 'century centuries c cent cents',
  millennium: 'millennium millennia mil mils',
};

const units = new Map(
  Object.entries(spellings).flatMap(([unit, words]) => words.split(' ').map((word) => [word, unit] as const)),
);

/** The unit of an argument: a bare word, or a text. Undefined if it is another expression. */
export function readUnit(source: string | undefined): string | undefined {
  const word = readText(source) ?? source?.trim().replaceAll('"', '') ?? '';
  return units.get(word.trim().toLowerCase());
}

/** @throws SqlError if the argument is not a unit of time */
export function requireUnit(call: FunctionCall, index: number): string {
  return (
    readUnit(call.source[index]) ??
    refuseCall(
      call.name,
      `"${call.source[index] ?? ''}" is not a unit of time: write one such as year, month, day, hour or second`,
    )
  );
}

/** Units that keep a DATE a DATE. */
export const isWholeDays = (unit: string) =>
  ['year', 'quarter', 'month', 'week', 'week_iso', 'day'].includes(unit);

/** Units of DuckDB's own, as in date_part(['year', 'month'], d) and date_part('isodow', d). */
export function isUnitOfDuckdb(source: string | undefined): boolean {
  if (readUnit(source) !== undefined) return false;
  return readText(source) !== undefined || source?.trim().startsWith('[') === true;
}
