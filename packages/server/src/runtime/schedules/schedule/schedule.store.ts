/** The table `schedule`. */
import type { Schedule, ScheduleProblem } from '@headgate/contract';
import {
  type ColumnTypes,
  insertStatement,
  type ParameterTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { makeEntityTag } from '../../../kernel/http/if-match.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { toUuid } from '../../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../../kernel/security/guarded-read.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';

type Scalars = Schedule['scalarVariables'];
type Grids = Schedule['gridVariables'];

/** The columns that requests write. */
const writtenColumns = {
  name: 'text',
  version_name: 'text?',
  agent_id: 'uuid?',
  cron_expression: 'text?',
  interval_length: 'integer?',
  interval_unit: 'text?',
  cron_timezone: 'text',
  effective_from: 'timestamptz?',
  enabled: 'boolean',
  allows_concurrent: 'boolean',
  written_by: 'uuid',
  next_tick_at: 'timestamptz?',
  /** When the next tick was computed. */
  timed_at: 'timestamptz?',
  problem_code: 'text?',
  problem_detail: 'text?',
  problem_since: 'timestamptz?',
  version: 'bigint',
} as const satisfies ColumnTypes;

export const scheduleRow = {
  ...writtenColumns,
  schedule_id: 'uuid',
  environment_name: 'text',
  pipeline_name: 'text',
  scalar_variables: typed<Scalars>('jsonb'),
  grid_variables: typed<Grids>('jsonb'),
  last_tick_at: 'timestamptz?',
  last_run_at: 'timestamptz?',
  created_at: 'timestamptz',
  /** Of the principal that wrote it last; null if it was deleted. */
  user_name: 'text?',
} satisfies ColumnTypes;
export type ScheduleRow = RowOf<typeof scheduleRow>;

export const scheduleColumns = `s.schedule_id, s.environment_name, s.name, s.pipeline_name, s.version_name, s.agent_id, s.cron_expression,
  s.interval_length, s.interval_unit, s.cron_timezone, s.effective_from, s.enabled, s.allows_concurrent, s.scalar_variables,
  s.grid_variables, s.written_by, s.next_tick_at, s.timed_at, s.last_tick_at, s.last_run_at, s.problem_code, s.problem_detail, s.problem_since,
  s.version, s.created_at,
  (select p.name from principal p where p.account_id = s.account_id and p.principal_id = s.written_by) as user_name`;

const filtered = `from schedule s
    where s.account_id = $account_id and s.project_id = $project_id
      and ($environment_name::text is null or s.environment_name = $environment_name)
      and ($pipeline_part::text is null or strpos(lower(s.pipeline_name), $pipeline_part) > 0)
      and ($name_part::text is null or strpos(lower(s.name), $name_part) > 0)`;

export const schedulePage = guardedPage(
  {
    parameters: {
      environment_name: 'text?',
      pipeline_part: 'text?',
      name_part: 'text?',
      limit: 'bigint',
      offset: 'bigint',
    },
    row: scheduleRow,
  },
  {
    rows: `select ${scheduleColumns} ${filtered} order by s.schedule_id desc limit $limit offset $offset`,
    total: `select count(*)::bigint as total ${filtered}`,
  },
);

export const scheduleById = guardedRead(
  { parameters: { schedule_id: 'uuid' }, row: scheduleRow },
  `
  select ${scheduleColumns} from schedule s
  where s.account_id = $account_id and s.project_id = $project_id and s.schedule_id = $schedule_id`,
);

/** Also counts the schedules of the project up to a limit, for a new one. */
export const countSchedules = guardedRead(
  { parameters: { most: 'bigint' }, row: { count: 'bigint' } },
  `
  select count(*)::bigint as count from (
    select from schedule where account_id = $account_id and project_id = $project_id limit $most) few`,
);

const lockOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', schedule_id: 'uuid' }, row: scheduleRow },
  `
  select ${scheduleColumns} from schedule s
  where s.account_id = $account_id and s.project_id = $project_id and s.schedule_id = $schedule_id for update of s`,
);

/** Locks a schedule until the end of the transaction; its ticks wait. Throws `schedule-not-found`. */
export async function lockSchedule(tx: Transaction, scope: Scope, projectId: string, id: string) {
  const found = await tx.query(lockOne, {
    account_id: scope.accountId,
    project_id: projectId,
    schedule_id: toUuid(id),
  });
  return requireRow(found, () => problem('schedule-not-found', { id }));
}

const insertOne = insertStatement('schedule', {
  ...writtenColumns,
  account_id: 'uuid',
  project_id: 'uuid',
  schedule_id: 'uuid',
  environment_name: 'text',
  pipeline_name: 'text',
  scalar_variables: 'jsonb',
  grid_variables: 'jsonb',
  created_at: 'timestamptz',
} as const satisfies ParameterTypes);

function refuseTakenName(tx: Transaction, name: string): void {
  tx.onConstraint('schedule_name_taken', () => problem('schedule-name-taken', { name }));
}

export function insertSchedule(tx: Transaction, scope: Scope, projectId: string, row: ScheduleRow): void {
  refuseTakenName(tx, row.name);
  tx.onConstraint('schedule_in_environment', () =>
    problem('environment-not-found', { name: row.environment_name }),
  );
  tx.send(insertOne, {
    ...pickWritten(row),
    account_id: scope.accountId,
    project_id: projectId,
    schedule_id: row.schedule_id,
    environment_name: row.environment_name,
    pipeline_name: row.pipeline_name,
    scalar_variables: JSON.stringify(row.scalar_variables),
    grid_variables: JSON.stringify(row.grid_variables),
    created_at: row.created_at,
  });
}

