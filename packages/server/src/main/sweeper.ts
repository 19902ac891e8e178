/** Runs the periodic jobs: those of the slices and those of the kernel. Every server runs them all. */
import { setTimeout as delay } from 'node:timers/promises';
import { analyzeGrownTables } from '../kernel/database/statistics.ts';
import { removalBatch, removeExpiredAnswers } from '../kernel/endpoint/idempotency.ts';
import { createRemovalJob, type PeriodicJob } from '../kernel/retention/periodic-job.ts';
import { applyRetention, type Rest } from '../kernel/retention/retention.ts';
import { endForbiddenWork } from '../kernel/work/forbidden-work.ts';
import { sweepWork } from '../kernel/work/work-sweep.ts';
import { periodicJobsOf, retentionRulesOf } from './assembly.ts';
import type { Dependencies } from './deps.ts';
import { slices } from './slices.ts';

const workEveryMilliseconds = 1_000;
/** A table that fills at full speed is read whole for this long at most, while it is small. */
const statisticsEveryMilliseconds = 2_000;
/** Well within the time that a new signing key waits, and how long at most a leaked one is still accepted. */
const keysEveryMilliseconds = 10_000;
const retentionEveryMilliseconds = 600_000;

export interface Sweeper {
  stop(): Promise<void>;
}

export function startSweeper(deps: Dependencies): Sweeper {
  const rest: Rest = (milliseconds) =>
    delay(milliseconds, undefined, { signal: deps.stopping }).catch(() => undefined);
  const rounds = periodicJobsOf(slices, deps, kernelJobs(deps)).map((job) => repeat(deps, job, rest));
  return {
    async stop() {
      await Promise.all(rounds.map((round) => round.stop()));
    },
  };
}

function kernelJobs(deps: Dependencies): PeriodicJob[] {
  const rules = retentionRulesOf(slices, deps);
  return [
    {
      // Work whose lease, grace or bound has passed.
      name: 'work',
      everyMilliseconds: workEveryMilliseconds,
      run: async () => (await sweepWork(deps, deps.owners, deps.times, deps.clock.now())).isMore,
    },
    {
      name: 'forbidden work',
      everyMilliseconds: workEveryMilliseconds,
      run: () => endForbiddenWork(deps, deps.owners, deps.clock.now()),
    },
    {
      name: 'statistics',
      everyMilliseconds: statisticsEveryMilliseconds,
      run: () => once(analyzeGrownTables(deps.database)),
    },
    {
      name: 'signing keys',
      everyMilliseconds: keysEveryMilliseconds,
      run: () => once(deps.signingKeys.refresh()),
    },
    createRemovalJob(deps, {
      kind: 'idempotency-records',
      batch: removalBatch,
      remove: removeExpiredAnswers,
    }),
    {
      name: 'retention',
      everyMilliseconds: retentionEveryMilliseconds,
      run: (rest) => once(applyRetention(deps, rules, deps.clock.now(), rest)),
    },
  ];
}

/** A round after which there is nothing more to do. */
async function once(work: Promise<unknown>): Promise<false> {
  await work;
  return false;
}

/** Runs a job at its interval; while there is more to do, without a pause. */
function repeat({ failures, stopping }: Dependencies, job: PeriodicJob, rest: Rest): Sweeper {
  const { everyMilliseconds, firstAfterMilliseconds = everyMilliseconds } = job;
  let running: Promise<void> = Promise.resolve();
  let timer = setTimeout(begin, firstAfterMilliseconds);

  async function sweep(): Promise<void> {
    try {
      while ((await job.run(rest)) && !stopping.aborted);
      failures.recordSuccess(job.name);
    } catch (failure) {
      failures.recordFailure(job.name, failure, 'a periodic job failed; it runs again');
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
