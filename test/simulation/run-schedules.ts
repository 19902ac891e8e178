/** Runs schedules one after the other, and sums up their faults and what was seen. */
import { runSchedule, type Verdict } from './schedule.ts';

export interface Failure {
  seed: number;
  faults: string[];
}

const schedulesPerProgress = 10_000;
const maximumFailures = 20;

/** Errors are part of a schedule, and their traces are not read; to make them is a quarter of its cost. */
Error.stackTraceLimit = 0;

interface ScheduleOrder {
  count: number;
  firstSeed: number;
  /** Of `performance.now()`: no schedule begins after it. */
  until: number;
  progress: (done: number) => void;
}

export async function runSchedules({ count, firstSeed, until, progress }: ScheduleOrder) {
  const failures: Failure[] = [];
  const seen: Verdict['seen'] = { works: 0, epochs: 0, crashes: 0, ends: {} };
  let done = 0;
  for (; done < count && failures.length < maximumFailures && performance.now() < until; done += 1) {
    const seed = firstSeed + done;
    const verdict = await runSchedule(seed);
    if (verdict.faults.length > 0) failures.push({ seed, faults: verdict.faults });
    add(seen, verdict.seen);
    if ((done + 1) % schedulesPerProgress === 0) progress(done + 1);
  }
  return { done, failures, seen };
}

function add(sum: Verdict['seen'], { works, epochs, crashes, ends }: Verdict['seen']): void {
  sum.works += works;
  sum.epochs += epochs;
  sum.crashes += crashes;
  for (const [end, count] of Object.entries(ends)) sum.ends[end] = (sum.ends[end] ?? 0) + count;
}
