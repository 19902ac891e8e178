/** The table `backfill`. */
import {
  type Backfill,
  type BackfillCounts,
  type BackfillStatus,
  backfillLimit,
  type ExecutionStatus,
} from '@headgate/contract';
import {
  type ColumnTypes,
  insertStatement,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

export const backfillRow = {
  backfill_id: 'uuid',
  schedule_id: 'uuid',
  environment_name: 'text',
  status: typed<BackfillStatus>('text'),
  range_from: 'timestamptz',
  range_to: 'timestamptz',
  concurrency: 'integer',
  tick_count: 'integer',
  started_count: 'integer',
  first_tick: 'timestamptz',
  last_tick: 'timestamptz',
  requested_by: 'uuid',
  user_name: 'text',
  problem_code: 'text?',
  problem_detail: 'text?',
  problem_since: 'timestamptz?',
  created_at: 'timestamptz',
  ended_at: 'timestamptz?',
} satisfies ColumnTypes;
export type BackfillRow = RowOf<typeof backfillRow>;

export const backfillColumns = `b.backfill_id, b.schedule_id, b.environment_name, b.status, b.range_from, b.range_to, b.concurrency,
  b.tick_count, b.started_count, b.ticks[1] as first_tick, b.ticks[b.tick_count] as last_tick, b.requested_by, b.user_name,
  b.problem_code, b.problem_detail, b.problem_since, b.created_at, b.ended_at`;

/** By the status of their executions. */
export type RunCounts = Partial<Record<ExecutionStatus, number>>;

/** SQL: how many runs of the backfill `b` have each status. */
export const countRuns = `(
    select coalesce(jsonb_object_agg(c.status, c.runs), '{}') from (
      select e.status, count(*) as runs from pipeline_execution e
      where e.account_id = b.account_id and e.backfill_id = b.backfill_id group by e.status) c)`;

/** SQL: how many runs of the backfill `b` have not ended. */
export const countUnended = `(
    select count(*) from pipeline_execution e
    where e.account_id = b.account_id and e.backfill_id = b.backfill_id and e.status in ('RUNNING', 'CANCELLING', 'UNKNOWN'))`;

const ofSchedule = `from backfill b
    where b.account_id = $account_id and b.project_id = $project_id and b.schedule_id = $schedule_id`;

const hasStatus = '($status::text is null or b.status = $status)';
export const backfillPage = guardedPage(
  {
    parameters: { schedule_id: 'uuid', status: 'text?', limit: 'bigint', offset: 'bigint' },
    row: backfillRow,
    totalType: 'bigint?',
  },
  {
    rows: `select ${backfillColumns} ${ofSchedule} and ${hasStatus} order by b.backfill_id desc limit $limit offset $offset`,
    // Null: the project has no such schedule.
    total: `select case when exists (
        select from schedule where account_id = $account_id and project_id = $project_id and schedule_id = $schedule_id)
      then (select count(*) ${ofSchedule} and ${hasStatus})::bigint end as total`,
  },
);

const byId = `${ofSchedule} and b.backfill_id = $backfill_id`;

export const backfillById = guardedRead(
  {
    parameters: { schedule_id: 'uuid', backfill_id: 'uuid' },
    row: {
      ...backfillRow,
      counts: typed<BackfillCounts | null>('jsonb'),
      runs: typed<RunCounts | null>('jsonb'),
    },
  },
  `
  select ${backfillColumns}, b.counts, case when b.counts is null then ${countRuns} end as runs ${byId}`,
);

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', schedule_id: 'uuid', backfill_id: 'uuid' },
    row: { ...backfillRow, schedule_name: 'text' },
  },
  `
  select ${backfillColumns}, (
    select s.name from schedule s where s.account_id = b.account_id and s.schedule_id = b.schedule_id) as schedule_name
  ${byId} for update of b`,
);

/** Locks a backfill: no tick of it starts until the end of the transaction. Throws `backfill-not-found`. */
export async function lockBackfill(
  tx: Transaction,
  scope: Scope,
  { projectId, scheduleId, backfillId }: { projectId: string; scheduleId: string; backfillId: string },
) {
  const found = await tx.query(lockOne, {
    account_id: scope.accountId,
    project_id: projectId,
    schedule_id: toUuid(scheduleId),
    backfill_id: toUuid(backfillId),
  });
  return requireRow(found, () => problem('backfill-not-found', { id: backfillId }));
}

