/**
 * Advances backfills. Every server takes backfills that have room and skips those that another one holds. One
 * transaction writes the runs of a round and how many ticks have one, so each tick has exactly one run,
 * whichever server dies.
 */
import { recordEvents } from '../../kernel/database/events.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { QueueRoom } from '../../kernel/work/queued-runs.ts';
import { findStarts, insertRuns } from '../executions/index.ts';
import { createWantedStart, type TickServices } from '../schedules/index.ts';
import { moveBackfills } from './backfill.store.ts';
import { advanceBackfill, type RoundOutcome } from './backfill-round.ts';
import {
  type DueChoice,
  listDueIds,
  readFacts,
  readSchedules,
  takeDueBackfills,
} from './due-backfill.store.ts';

const everyMilliseconds = 500;
const batch = 10;
/** After a failure, the next round handles the others. */
const mostOneByOne = 1_000;
/** Leaves the processor to requests between two batches. */
const restMilliseconds = 10;

export function createBackfillJob(services: TickServices): PeriodicJob {
  return {
    name: 'backfills',
    everyMilliseconds,
    async run(rest) {
      const isMore = await advanceBackfills(services);
      if (isMore) await rest(restMilliseconds);
      return isMore;
    },
  };
}

/** The job in the log whose failure is that of one backfill. */
const oneByOne = 'one backfill';

/** Advances a batch of backfills. Returns whether there may be more to do. */
export async function advanceBackfills(services: TickServices): Promise<boolean> {
  try {
    const advanced = await advanceBatch(services, { limit: batch });
    services.failures.recordSuccess(oneByOne);
    return advanced > 0;
  } catch (failure) {
    await advanceOneByOne(services, failure);
    return false;
  }
}

/** One backfill must not stop the others. Throws `failure` if each of them fails. */
async function advanceOneByOne(services: TickServices, failure: unknown): Promise<void> {
  const due = await listDueIds(services.database.read, mostOneByOne, services.clock.now());
  let failed = 0;
  for (const only of due)
    await advanceBatch(services, { only }).catch((cause) => {
      failed += 1;
      const message = 'a backfill could not be advanced; it will be tried again';
      services.failures.recordFailure(oneByOne, cause, message, { backfillId: only.backfill_id });
    });
  if (failed > 0 && failed === due.length) throw failure;
}

/** Returns how many backfills it advanced. */
async function advanceBatch(services: TickServices, choice: DueChoice): Promise<number> {
  const { database, newId, wakes, clock } = services;
  const now = clock.now();
  return database.transaction(async (tx) => {
    const rows = await takeDueBackfills(tx, choice, now);
    if (rows.length === 0) return 0;
    const [facts, schedules] = await Promise.all([
      readFacts(tx.query, rows, now),
      readSchedules(tx.query, rows),
    ]);
    const judged = rows.flatMap((row) => {
      const fact = facts.get(row.backfill_id);
      const schedule = schedules.get(row.schedule_id);
      if (fact === undefined || schedule === undefined)
        throw new Error(`The backfill ${row.backfill_id} was not judged.`);
      return { row, facts: fact, schedule };
    });
    const requests = judged.map(({ row, schedule }) =>
      createWantedStart(schedule, { accountId: row.account_id, projectId: row.project_id }),
    );
    const starts = await findStarts(tx.query, requests, 'the schedule', services.config, now);
    const queues = new QueueRoom(services.config);
    const outcomes = judged.flatMap((each, index): RoundOutcome[] => {
      const found = starts[index];
      if (found === undefined) throw new Error('A start was not judged.');
      const place = [each.row.account_id, each.row.project_id, each.row.environment_name];
      const queued = found.problem === undefined ? found.start.queuedRuns : 0;
      const queueRoom = queues.count(place, queued);
      const outcome = advanceBackfill({ ...each, found, queueRoom, limits: services.config }, now, newId);
      queues.take(place, queued, outcome?.runs.length ?? 0);
      return outcome === undefined ? [] : [outcome];
    });
    insertRuns(
      tx,
      outcomes.flatMap(({ runs }) => runs),
      now,
      wakes,
    );
    moveBackfills(
      tx,
      outcomes.map(({ moved }) => moved),
      now,
    );
    for (const [accountId, some] of Map.groupBy(outcomes, ({ moved }) => moved.accountId)) {
      const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
      recordEvents(
        tx,
        source,
        some.flatMap(({ events }) => events),
        now,
        newId,
      );
    }
    return outcomes.length;
  });
}
