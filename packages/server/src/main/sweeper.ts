/** Runs the periodic jobs: those of the slices and those of the kernel. Every server runs them all. */
import { setTimeout as delay } from 'node:timers/promises';
import { analyzeGrownTables } from '../kernel/database/statistics.ts';
import { removalBatch, removeExpiredAnswers } from '../kernel/endpoint/idempotency.ts';
import { createOccupant, occupyLoop } from '../kernel/event-loop.ts';
import { createRemovalJob, type PeriodicJob } from '../kernel/retention/periodic-job.ts';
import { applyRetention, type Rest } from '../kernel/retention/retention.ts';
import { endForbiddenWork } from '../kernel/work/forbidden-work.ts';
import { createClockJob } from '../kernel/work/server-worker.ts';
import { sweepWork } from '../kernel/work/work-sweep.ts';
import { collectPeriodicJobs, collectRetentionRules } from './assembly.ts';
import type { Dependencies } from './deps.ts';
import { slices } from './slices.list.ts';

const workEveryMilliseconds = 1_000;
/** Limits how long a fast-growing table has stale statistics, and so full scans. */
const statisticsEveryMilliseconds = 2_000;
/** Well within the waiting time of a new signing key. A leaked key is accepted for at most this long. */
const keysEveryMilliseconds = 10_000;
const retentionEveryMilliseconds = 600_000;

export interface Sweeper {
  stop(): Promise<void>;
}

export function startSweeper(deps: Dependencies): Sweeper {
  const rest: Rest = (milliseconds) =>
    delay(milliseconds, undefined, { signal: deps.stopping }).catch(() => undefined);
  const rounds = collectPeriodicJobs(slices, deps, listKernelJobs(deps)).map((job) =>
    repeat(deps, job, rest),
  );
  return {
    async stop() {
      await Promise.all(rounds.map((round) => round.stop()));
    },
  };
}

function listKernelJobs(deps: Dependencies): PeriodicJob[] {
  const rules = collectRetentionRules(slices, deps);
  return [
    {
      // Work whose lease, grace period or time limit has passed.
      name: 'work',
      everyMilliseconds: workEveryMilliseconds,
      run: async () => (await sweepWork(deps, deps.owners, deps.times, deps.clock.now())).isMore,
    },
    createClockJob(deps),
    {
      name: 'forbidden work',
      everyMilliseconds: workEveryMilliseconds,
      run: () => endForbiddenWork(deps, deps.owners, deps.clock.now()),
    },
    {
      name: 'statistics',
      everyMilliseconds: statisticsEveryMilliseconds,
      run: () => runOnce(analyzeGrownTables(deps.database)),
    },
    {
      name: 'signing keys',
      everyMilliseconds: keysEveryMilliseconds,
      run: () => runOnce(deps.signingKeys.refresh()),
    },
    createRemovalJob(deps, {
      kind: 'idempotency-records',
      batch: removalBatch,
      remove: removeExpiredAnswers,
    }),
    {
      name: 'retention',
      everyMilliseconds: retentionEveryMilliseconds,
      run: (rest) => runOnce(applyRetention(deps, rules, deps.clock.now(), rest)),
    },
  ];
}

/** Runs a job that has nothing more to do after one round. */
async function runOnce(work: Promise<unknown>): Promise<false> {
  await work;
  return false;
}

/** Runs a job at its interval, or without a pause while there is more to do. */
function repeat({ failures, stopping }: Dependencies, job: PeriodicJob, rest: Rest): Sweeper {
  const { everyMilliseconds, firstAfterMilliseconds = everyMilliseconds } = job;
  const occupant = createOccupant(job.name);
  let running: Promise<void> = Promise.resolve();
  let timer = setTimeout(begin, firstAfterMilliseconds);

  async function sweep(): Promise<void> {
    try {
      while ((await occupyLoop(occupant, 'job', () => job.run(rest))) && !stopping.aborted);
      failures.recordSuccess(job.name);
    } catch (failure) {
      failures.recordFailure(job.name, failure, 'a periodic job failed; it will run again');
    }
    if (!stopping.aborted) timer = setTimeout(begin, everyMilliseconds);
  }

  function begin(): void {
    running = sweep();
  }

  return {
    async stop() {
      clearTimeout(timer);
      await running;
    },
  };
}
