/** Adding to dates, differences of dates, and the start and end of periods. */
import { argumentAt, define, type FunctionCall, type FunctionTable, refuseCall } from './call.ts';
import { asBigint, asInteger, asMoment, bindOnce, readKnownType } from './expressions.ts';
import { readText } from './literals.ts';
import { isUnitOfDuckdb, isWholeDays, readUnit, requireUnit } from './units.ts';

/** An interval of `count` units. */
function renderInterval(call: FunctionCall, unit: string, count: string): string {
  const whole = /^-?\d+$/.test(count);
  // The cast rounds a count that is not whole, as the warehouses do.
  const number = whole ? count : `CAST(${count} AS BIGINT)`;
  const times = (factor: number) =>
    asInteger(whole ? String(Number(count) * factor) : `${number} * ${factor}`);
  switch (unit) {
    case 'year':
      return `to_years(${asInteger(number)})`;
    case 'quarter':
      return `to_months(${times(3)})`;
    case 'month':
      return `to_months(${asInteger(number)})`;
    case 'week':
    case 'week_iso':
      return `to_days(${times(7)})`;
    case 'day':
    case 'dayofyear':
    case 'dayofweek':
      return `to_days(${asInteger(number)})`;
    case 'hour':
      return `to_hours(${asBigint(number)})`;
    case 'minute':
      return `to_minutes(${asBigint(number)})`;
    case 'second':
      return `to_seconds(${number})`;
    case 'millisecond':
      return `to_milliseconds(${number})`;
    case 'microsecond':
      return `to_microseconds(${asBigint(number)})`;
    case 'nanosecond':
      return `to_microseconds(${asBigint(`${number} // 1000`)})`;
    default:
      return refuseCall(
        call.name,
        `nothing can be added in units of ${unit}: write year, month, day, hour or second`,
      );
  }
}

/** `sum` has the type TIMESTAMP if `moment` is a DATE; the result has the type of `moment` again. */
export function keepType(moment: string, compute: (moment: string) => string): string {
  const type = readKnownType(moment);
  if (type === 'DATE') return `CAST(${compute(moment)} AS DATE)`;
  if (type?.startsWith('TIMESTAMP')) return `(${compute(moment)})`;
  return `cast_to_type(${compute(moment)}, ${moment})`;
}

/** Long expressions are bound, because their text would double at each level of nesting. */
function bindLong(moment: string, build: (moment: string) => string): string {
  return moment.length > 150 ? bindOnce([moment], build) : build(moment);
}

function addToDate(call: FunctionCall): string | undefined {
  const unit = readUnit(call.source[0]);
  // DuckDB's date_add(date, interval).
  if (call.args.length === 2 && call.name === 'DATE_ADD') return undefined;
  const interval = renderInterval(call, requireUnit(call, 0), argumentAt(call, 1));
  const add = (moment: string) => `${moment} + ${interval}`;
  const moment = asMoment(argumentAt(call, 2));
  if (unit === 'year' && call.dialect === 'redshift')
    return bindOnce([moment], (from = '') => addYears(from, interval));
  if (unit !== undefined && isWholeDays(unit) && call.dialect === 'snowflake')
    return bindLong(moment, (bound) => keepType(bound, add));
  return `(${add(moment)})`;
}

/** In Redshift a year after 29 February is 1 March. */
function addYears(moment: string, interval: string): string {
  const sum = `${moment} + ${interval}`;
  const isLeapDay = `month(${moment}) = 2 AND day(${moment}) = 29 AND day(${sum}) = 28`;
  return `(CASE WHEN ${isLeapDay} THEN ${sum} + to_days(1) ELSE ${sum} END)`;
}

/** A date or time and a text of INTERVAL, whose parts are added in order. Undefined: it has a part that is not read. */
export function addInterval(moment: string, sign: string, text: string): string | undefined {
  if (readKnownType(moment) === 'VARCHAR') return undefined;
  const parts = text.split(',').map((part) => /^([-+]?\d{1,9}) ?([a-z]{1,12})$/i.exec(part.trim()));
  const added: string[] = [];
  let keepsDate = true;
  for (const part of parts) {
    const unit = readUnit(part?.[2]);
    if (unit === undefined || !/^(?:year|quarter|month|week|day|hour|minute|second)$/.test(unit))
      return undefined;
    keepsDate &&= isWholeDays(unit);
    added.push(` ${sign} INTERVAL '${part?.[1]} ${unit}'`);
  }
  const add = (bound: string) => `${bound}${added.join('')}`;
  return keepsDate ? bindLong(moment, (bound) => keepType(bound, add)) : `(${add(moment)})`;
}

