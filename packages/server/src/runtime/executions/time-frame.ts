/** Times that lie a duration back. */

/** Calendar units, and units of a fixed length in milliseconds. */
const years = /(\d{1,4})Y/;
const months = /^P[^T]{0,8}?(\d{1,5})M/;
const fixed = [
  [/(\d{1,5})W/, 604_800_000],
  [/(\d{1,6})D/, 86_400_000],
  [/(\d{1,7})H/, 3_600_000],
  [/T[^M]{0,8}?(\d{1,9})M/, 60_000],
  [/(\d{1,9})S/, 1_000],
] as const;
const earliest = Date.UTC(1970, 0, 1);

/**
 * The moment an ISO 8601 duration before `now`, in UTC; not before 1970. A month back from the 31st is the last day
 * of a shorter one.
 */
export function goBack(now: Date, duration: string): Date {
  const read = (pattern: RegExp) => Number(pattern.exec(duration)?.[1] ?? 0);
  const back = new Date(now);
  const day = back.getUTCDate();
  back.setUTCDate(1);
  back.setUTCMonth(back.getUTCMonth() - read(years) * 12 - read(months));
  const lastDay = new Date(Date.UTC(back.getUTCFullYear(), back.getUTCMonth() + 1, 0)).getUTCDate();
  back.setUTCDate(Math.min(day, lastDay));
  const milliseconds = fixed.reduce((sum, [pattern, length]) => sum + read(pattern) * length, 0);
  return new Date(Math.max(earliest, back.getTime() - milliseconds));
}

/** The later of `startedAfter` and the beginning of `timeFrame`; undefined without both. */
export function findStart(
  { startedAfter, timeFrame }: { startedAfter?: string | undefined; timeFrame?: string | undefined },
  now: Date,
): string | undefined {
  if (timeFrame === undefined) return startedAfter;
  const begin = goBack(now, timeFrame);
  return startedAfter !== undefined && Date.parse(startedAfter) > begin.getTime()
    ? startedAfter
    : begin.toISOString();
}
