/**
 * Advances backfills. Every server takes backfills that have room and skips those that another one holds. One
 * transaction writes the runs of a round and how many ticks have one, so each tick has exactly one run,
 * whichever server dies.
 */
import { recordEvents } from '../../kernel/database/events.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
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

/** Advances a batch of backfills. Returns whether there may be more to do. */
export async function advanceBackfills(services: TickServices): Promise<boolean> {
  try {
    return (await advanceBatch(services, { limit: batch })) > 0;
  } catch (failure) {
    // One backfill must not stop the others: advance each by itself, and report those that fail.
    const due = await listDueIds(services.database.read, 100 * batch, services.clock.now());
    let advanced = 0;
    for (const only of due)
      try {
        advanced += await advanceBatch(services, { only });
      } catch (cause) {
        services.log.error({ err: cause, backfillId: only.backfill_id }, 'a backfill could not be advanced');
      }
    if (advanced === 0) throw failure;
    return false;
  }
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
    const wanted = judged.map(({ row, schedule }) =>
      createWantedStart(schedule, { accountId: row.account_id, projectId: row.project_id }),
    );
    const starts = await findStarts(tx.query, wanted, 'the schedule');
    const outcomes = judged.flatMap((each, index): RoundOutcome[] => {
      const found = starts[index];
      if (found === undefined) throw new Error('A start was not judged.');
      const outcome = advanceBackfill({ ...each, found }, now, newId);
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
