/** Parts of dates, dates from parts, the clock, and time zones. */
import {
  argumentAt,
  define,
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  refuseCall,
} from './call.ts';
import { asBigint, asInteger, asMoment, asNumber } from './expressions.ts';
import { isUnitOfDuckdb, requireUnit } from './units.ts';

/** DuckDB's expression for each part of `moment`. */
function renderPart(unit: string, moment: string): string {
  const part = (name: string) => `date_part('${name}', ${moment})`;
  switch (unit) {
    case 'week_iso':
      return part('week');
    case 'dayofweekiso':
      return part('isodow');
    case 'dayofyear':
      return part('doy');
    case 'dayofweek':
      return part('dow');
    case 'yearofweek':
      return part('isoyear');
    case 'nanosecond':
      return `(${part('microsecond')} % 1000000 * 1000)`;
    case 'epoch_second':
      return `CAST(floor(epoch(${moment})) AS BIGINT)`;
    case 'epoch_millisecond':
      return `epoch_ms(${moment})`;
    case 'epoch_microsecond':
      return `epoch_us(${moment})`;
    case 'epoch_nanosecond':
      return `epoch_ns(${moment})`;
    case 'timezone_hour':
    case 'timezone_minute':
      return part(unit);
    default:
      return part(unit);
  }
}

function extractPart(call: FunctionCall): string | undefined {
  if (isUnitOfDuckdb(call.source[0])) return undefined;
  const unit = requireUnit(call, 0);
  const part = renderPart(unit, asMoment(argumentAt(call, 1)));
  return call.dialect === 'redshift' ? renderPartOfRedshift(unit, part) : part;
}

/** Parts of seconds without the seconds; the year 1999 is in decade 200. */
function renderPartOfRedshift(unit: string, part: string): string {
  if (unit === 'millisecond') return `(${part} % 1000)`;
  if (unit === 'microsecond') return `(${part} % 1000000)`;
  return unit === 'decade' ? `(${part} + 1)` : part;
}

/** A function with the name of the part. */
const partOf = (unit: string): FunctionEntry =>
  define(1, 1, (call) => renderPart(unit, asMoment(argumentAt(call, 0))));

const named = (format: string): FunctionEntry =>
  define(1, 1, (call) => `strftime(${asMoment(argumentAt(call, 0))}, '${format}')`);

/** Months and days beyond their bounds count on, as in DATE_FROM_PARTS(2010, 14, 0). */
function renderDate([year, month, day]: readonly string[]): string {
  const add = (unit: string, value: string | undefined) =>
    /^\d+$/.test(value ?? '') ? `${unit}(${Number(value) - 1})` : `${unit}(${asInteger(`${value} - 1`)})`;
  return `make_date(${asBigint(year ?? '')}, 1, 1) + ${add('to_months', month)} + ${add('to_days', day)}`;
}

function renderTime([hour, minute, second, nanosecond]: readonly (string | undefined)[]): string {
  const parts = [`to_hours(${asBigint(hour ?? '')})`, `to_minutes(${asBigint(minute ?? '')})`];
  parts.push(`to_seconds(${asNumber(second ?? '')})`);
  if (nanosecond !== undefined) parts.push(`to_microseconds(${asBigint(`${nanosecond} // 1000`)})`);
  return parts.join(' + ');
}

function makeTimestamp(call: FunctionCall): string {
  const { args, name } = call;
  if (args.length === 2) return `(CAST(${args[0]} AS DATE) + CAST(${args[1]} AS TIME))`;
  if (args.length < 6) refuseCall(name, 'it takes a date and a time, or six to eight numbers');
  const local = `${renderDate(args)} + ${renderTime(args.slice(3, 7))}`;
  if (args[7] !== undefined) return `timezone(${args[7]}, ${local})`;
  return /_L?TZ_/.test(name) ? `CAST(${local} AS TIMESTAMP WITH TIME ZONE)` : `(${local})`;
}

/** The wall clock of the target zone, without a zone. */
function convertTimeZone({ args }: FunctionCall): string {
  const [first, second, third] = args;
  if (third !== undefined) return `timezone(${second}, timezone(${first}, CAST(${third} AS TIMESTAMP)))`;
  return `timezone(${first}, CAST(${asMoment(second ?? '')} AS TIMESTAMP WITH TIME ZONE))`;
}

const utcNow = "timezone('UTC', now())";
const nowEntry = define(0, 1, () => 'now()');
const timestampFromParts = define(2, 8, makeTimestamp);
const timeFromParts = define(3, 4, ({ args }) => `(TIME '00:00:00' + (${renderTime(args)}))`);
const dateFromParts = define(3, 3, ({ args }) => `CAST(${renderDate(args)} AS DATE)`);
const extract = define(2, 2, extractPart);

export const dateParts: FunctionTable = {
  CURRENT_TIMESTAMP: nowEntry,
  SYSTIMESTAMP: nowEntry,
  GETDATE: define(0, 0, ({ dialect }) =>
    dialect === 'redshift' ? `date_trunc('second', ${utcNow})` : 'now()',
  ),
  SYSDATE: define(0, 0, () => utcNow),
  LOCALTIMESTAMP: define(0, 1, ({ dialect }) => (dialect === 'redshift' ? utcNow : 'now()')),
  CURRENT_DATE: define(0, 0, () => 'current_date'),
  CURRENT_TIME: define(0, 1, () => 'CAST(current_localtimestamp() AS TIME)'),
  LOCALTIME: define(0, 1, () => 'CAST(current_localtimestamp() AS TIME)'),
  TIMEOFDAY: define(0, 0, () => `strftime(${utcNow}, '%a %b %d %H:%M:%S.%f %Y UTC')`),
  DATE_CMP: define(2, 2, ({ args: [left = '', right = ''] }) => {
    return `sign(date_diff('day', CAST(${right} AS DATE), CAST(${left} AS DATE)))`;
  }),
  DATE_PART: extract,
  DATEPART: extract,
  PGDATE_PART: extract,
  EXTRACT: extract,
  YEAR: partOf('year'),
  YEAROFWEEK: partOf('yearofweek'),
  YEAROFWEEKISO: partOf('yearofweek'),
  QUARTER: partOf('quarter'),
  MONTH: partOf('month'),
  WEEK: partOf('week'),
  WEEKOFYEAR: partOf('week'),
  WEEKISO: partOf('week'),
  DAY: partOf('day'),
  DAYOFMONTH: partOf('day'),
  DAYOFWEEK: partOf('dayofweek'),
  DAYOFWEEKISO: partOf('dayofweekiso'),
  DAYOFYEAR: partOf('dayofyear'),
  HOUR: partOf('hour'),
  MINUTE: partOf('minute'),
  SECOND: partOf('second'),
  DAYNAME: named('%a'),
  MONTHNAME: named('%b'),
  DATE_FROM_PARTS: dateFromParts,
  DATEFROMPARTS: dateFromParts,
  TIME_FROM_PARTS: timeFromParts,
  TIMEFROMPARTS: timeFromParts,
  TIMESTAMP_FROM_PARTS: timestampFromParts,
  TIMESTAMPFROMPARTS: timestampFromParts,
  TIMESTAMP_NTZ_FROM_PARTS: timestampFromParts,
  TIMESTAMP_LTZ_FROM_PARTS: timestampFromParts,
  TIMESTAMP_TZ_FROM_PARTS: timestampFromParts,
  CONVERT_TIMEZONE: define(2, 3, convertTimeZone),
};