const updateOne = statement(
  {
    parameters: {
      ...writtenColumns,
      account_id: 'uuid',
      schedule_id: 'uuid',
      scalar_variables: 'jsonb',
      grid_variables: 'jsonb',
    },
  },
  `
  update schedule set ${Object.keys(writtenColumns)
    .map((name) => `${name} = $${name}`)
    .join(', ')}, scalar_variables = $scalar_variables, grid_variables = $grid_variables
  where account_id = $account_id and schedule_id = $schedule_id`,
);

export function updateScheduleRow(tx: Transaction, scope: Scope, row: ScheduleRow): void {
  refuseTakenName(tx, row.name);
  tx.send(updateOne, {
    ...pickWritten(row),
    account_id: scope.accountId,
    schedule_id: row.schedule_id,
    scalar_variables: JSON.stringify(row.scalar_variables),
    grid_variables: JSON.stringify(row.grid_variables),
  });
}

function pickWritten(row: ScheduleRow) {
  const { name, version_name, agent_id, cron_expression, interval_length, interval_unit, cron_timezone } =
    row;
  const { effective_from, enabled, allows_concurrent, written_by, next_tick_at, timed_at, version } = row;
  const { problem_code, problem_detail, problem_since } = row;
  return {
    ...{ name, version_name, agent_id, cron_expression, interval_length, interval_unit, cron_timezone },
    ...{ effective_from, enabled, allows_concurrent, written_by, next_tick_at, timed_at, version },
    ...{ problem_code, problem_detail, problem_since },
  };
}

export const deleteScheduleRow = statement(
  { parameters: { account_id: 'uuid', schedule_id: 'uuid' } },
  'delete from schedule where account_id = $account_id and schedule_id = $schedule_id',
);

const selectBackfill = statement(
  { parameters: { account_id: 'uuid', schedule_id: 'uuid' }, row: { backfill_id: 'uuid' } },
  `
  select backfill_id from backfill
  where account_id = $account_id and schedule_id = $schedule_id and ended_at is null
  order by backfill_id limit 1`,
);

/** The caller has locked the schedule, so that no backfill is created. Throws `schedule-has-backfill`. */
export async function requireNoBackfill(tx: Transaction, scope: Scope, row: ScheduleRow): Promise<void> {
  const key = { account_id: scope.accountId, schedule_id: row.schedule_id };
  const [found] = await tx.query(selectBackfill, key);
  if (found !== undefined) throw problem('schedule-has-backfill', { name: row.name, id: found.backfill_id });
}

export const recordRunNow = statement(
  { parameters: { account_id: 'uuid', schedule_id: 'uuid', at: 'timestamptz' } },
  'update schedule set last_run_at = $at where account_id = $account_id and schedule_id = $schedule_id',
);

/**
 * SQL: the newest run of the schedule `s` that has not ended, or null. Runs of backfills do not
 * count: a backfill limits its own.
 */
export const unendedRun = `(
    select e.execution_id from pipeline_execution e
    where e.account_id = s.account_id and e.schedule_id = s.schedule_id
      and e.status in ('RUNNING', 'CANCELLING', 'UNKNOWN') and e.backfill_id is null
    order by e.execution_id desc limit 1)`;

const selectUnended = statement(
  { parameters: { account_id: 'uuid', schedule_id: 'uuid' }, row: { execution_id: 'uuid?' } },
  `
  select ${unendedRun} as execution_id from schedule s
  where s.account_id = $account_id and s.schedule_id = $schedule_id`,
);

/** The run that is in the way of another one. The caller has locked the schedule. */
export async function findUnendedRun(tx: Transaction, scope: Scope, id: string): Promise<string | undefined> {
  const [row] = await tx.query(selectUnended, { account_id: scope.accountId, schedule_id: id });
  return row?.execution_id ?? undefined;
}

export function presentSchedule(row: ScheduleRow): Schedule {
  const schedule: Schedule = {
    scheduleId: row.schedule_id,
    name: row.name,
    pipelineName: row.pipeline_name,
    environmentName: row.environment_name,
    cronTimezone: row.cron_timezone,
    scheduleEnabled: row.enabled,
    allowConcurrentExecutions: row.allows_concurrent,
    scalarVariables: row.scalar_variables,
    gridVariables: row.grid_variables,
  };
  if (row.version_name !== null) schedule.versionName = row.version_name;
  if (row.agent_id !== null) schedule.agentId = row.agent_id;
  if (row.cron_expression !== null) schedule.cronExpression = row.cron_expression;
  if (row.interval_length !== null && row.interval_unit !== null)
    schedule.intervalExpression = { interval: row.interval_length, unit: row.interval_unit };
  if (row.effective_from !== null) schedule.effectiveFrom = row.effective_from.toISOString();
  if (row.last_run_at !== null) schedule.lastRunAt = row.last_run_at.toISOString();
  if (row.next_tick_at !== null) schedule.nextRunAt = row.next_tick_at.toISOString();
  if (row.user_name !== null) schedule.user = row.user_name;
  const found = presentProblem(row);
  if (found !== undefined) schedule.problem = found;
  return schedule;
}

function presentProblem(row: ScheduleRow): ScheduleProblem | undefined {
  const { problem_code: code, problem_detail: detail, problem_since: since } = row;
  if (code === null || detail === null || since === null) return undefined;
  return { code, detail, since: since.toISOString() };
}

/** Ticks do not change the tag, so that a schedule that often runs can be written with If-Match. */
export function renderScheduleEtag({ schedule_id: id, version }: ScheduleRow): string {
  return makeEntityTag(id, version);
}