function countBoundaries(call: FunctionCall): string | undefined {
  if (isUnitOfDuckdb(call.source[0])) return undefined;
  const unit = requireUnit(call, 0);
  const [from, to] = [asMoment(argumentAt(call, 1)), asMoment(argumentAt(call, 2))];
  const count = (name: string) => `date_diff('${name}', ${from}, ${to})`;
  switch (unit) {
    case 'year':
    case 'quarter':
    case 'month':
    case 'day':
    case 'hour':
    case 'minute':
    case 'second':
    case 'millisecond':
    case 'microsecond':
    case 'decade':
    case 'century':
    case 'millennium':
      return count(unit);
    case 'week':
    case 'week_iso':
      // DuckDB's "week" counts whole weeks. Here, weeks begin on Monday.
      return `(date_diff('day', date_trunc('week', ${from}), date_trunc('week', ${to})) // 7)`;
    case 'dayofyear':
    case 'dayofweek':
      return count('day');
    case 'nanosecond':
      return `(${count('microsecond')} * 1000)`;
    default:
      return refuseCall(
        call.name,
        `differences cannot be in units of ${unit}: write year, month, day, hour or second`,
      );
  }
}

/** A column may have the name of a unit, as in DATE_TRUNC(d, 'month'). */
function placeOfUnit({ name, source: [first, second] }: FunctionCall): 0 | 1 {
  if (name !== 'DATE_TRUNC' || readUnit(first) === undefined) return 1;
  const isText = readText(second) !== undefined && readUnit(second) !== undefined;
  return isText && readText(first) === undefined ? 1 : 0;
}

/** DATE_TRUNC('month', d), DATE_TRUNC(month, d) and Snowflake's DATE_TRUNC(d, 'month'). */
export function truncateDate(call: FunctionCall): string | undefined {
  const at = placeOfUnit(call);
  const unit = readUnit(call.source[at]);
  if (unit === undefined) {
    if (call.dialect === 'redshift') return undefined;
    return refuseCall(call.name, 'the unit must be written out: write one such as year, month or day');
  }
  const moment = asMoment(argumentAt(call, 1 - at));
  const name = unit === 'week_iso' ? 'week' : unit;
  const known =
    'year quarter month week day hour minute second millisecond microsecond decade century millennium';
  if (!known.split(' ').includes(name)) {
    return refuseCall(
      call.name,
      `dates cannot be cut to ${unit}: write year, quarter, month, week, day or hour`,
    );
  }
  const cut = (bound: string) => `date_trunc('${name}', ${bound})`;
  // They begin with the years 2001 and 1901; DuckDB's with 2000 and 1900.
  const isLong = name === 'century' || name === 'millennium';
  const truncate = (bound: string) =>
    isLong ? `(${cut(`${bound} - to_years(1)`)} + to_years(1))` : cut(bound);
  if (call.dialect === 'redshift') return truncate(moment);
  return bindLong(moment, (bound) => keepType(bound, truncate));
}

function findLastDay(call: FunctionCall): string {
  const unit = call.args.length > 1 ? requireUnit(call, 1) : 'month';
  const moment = asMoment(argumentAt(call, 0));
  const endOf = (name: string, length: string) =>
    `CAST(date_trunc('${name}', ${moment}) + INTERVAL ${length} - INTERVAL 1 DAY AS DATE)`;
  switch (unit) {
    case 'month':
      return `last_day(${moment})`;
    case 'year':
      return endOf('year', '1 YEAR');
    case 'quarter':
      return endOf('quarter', '3 MONTH');
    case 'week':
    case 'week_iso':
      return endOf('week', '7 DAY');
    default:
      return refuseCall(call.name, `there is no last day of a ${unit}: write year, quarter, month or week`);
  }
}

const weekdays = ['su', 'mo', 'tu', 'we', 'th', 'fr', 'sa'];

/** The day of the week of a text such as 'Friday' or 'fr', Sunday is 0. */
function renderWeekday(call: FunctionCall): string {
  const text = readText(call.args[1]);
  if (text === undefined) {
    const first = `lower(left(trim(${argumentAt(call, 1)}), 2))`;
    return `(list_position(['${weekdays.join("', '")}'], ${first}) - 1)`;
  }
  const index = weekdays.indexOf(text.trim().slice(0, 2).toLowerCase());
  if (index < 0) refuseCall(call.name, `"${text}" is not a day of the week: write one such as 'friday'`);
  return String(index);
}

function findNextDay(call: FunctionCall): string {
  return bindOnce([`CAST(${argumentAt(call, 0)} AS DATE)`], (date) => {
    return `(${date} + CAST((${renderWeekday(call)} - dayofweek(${date}) + 6) % 7 + 1 AS INTEGER))`;
  });
}

