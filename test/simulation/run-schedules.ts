/** Many schedules, one after the other; all that went wrong, and a sum of what was seen. */
import { runSchedule, type Verdict } from './schedule.ts';

export interface Failure {
  seed: number;
  faults: string[];
}

const toldEvery = 10_000;
const failuresAtMost = 20;

/** Nobody reads the traces of errors that are part of a schedule, and they are a quarter of its cost. */
Error.stackTraceLimit = 0;

export async function runSchedules(count: number, firstSeed: number, progress: (done: number) => void) {
  const failures: Failure[] = [];
  const seen: Verdict['seen'] = { works: 0, epochs: 0, crashes: 0, ends: {} };
  for (let done = 0; done < count && failures.length < failuresAtMost; done += 1) {
    const seed = firstSeed + done;
    const verdict = await runSchedule(seed);
    if (verdict.faults.length > 0) failures.push({ seed, faults: verdict.faults });
    add(seen, verdict.seen);
    if ((done + 1) % toldEvery === 0) progress(done + 1);
  }
  return { failures, seen };
}

function add(sum: Verdict['seen'], { works, epochs, crashes, ends }: Verdict['seen']): void {
  sum.works += works;
  sum.epochs += epochs;
  sum.crashes += crashes;
  for (const [end, count] of Object.entries(ends)) sum.ends[end] = (sum.ends[end] ?? 0) + count;
}
