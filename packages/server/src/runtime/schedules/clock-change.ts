/**
 * After a clock was set far forward and back, the next ticks that were computed meanwhile are in the future, and
 * their schedules would be silent until then. They are computed from the present again. If the clock was set
 * back by less, schedules wait, so that no tick runs twice.
 */
import { addSeconds, type Clock } from '../../kernel/clock.ts';
import { type ColumnTypes, type Database, statement } from '../../kernel/database/database.ts';
import type { LineLog } from '../../kernel/failure-log.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { scheduleColumns, scheduleRow } from './schedule/schedule.store.ts';
import { clockChangeSeconds, readTimetable } from './schedule/schedule.ts';
import { nextTickAfter } from './timetable/timetable.ts';

const batch = 100;
const futureRow = { ...scheduleRow, account_id: 'uuid' } satisfies ColumnTypes;

const takeFuture = statement(
  { parameters: { latest: 'timestamptz' }, row: futureRow, alone: true },
  `
  select s.account_id, ${scheduleColumns} from schedule s
  where s.timed_at > $latest and s.next_tick_at is not null
  order by s.timed_at limit ${batch} for update of s skip locked`,
);

const retime = statement(
  {
    parameters: {
      account_ids: 'uuid[]',
      schedule_ids: 'uuid[]',
      next_ticks: 'timestamptz[]',
      now: 'timestamptz',
    },
  },
  `
  update schedule s set next_tick_at = t.next_tick, timed_at = $now,
    last_tick_at = case when s.last_tick_at <= $now then s.last_tick_at end
  from unnest($account_ids::uuid[], $schedule_ids::uuid[], $next_ticks::timestamptz[])
    as t (account_id, schedule_id, next_tick)
  where s.account_id = t.account_id and s.schedule_id = t.schedule_id`,
);

export interface ClockChangeServices {
  database: Database;
  clock: Clock;
  log: LineLog;
}

/** Handles a batch. Returns whether there may be more. */
export async function retimeAfterClockChange({
  database,
  clock,
  log,
}: ClockChangeServices): Promise<boolean> {
  const now = clock.now();
  const retimed = await database.transaction(async (tx) => {
    const rows = await tx.query(takeFuture, { latest: addSeconds(now, clockChangeSeconds) });
    const known = rows.map((row) => {
      const { timetable } = readTimetable(row);
      return { row, next: timetable === undefined ? row.next_tick_at : nextTickAfter(timetable, now) };
    });
    tx.send(retime, {
      account_ids: known.map(({ row }) => row.account_id),
      schedule_ids: known.map(({ row }) => row.schedule_id),
      next_ticks: known.map(({ next }) => next ?? null) as Date[],
      now,
    });
    return rows.length;
  });
  if (retimed > 0)
    log.warn({ schedules: retimed }, 'the clock was set back; schedules continue from the present');
  return retimed === batch;
}

export function createClockChangeJob(services: ClockChangeServices): PeriodicJob {
  return {
    name: 'schedules after a clock change',
    everyMilliseconds: 60_000,
    firstAfterMilliseconds: 5_000,
    run: () => retimeAfterClockChange(services),
  };
}
