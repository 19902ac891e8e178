/**
 * Fires schedules. Every server takes due schedules in batches and skips those that another one holds. One
 * transaction writes the runs of a batch, their events and the next ticks, so a tick has exactly one run,
 * whichever server dies (docs/adr/0058).
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { FailureLog } from '../../kernel/failure-log.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { type QueueLimit, QueueRoom } from '../../kernel/work/queued-runs.ts';
import { findStarts, insertRuns } from '../executions/index.ts';
import {
  type DueId,
  type DueSearch,
  dueBatch,
  listDueIds,
  moveSchedules,
  readFacts,
  takeDueSchedules,
} from './due-schedule.store.ts';
import { createWantedStart } from './schedule/schedule.ts';
import { handleTick, lateMilliseconds, type TickOutcome } from './tick.ts';
import { leaveUnknownZone, listUnknownZones } from './unknown-zone.ts';

export interface TickServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  wakes: Wakes;
  metrics: Metrics;
  failures: FailureLog;
  config: QueueLimit;
}

const everyMilliseconds = 500;
/** Leaves the processor to requests between two batches. */
const restMilliseconds = 5;

export function createTickJob(services: TickServices): PeriodicJob {
  return {
    name: 'schedules',
    everyMilliseconds,
    async run(rest) {
      const isMore = await fireDueSchedules(services);
      if (isMore) await rest(restMilliseconds);
      return isMore;
    },
  };
}

/** The job in the log whose failure is that of one schedule. */
const oneByOne = 'one schedule';

/** Handles a batch of due schedules. Returns whether there may be more. */
export async function fireDueSchedules(services: TickServices): Promise<boolean> {
  try {
    const handled = await fireBatch(services);
    services.failures.recordSuccess(oneByOne);
    return handled === dueBatch;
  } catch (failure) {
    await fireOneByOne(services, failure);
    return false;
  }
}

/** One schedule must not stop the others. Throws `failure` if each of them fails. */
async function fireOneByOne(services: TickServices, failure: unknown): Promise<void> {
  const due = await listDueIds(services.database.read, createSearch(services.clock.now()));
  let failed = 0;
  for (const only of due)
    await fireBatch(services, only).catch((cause) => {
      failed += 1;
      const message = 'a schedule could not be handled; it will be tried again';
      services.failures.recordFailure(oneByOne, cause, message, { scheduleId: only.schedule_id });
    });
  if (failed > 0 && failed === due.length) throw failure;
}

async function fireBatch(services: TickServices, only?: DueId): Promise<number> {
  const { database, metrics, newId, wakes } = services;
  const now = services.clock.now();
  let count = 0;
  const outcomes = await database.transaction(async (tx) => {
    const taken = await takeDueSchedules(tx, only, createSearch(now));
    count = taken.length;
    const rows = taken.filter((row) => !leaveUnknownZone(tx, row, now, services));
    if (rows.length === 0) return [];
    const requests = rows.map((row) =>
      createWantedStart(row, { accountId: row.account_id, projectId: row.project_id }),
    );
    const [facts, starts] = await Promise.all([
      readFacts(tx.query, rows, now),
      findStarts(tx.query, requests, 'the schedule', services.config, now),
    ]);
    const queues = new QueueRoom(services.config);
    const handled = rows.map((row, index): TickOutcome => {
      const [fact, found] = [facts.get(row.schedule_id), starts[index]];
      if (fact === undefined || found === undefined)
        throw new Error(`The schedule ${row.schedule_id} was not judged.`);
      const place = [row.account_id, row.project_id, row.environment_name];
      const queued = found.problem === undefined ? found.start.queuedRuns : 0;
      const isFull = queues.count(place, queued) === 0;
      const outcome = handleTick({ row, facts: fact, found, isFull }, now, newId);
      if (outcome.run?.status === 'RUNNING') queues.take(place, queued, 1);
      return outcome;
    });
    insertRuns(
      tx,
      handled.flatMap(({ run }) => run ?? []),
      now,
      wakes,
    );
    moveSchedules(
      tx,
      handled.map((each) => each.handled),
      now,
    );
    for (const [accountId, some] of Map.groupBy(handled, (each) => each.handled.accountId)) {
      const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
      const events = some.flatMap((each) => each.events);
      recordEvents(tx, source, events, now, newId);
    }
    return handled;
  });
  for (const { result, handled } of outcomes)
    metrics.observeTick(result, (now.getTime() - handled.tick.getTime()) / 1_000);
  return count;
}

function createSearch(now: Date): DueSearch {
  return { now, late: new Date(now.getTime() - lateMilliseconds), unknownZones: listUnknownZones() };
}