const countUnderWay = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', most: 'bigint' }, row: { count: 'bigint' } },
  `
  select count(*)::bigint as count from (
    select from backfill where account_id = $account_id and project_id = $project_id and ended_at is null limit $most) few`,
);

/** Throws `too-many-backfills` if the project has as many under way as it may have. */
export async function requireRoomForBackfill(
  tx: Transaction,
  scope: Scope,
  projectId: string,
): Promise<void> {
  const parameters = { account_id: scope.accountId, project_id: projectId, most: backfillLimit };
  const [few] = await tx.query(countUnderWay, parameters);
  if (few !== undefined && few.count >= backfillLimit)
    throw problem('too-many-backfills', { limit: backfillLimit });
}

const insertOne = insertStatement(
  'backfill',
  {
    account_id: 'uuid',
    backfill_id: 'uuid',
    project_id: 'uuid',
    schedule_id: 'uuid',
    environment_name: 'text',
    range_from: 'timestamptz',
    range_to: 'timestamptz',
    concurrency: 'integer',
    ticks: 'timestamptz[]',
    tick_count: 'integer',
    requested_by: 'uuid',
    user_name: 'text',
    created_at: 'timestamptz',
  },
  { derived: { status: "'RUNNING'", started_count: '0', next_round_at: 'given.created_at' } },
);

export interface NewBackfill {
  backfillId: string;
  projectId: string;
  scheduleId: string;
  environmentName: string;
  from: Date;
  to: Date;
  concurrency: number;
  ticks: Date[];
  userName: string;
}

export function insertBackfill(tx: Transaction, scope: Scope, made: NewBackfill, now: Date): void {
  tx.send(insertOne, {
    account_id: scope.accountId,
    backfill_id: made.backfillId,
    project_id: made.projectId,
    schedule_id: made.scheduleId,
    environment_name: made.environmentName,
    range_from: made.from,
    range_to: made.to,
    concurrency: made.concurrency,
    ticks: made.ticks,
    tick_count: made.ticks.length,
    requested_by: scope.actorId,
    user_name: made.userName,
    created_at: now,
  });
}

/** How a backfill stands after a round or a request. */
export interface MovedBackfill {
  accountId: string;
  backfillId: string;
  status: BackfillStatus;
  startedCount: number;
  /** Undefined if it has ended. */
  nextRoundAt: Date | undefined;
  problem: { code: string; detail: string; since: Date } | undefined;
  /** Set if it has ended. */
  counts: BackfillCounts | undefined;
}

const moveAll = statement(
  { parameters: { moved: 'jsonb', now: 'timestamptz' } },
  `
  update backfill b set status = m.status, started_count = m."startedCount", next_round_at = m."nextRoundAt",
    problem_code = m.code, problem_detail = m.detail, problem_since = m.since, counts = m.counts,
    ended_at = case when m.counts is not null then $now::timestamptz end
  from jsonb_to_recordset($moved) as m ("accountId" uuid, "backfillId" uuid, status text, "startedCount" integer,
    "nextRoundAt" timestamptz, code text, detail text, since timestamptz, counts jsonb)
  where b.account_id = m."accountId" and b.backfill_id = m."backfillId"`,
);

/** The caller has locked them. */
export function moveBackfills(tx: Transaction, moved: readonly MovedBackfill[], now: Date): void {
  if (moved.length === 0) return;
  const rows = moved.map(({ problem: why, ...rest }) => ({ ...rest, ...why }));
  tx.send(moveAll, { moved: JSON.stringify(rows), now });
}

type StoredProblem = Pick<BackfillRow, 'problem_code' | 'problem_detail' | 'problem_since'>;

export function readProblem({
  problem_code: code,
  problem_detail: detail,
  problem_since: since,
}: StoredProblem) {
  return code === null || detail === null || since === null ? undefined : { code, detail, since };
}

export function presentBackfill(row: BackfillRow): Backfill {
  const found = readProblem(row);
  const backfill: Backfill = {
    backfillId: row.backfill_id,
    scheduleId: row.schedule_id,
    status: row.status,
    from: row.range_from.toISOString(),
    to: row.range_to.toISOString(),
    concurrency: row.concurrency,
    ticks: row.tick_count,
    startedTicks: row.started_count,
    firstTick: row.first_tick.toISOString(),
    lastTick: row.last_tick.toISOString(),
    createdAt: row.created_at.toISOString(),
    user: row.user_name,
  };
  if (row.ended_at !== null) backfill.endedAt = row.ended_at.toISOString();
  if (found !== undefined) backfill.problem = { ...found, since: found.since.toISOString() };
  return backfill;
}
