/** The rules of a backfill: its range, its counts, and what a round makes of it. */
import { type BackfillCounts, type BackfillStatus, backfillTickLimit } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { ignoreStart, listTicks, nextTickAfter, type Timetable } from '../schedules/index.ts';
import type { RunCounts } from './backfill.store.ts';

/** Ticks of a range that is too long are counted up to this. */
const mostCounted = 2 * backfillTickLimit;
/** Ticks that are found before other requests get the processor: a few milliseconds. */
const chunk = 100;

interface Range {
  from: Date;
  to: Date;
}

/** Throws `backfill-range`. */
export function readRange(body: { from: string; to: string }, now: Date): Range {
  const from = new Date(body.from);
  const to = new Date(body.to);
  if (from >= to)
    throw problem('backfill-range', {
      field: 'body.to',
      reason: `"${body.to}" is not after \`from\`, which is "${body.from}".`,
    });
  if (to > now)
    throw problem('backfill-range', {
      field: 'body.to',
      reason: `"${body.to}" is in the future: a backfill is for ticks that are past. Use a time up to ${now.toISOString()}.`,
    });
  return { from, to };
}

/** The ticks of a range, also before effectiveFrom. Throws `backfill-range` and `backfill-too-long`. */
export async function chooseTicks(timetable: Timetable, { from, to }: Range): Promise<Date[]> {
  const always = ignoreStart(timetable);
  const ticks: Date[] = [];
  let begin = from;
  while (ticks.length <= mostCounted) {
    const found = listTicks(always, begin, to, chunk);
    ticks.push(...found);
    const last = found.at(-1);
    if (found.length < chunk || last === undefined) break;
    begin = new Date(last.getTime() + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [first] = ticks;
  if (first === undefined) {
    const next = nextTickAfter(always, new Date(to.getTime() - 1));
    const remedy = next === undefined ? '' : ` The first tick after it is ${next.toISOString()}.`;
    const reason = `the schedule has no tick from ${from.toISOString()} to before ${to.toISOString()}.${remedy}`;
    throw problem('backfill-range', { field: 'body', reason });
  }
  const end = ticks[backfillTickLimit];
  if (end !== undefined) {
    const count = ticks.length > mostCounted ? `more than ${mostCounted}` : String(ticks.length);
    throw problem('backfill-too-long', { count, limit: backfillTickLimit, next: end.toISOString() });
  }
  return ticks;
}

/** What is known of a backfill's progress. */
interface Progress {
  status: BackfillStatus;
  tickCount: number;
  startedCount: number;
}

export function countTicks({ status, tickCount, startedCount }: Progress, runs: RunCounts): BackfillCounts {
  const left = tickCount - startedCount;
  const isRunning = status === 'RUNNING';
  const {
    SUCCESS = 0,
    FAILED = 0,
    CANCELLED = 0,
    FORBIDDEN = 0,
    RUNNING = 0,
    CANCELLING = 0,
    UNKNOWN = 0,
  } = runs;
  return {
    total: tickCount,
    waiting: isRunning ? left : 0,
    running: RUNNING + CANCELLING + UNKNOWN,
    succeeded: SUCCESS,
    failed: FAILED,
    cancelled: CANCELLED,
    forbidden: FORBIDDEN,
    skipped: isRunning ? 0 : left,
  };
}

/** How a backfill ends that does not start further ticks and whose runs have ended; undefined: it goes on. */
export function findEnd(
  { status, tickCount, startedCount }: Progress,
  isForbidden: boolean,
): Extract<BackfillStatus, 'COMPLETED' | 'CANCELLED' | 'FAILED'> | undefined {
  if (status === 'STOPPING') return isForbidden ? 'FAILED' : 'CANCELLED';
  return startedCount === tickCount ? 'COMPLETED' : undefined;
}
