/** Periodic jobs. Every server runs them; where one at a time must, an advisory lock sees to it. */
import { setTimeout as delay } from 'node:timers/promises';
import { versionsUse } from '../delivery/artifacts/index.ts';
import { type Collector, createCollector } from '../delivery/blobs/index.ts';
import { sharedVersionsUse } from '../delivery/shared-pipelines/index.ts';
import { analyzeGrownTables } from '../kernel/database/statistics.ts';
import { removalBatch, removeExpiredAnswers } from '../kernel/endpoint/idempotency.ts';
import { applyRetention, type Rest, type RetentionRule } from '../kernel/retention/retention.ts';
import { endForbiddenWork } from '../kernel/work/forbidden-work.ts';
import { sweepWork } from '../kernel/work/work-sweep.ts';
import { eventRetention } from '../records/events/index.ts';
import { sweepAgents } from '../runtime/agent-link/index.ts';
import { executionRetention, executionsUse } from '../runtime/executions/index.ts';
import { removeOldSecretChecks, secretCheckBatch } from '../runtime/secret-checks/index.ts';
import { removeOldSecretWrites, secretWriteBatch } from '../runtime/secrets/index.ts';
import { connectedSeconds } from '../workspace/agents/index.ts';
import type { Config } from './config.ts';
import type { Dependencies } from './deps.ts';

const workEveryMilliseconds = 1_000;
/** A table that fills at full speed is read whole for this long at most, while it is small. */
const statisticsEveryMilliseconds = 2_000;
/** Well within the time that a new signing key waits, and how long at most a leaked one is still accepted. */
const keysEveryMilliseconds = 10_000;
const answersEveryMilliseconds = 60_000;
const retentionEveryMilliseconds = 600_000;
/** Between two batches of what nobody waits for. */
const restMilliseconds = 50;

export interface Sweeper {
  stop(): Promise<void>;
}

export function startSweeper(deps: Dependencies): Sweeper {
  const rest: Rest = (milliseconds) =>
    delay(milliseconds, undefined, { signal: deps.stopping }).catch(() => undefined);
  const collector = blobCollector(deps);
  const rounds = [
    // Work whose lease, grace or bound has passed.
    repeat(deps, 'work', workEveryMilliseconds, async () => {
      const { isMore } = await sweepWork(deps, deps.owners, deps.times, deps.clock.now());
      return isMore;
    }),
    repeat(deps, 'forbidden work', workEveryMilliseconds, () =>
      endForbiddenWork(deps, deps.owners, deps.clock.now()),
    ),
    // Not at once: who could not reach a server that was down is no longer silent by then.
    repeat(
      deps,
      'agents',
      workEveryMilliseconds,
      () => sweepAgents(deps, deps.clock.now()),
      connectedSeconds * 1_000,
    ),
    repeat(deps, 'statistics', statisticsEveryMilliseconds, async () => {
      await analyzeGrownTables(deps.database);
      return false;
    }),
    repeat(deps, 'signing keys', keysEveryMilliseconds, async () => {
      await deps.signingKeys.refresh();
      return false;
    }),
    repeat(deps, 'idempotency records', answersEveryMilliseconds, async () => {
      const removed = await removeExpiredAnswers(deps.database.read, deps.clock.now());
      deps.metrics.removed('idempotency-records', removed);
      await rest(restMilliseconds);
      return removed === removalBatch;
    }),
    repeat(deps, 'secret writes', answersEveryMilliseconds, async () => {
      const removed = await removeOldSecretWrites(deps.database.read, deps.clock.now());
      deps.metrics.removed('secret-writes', removed);
      await rest(restMilliseconds);
      return removed === secretWriteBatch;
    }),
    repeat(deps, 'secret checks', answersEveryMilliseconds, async () => {
      const removed = await removeOldSecretChecks(deps.database.read, deps.clock.now());
      deps.metrics.removed('secret-checks', removed);
      await rest(restMilliseconds);
      return removed === secretCheckBatch;
    }),
    repeat(deps, 'retention', retentionEveryMilliseconds, async () => {
      await applyRetention(deps, retentionRules(deps.config), deps.clock.now(), rest);
      return false;
    }),
    repeat(deps, 'collection', deps.config.collection.everySeconds * 1_000, async () => {
      await collector.collect(rest);
      return false;
    }),
  ];
  return {
    async stop() {
      await Promise.all(rounds.map((round) => round.stop()));
    },
  };
}

/** What refers to manifests is told here: delivery knows nothing of what runs. */
export function blobCollector(deps: Dependencies): Collector {
  const graceMilliseconds = deps.config.collection.graceHours * 3_600_000;
  return createCollector(deps, [versionsUse, sharedVersionsUse, executionsUse], graceMilliseconds);
}

function retentionRules({ retention }: Config): RetentionRule[] {
  return [...executionRetention(retention), eventRetention(retention.eventDays)];
}

/** Runs a round again and again; while it says that there is more, at once. */
function repeat(
  { failures, stopping }: Dependencies,
  job: string,
  everyMilliseconds: number,
  round: () => Promise<boolean>,
  firstAfterMilliseconds = everyMilliseconds,
): Sweeper {
  let running: Promise<void> = Promise.resolve();
  let timer = setTimeout(begin, firstAfterMilliseconds);

  async function sweep(): Promise<void> {
    try {
      while ((await round()) && !stopping.aborted);
      failures.succeeded(job);
    } catch (failure) {
      failures.failed(job, failure, 'a periodic job failed; it runs again');
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
