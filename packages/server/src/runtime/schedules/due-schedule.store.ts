/** The schedules whose tick has come: taken by one server, and moved to their next tick. */
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { isStillPermitted } from '../../kernel/work/claim.ts';
import { scheduleColumns, scheduleRow, unendedRun } from './schedule/schedule.store.ts';
import { expressionProblem } from './schedule/schedule.ts';

const dueRow = { ...scheduleRow, account_id: 'uuid', project_id: 'uuid' } satisfies ColumnTypes;
export type DueRow = RowOf<typeof dueRow>;

const due = `
  from schedule s
  join project p on p.account_id = s.account_id and p.project_id = s.project_id
  join environment e on e.account_id = s.account_id and e.project_id = s.project_id and e.name = s.environment_name
  where s.next_tick_at <= $now`;
// A server leaves schedules in time zones that it does not know to the others. Those that are late get a problem.
const isKnown = `(s.cron_timezone <> all ($unknown_zones::text[])
    or s.next_tick_at <= $late and s.problem_code is distinct from '${expressionProblem}')`;
const knownTypes = { now: 'timestamptz', late: 'timestamptz', unknown_zones: 'text[]' } as const;
// Nothing waits: what somebody else holds is taken by them, or in the next round. The project and the
// environment cannot be deleted before the runs are written, and their deletion then sees the runs.
const held = 'for update of s skip locked for key share of p skip locked for key share of e skip locked';

/** Small enough that requests wait little while a batch is handled. */
export const dueBatch = 50;

const takeDue = statement(
  { parameters: knownTypes, row: dueRow, alone: true },
  `
  select s.account_id, s.project_id, ${scheduleColumns} ${due} and ${isKnown}
  order by s.next_tick_at limit ${dueBatch} ${held}`,
);

const takeOne = statement(
  {
    parameters: { account_id: 'uuid', schedule_id: 'uuid', now: 'timestamptz' },
    row: dueRow,
  },
  `
  select s.account_id, s.project_id, ${scheduleColumns} ${due}
    and s.account_id = $account_id and s.schedule_id = $schedule_id ${held}`,
);

const selectDueIds = statement(
  {
    parameters: knownTypes,
    row: { account_id: 'uuid', schedule_id: 'uuid' },
  },
  `
  select s.account_id, s.schedule_id from schedule s where s.next_tick_at <= $now and ${isKnown}
  order by s.next_tick_at limit ${dueBatch}`,
);

export type DueId = Pick<DueRow, 'account_id' | 'schedule_id'>;

export interface DueSearch {
  now: Date;
  /** A tick of before has not been handled in time. */
  late: Date;
  /** The time zones that this server does not know. */
  unknownZones: readonly string[];
}

/** Takes the first schedules that are due, or only one. */
export function takeDueSchedules(
  tx: Transaction,
  only: DueId | undefined,
  { now, late, unknownZones }: DueSearch,
): Promise<DueRow[]> {
  if (only !== undefined) return tx.query(takeOne, { ...only, now });
  return tx.query(takeDue, { now, late, unknown_zones: unknownZones });
}

export function listDueIds(read: Read, { now, late, unknownZones }: DueSearch): Promise<DueId[]> {
  return read(selectDueIds, { now, late, unknown_zones: unknownZones });
}

const factRow = {
  schedule_id: 'uuid',
  is_permitted: 'boolean',
  unended_run: 'uuid?',
} satisfies ColumnTypes;
export type ScheduleFacts = RowOf<typeof factRow>;

// Rights are judged once for each writer and environment, however many schedules they have.
const selectFacts = statement(
  {
    parameters: { account_ids: 'uuid[]', schedule_ids: 'uuid[]', now: 'timestamptz' },
    row: factRow,
  },
  `
  with taken as materialized (
    select s.account_id, s.schedule_id, s.project_id, s.environment_name, s.written_by, s.allows_concurrent
    from unnest($account_ids::uuid[], $schedule_ids::uuid[]) as t (account_id, schedule_id)
    join schedule s on s.account_id = t.account_id and s.schedule_id = t.schedule_id
  ), place as materialized (
    select distinct account_id, project_id, environment_name, written_by as requested_by from taken
  ), judged as materialized (
    select account_id, project_id, environment_name, requested_by, ${isStillPermitted('place')} as is_permitted from place
  )
  select s.schedule_id, j.is_permitted, case when not s.allows_concurrent then ${unendedRun} end as unended_run
  from taken s
  join judged j on j.account_id = s.account_id and j.project_id = s.project_id
    and j.environment_name = s.environment_name and j.requested_by = s.written_by`,
);

/** What is known only now that the schedules are locked: rights, and runs in the way. */
export async function readFacts(
  read: Read,
  rows: readonly DueRow[],
  now: Date,
): Promise<ReadonlyMap<string, ScheduleFacts>> {
  const facts = await read(selectFacts, {
    account_ids: rows.map((row) => row.account_id),
    schedule_ids: rows.map((row) => row.schedule_id),
    now,
  });
  return new Map(facts.map((each) => [each.schedule_id, each]));
}

/** Where a tick leaves its schedule. */
export interface HandledTick {
  accountId: string;
  scheduleId: string;
  tick: Date;
  nextTick: Date | undefined;
  /** When its run started; undefined if it did not run. */
  ranAt: Date | undefined;
  problem: { code: string; detail: string; since: Date } | undefined;
}

const setProblem = statement(
  {
    parameters: {
      account_id: 'uuid',
      schedule_id: 'uuid',
      code: 'text',
      detail: 'text',
      since: 'timestamptz',
    },
  },
  `
  update schedule set problem_code = $code, problem_detail = $detail, problem_since = $since
  where account_id = $account_id and schedule_id = $schedule_id`,
);

/** Says what keeps a tick from being handled. It stays due. */
export function setScheduleProblem(
  tx: Transaction,
  { account_id, schedule_id }: DueId,
  problem: { code: string; detail: string; since: Date },
): void {
  tx.send(setProblem, { account_id, schedule_id, ...problem });
}

const moveAll = statement(
  { parameters: { ticks: 'jsonb', now: 'timestamptz' } },
  `
  update schedule s set last_tick_at = t.tick, next_tick_at = t."nextTick", timed_at = $now, last_run_at = coalesce(t."ranAt", s.last_run_at),
    problem_code = t.code, problem_detail = t.detail, problem_since = t.since
  from jsonb_to_recordset($ticks) as t ("accountId" uuid, "scheduleId" uuid, tick timestamptz, "nextTick" timestamptz,
    "ranAt" timestamptz, code text, detail text, since timestamptz)
  where s.account_id = t."accountId" and s.schedule_id = t."scheduleId"`,
);

export function moveSchedules(tx: Transaction, ticks: readonly HandledTick[], now: Date): void {
  const rows = ticks.map(({ problem, ...tick }) => ({ ...tick, ...problem }));
  tx.send(moveAll, { ticks: JSON.stringify(rows), now });
}