function findPreviousDay(call: FunctionCall): string {
  return bindOnce([`CAST(${argumentAt(call, 0)} AS DATE)`], (date) => {
    return `(${date} - CAST((dayofweek(${date}) - ${renderWeekday(call)} + 6) % 7 + 1 AS INTEGER))`;
  });
}

/** From the last day of a month it goes to the last day of the other month. */
function addMonths(call: FunctionCall): string {
  const interval = renderInterval(call, 'month', argumentAt(call, 1));
  return bindOnce([asMoment(argumentAt(call, 0)), interval], (moment = '', months = '') => {
    const sum = `${moment} + ${months}`;
    const toLast = `to_days(CAST(last_day(${sum}) - CAST(${sum} AS DATE) AS INTEGER))`;
    const isLast = `CAST(${moment} AS DATE) = last_day(${moment})`;
    const moved = () => `CASE WHEN ${isLast} THEN ${sum} + ${toLast} ELSE ${sum} END`;
    return call.dialect === 'snowflake' ? keepType(moment, moved) : moved();
  });
}

/** A whole number between equal days of the month and between last days; otherwise in months of 31 days. */
function countMonthsBetween(call: FunctionCall): string {
  const dates = [0, 1].map((index) => `CAST(${asMoment(argumentAt(call, index))} AS TIMESTAMP)`);
  return bindOnce(dates, (later, earlier) => {
    const part = (name: string) => `(${name}(${later}) - ${name}(${earlier}))`;
    const months = `${part('year')} * 12 + ${part('month')}`;
    const isLast = (date: string | undefined) => `CAST(${date} AS DATE) = last_day(${date})`;
    const isWhole = `day(${later}) = day(${earlier}) OR (${isLast(later)} AND ${isLast(earlier)})`;
    const days = (date: string | undefined) => `(day(${date}) + (epoch(${date}) % 86400) / 86400)`;
    return `CAST(CASE WHEN ${isWhole} THEN ${months} ELSE ${months} + (${days(later)} - ${days(earlier)}) / 31 END AS ${call.dialect === 'redshift' ? 'DOUBLE' : 'DECIMAL(38, 6)'})`;
  });
}

function sliceTime(call: FunctionCall): string {
  const unit = requireUnit(call, 2);
  const interval = renderInterval(call, unit, argumentAt(call, 1));
  const side = call.args.length > 3 ? readText(call.args[3])?.toUpperCase() : 'START';
  if (side !== 'START' && side !== 'END') refuseCall(call.name, "the last argument must be 'START' or 'END'");
  // Slices count from 1970. Weeks begin on Monday.
  const origin = `TIMESTAMP '${unit === 'week' ? '1969-12-29' : '1970-01-01'}'`;
  const slice = (moment: string) => {
    const start = `time_bucket(${interval}, CAST(${moment} AS TIMESTAMP), ${origin})`;
    return side === 'END' ? `${start} + ${interval}` : start;
  };
  return bindLong(asMoment(argumentAt(call, 0)), (moment) => keepTypeOfSlice(moment, slice));
}

/** Unlike other sums, a slice is a TIMESTAMP for every type of `moment`. */
function keepTypeOfSlice(moment: string, slice: (moment: string) => string): string {
  return `cast_to_type(${slice(moment)}, ${moment})`;
}

const dateAdd = define(2, 3, addToDate);
const dateDiff = define(3, 3, countBoundaries);

/** With two dates, as in Databricks: the days from the second to the first. */
const dateDiffOrDays = define(2, 3, (call) => {
  if (call.args.length === 3) return countBoundaries(call);
  const [end, start] = [0, 1].map((index) => `CAST(${asMoment(argumentAt(call, index))} AS DATE)`);
  return `date_diff('day', ${start}, ${end})`;
});

export const dateArithmetic: FunctionTable = {
  DATEADD: dateAdd,
  DATE_ADD: dateAdd,
  TIMEADD: dateAdd,
  TIMESTAMPADD: dateAdd,
  DATEDIFF: dateDiffOrDays,
  DATE_DIFF: dateDiff,
  TIMEDIFF: dateDiff,
  TIMESTAMPDIFF: dateDiff,
  DATE_TRUNC: define(2, 2, truncateDate),
  LAST_DAY: define(1, 2, findLastDay),
  NEXT_DAY: define(2, 2, findNextDay),
  PREVIOUS_DAY: define(2, 2, findPreviousDay),
  ADD_MONTHS: define(2, 2, addMonths),
  MONTHS_BETWEEN: define(2, 2, countMonthsBetween),
  TIME_SLICE: define(3, 4, sliceTime),
};
