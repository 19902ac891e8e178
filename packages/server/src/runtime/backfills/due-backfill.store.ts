/** The backfills that may start a tick or end: taken by one server. */
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { isStillPermitted } from '../../kernel/work/claim.ts';
import { type ScheduleRow, scheduleColumns, scheduleRow } from '../schedules/index.ts';
import { backfillColumns, backfillRow, countRuns, countUnended, type RunCounts } from './backfill.store.ts';

/** Ticks that one round starts of one backfill. */
const roundTicks = 50;

const dueRow = {
  ...backfillRow,
  account_id: 'uuid',
  project_id: 'uuid',
  next_ticks: 'timestamptz[]',
} satisfies ColumnTypes;
export type DueBackfill = RowOf<typeof dueRow>;

/** How long a tick that cannot start waits before it is tried again. */
export const blockedSeconds = 10;

/** SQL. A time that is later than any that a round sets was set before the clock went back. */
const isDue = (at: string) =>
  `(${at} <= $now or ${at} > $now::timestamptz + interval '${blockedSeconds} seconds')`;

// The counts are those before the locks, so they only say which backfills to take: see `readFacts`. The schedule,
// the project and the environment cannot be deleted before the runs are written.
const due = `
  select b.account_id, b.project_id, b.ticks[b.started_count + 1 : b.started_count + ${roundTicks}] as next_ticks, ${backfillColumns}
  from backfill b
  join schedule s on s.account_id = b.account_id and s.schedule_id = b.schedule_id
  join project p on p.account_id = b.account_id and p.project_id = b.project_id
  join environment e on e.account_id = b.account_id and e.project_id = b.project_id and e.name = b.environment_name
  where ${isDue('b.next_round_at')}
    and ${countUnended} < case when b.status = 'RUNNING' and b.started_count < b.tick_count then b.concurrency else 1 end`;
const held =
  'for update of b skip locked for key share of s skip locked for key share of p skip locked for key share of e skip locked';

const takeDue = statement(
  { parameters: { now: 'timestamptz', limit: 'bigint' }, row: dueRow, alone: true },
  `${due} order by b.next_round_at limit $limit ${held}`,
);

const takeOne = statement(
  { parameters: { account_id: 'uuid', backfill_id: 'uuid', now: 'timestamptz' }, row: dueRow },
  `${due} and b.account_id = $account_id and b.backfill_id = $backfill_id ${held}`,
);

const dueId = { account_id: 'uuid', backfill_id: 'uuid' } satisfies ColumnTypes;
export type DueId = RowOf<typeof dueId>;

const selectDueIds = statement(
  { parameters: { now: 'timestamptz', limit: 'bigint' }, row: dueId, alone: true },
  `select account_id, backfill_id from backfill where ${isDue('next_round_at')} order by next_round_at limit $limit`,
);

/** Which backfills a round is about: the first that are due, or one of them. */
export type DueChoice = { limit: number; only?: undefined } | { only: DueId };

export function takeDueBackfills(tx: Transaction, choice: DueChoice, now: Date): Promise<DueBackfill[]> {
  if (choice.only === undefined) return tx.query(takeDue, { now, limit: choice.limit });
  return tx.query(takeOne, { ...choice.only, now });
}

export function listDueIds(read: Read, limit: number, now: Date): Promise<DueId[]> {
  return read(selectDueIds, { now, limit });
}

const factRow = {
  backfill_id: 'uuid',
  is_permitted: 'boolean',
  runs: typed<RunCounts>('jsonb'),
} satisfies ColumnTypes;
export type BackfillFacts = RowOf<typeof factRow>;

const selectFacts = statement(
  {
    parameters: { account_ids: 'uuid[]', backfill_ids: 'uuid[]', now: 'timestamptz' },
    row: factRow,
  },
  `
  select b.backfill_id, ${isStillPermitted('b')} as is_permitted, ${countRuns} as runs
  from unnest($account_ids::uuid[], $backfill_ids::uuid[]) as t (account_id, backfill_id)
  join backfill b on b.account_id = t.account_id and b.backfill_id = t.backfill_id`,
);

/** What is known only now that the backfills are locked: rights and runs. */
export async function readFacts(
  read: Read,
  rows: readonly DueBackfill[],
  now: Date,
): Promise<ReadonlyMap<string, BackfillFacts>> {
  const facts = await read(selectFacts, {
    account_ids: rows.map((row) => row.account_id),
    backfill_ids: rows.map((row) => row.backfill_id),
    now,
  });
  return new Map(facts.map((each) => [each.backfill_id, each]));
}

const selectSchedules = statement(
  { parameters: { account_ids: 'uuid[]', schedule_ids: 'uuid[]' }, row: scheduleRow },
  `
  select ${scheduleColumns} from unnest($account_ids::uuid[], $schedule_ids::uuid[]) as t (account_id, schedule_id)
  join schedule s on s.account_id = t.account_id and s.schedule_id = t.schedule_id`,
);

/** The schedules of the backfills as they are now, by their ids. */
export async function readSchedules(
  read: Read,
  rows: readonly DueBackfill[],
): Promise<ReadonlyMap<string, ScheduleRow>> {
  const byId = new Map(rows.map((row) => [row.schedule_id, row.account_id]));
  const found = await read(selectSchedules, {
    account_ids: [...byId.values()],
    schedule_ids: [...byId.keys()],
  });
  return new Map(found.map((row) => [row.schedule_id, row]));
}
