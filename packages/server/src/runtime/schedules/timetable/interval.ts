/** Intervals: one tick every so many seconds, minutes, hours, days or weeks of elapsed time. */

const millisecondsOf = {
  SECONDS: 1_000,
  MINUTES: 60_000,
  HOURS: 3_600_000,
  DAYS: 86_400_000,
  WEEKS: 604_800_000,
} as const;

export type IntervalUnit = keyof typeof millisecondsOf;
export const intervalUnits = Object.keys(millisecondsOf) as readonly IntervalUnit[];

/** Ten years. */
const longestMilliseconds = 3_652 * millisecondsOf.DAYS;

export interface IntervalExpression {
  interval: number;
  /** Read in any case, with or without the final s. */
  unit: string;
}

export function readIntervalUnit(text: string): IntervalUnit | undefined {
  const word = text.toUpperCase();
  return intervalUnits.find((unit) => word === unit || word === unit.slice(0, -1));
}

/** @returns the length of the interval, or what is wrong, with the value. */
export function readInterval({
  interval,
  unit,
}: IntervalExpression): { milliseconds: number } | { fault: string } {
  const known = readIntervalUnit(unit);
  if (known === undefined) {
    return {
      fault:
        `unit ${JSON.stringify(unit)} is not one of ${intervalUnits.join(', ')}. ` +
        'For months and years use a cron expression, for example "0 0 2 1 * ?"',
    };
  }
  const most = Math.floor(longestMilliseconds / millisecondsOf[known]);
  if (!Number.isInteger(interval) || interval < 1 || interval > most) {
    return { fault: `interval ${interval} is not a whole number from 1 to ${most} (${known})` };
  }
  return { milliseconds: interval * millisecondsOf[known] };
}
