/**
 * The list of executions. Most lists are full after the newest few hundred executions of the account. When
 * they are not, the filter is selective, and the newest executions of each place are looked up by an index.
 *
 * - **place**: a pipeline in an environment of a project. An account has few of them, however many executions.
 */
import type { ExecutionStatus } from '@headgate/contract';
import { type ParametersOf, typed } from '../../../kernel/database/database.ts';
import { toUuid } from '../../../kernel/identifiers.ts';
import {
  callerSeesAll,
  type GuardedRead,
  guardedRead,
  inEffect,
} from '../../../kernel/security/guarded-read.ts';
import { type ExecutionRow, executionColumns, executionRow } from './execution.store.ts';

/** The newest executions that the first look reads. */
const firstLook = 300;
const firstId = '00000000-0000-0000-0000-000000000000';
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const parameters = {
  in_project_id: 'uuid?',
  environment_name: 'text?',
  name_part: 'text?',
  statuses: typed<readonly ExecutionStatus[] | null>('execution_status[]'),
  started_after: typed<string | null>('timestamptz'),
  started_before: typed<string | null>('timestamptz'),
  /** The bounds of the ids, which are in the order of the starts. */
  from_id: 'uuid',
  before_id: 'uuid',
  limit: 'bigint',
} as const;

const callerSees = `(${callerSeesAll}
    or project_id in (
      select g.project_id from granted_role g
      where g.account_id = $account_id and g.principal_id = $principal_id and g.environment_name is null
        and ${inEffect('g')})
    or (project_id, environment_name) in (
      select g.project_id, g.environment_name from granted_role g
      where g.account_id = $account_id and g.principal_id = $principal_id and g.environment_name is not null
        and ${inEffect('g')}))`;
const isPlaceWanted = `${callerSees}
  and ($in_project_id::uuid is null or project_id = $in_project_id)
  and ($environment_name::text is null or environment_name = $environment_name)
  and ($name_part::text is null or strpos(lower(pipeline_name), $name_part) > 0)`;
const isStartWanted = `
  ($started_after::timestamptz is null or started_at > $started_after)
  and ($started_before::timestamptz is null or started_at < $started_before)`;
const isIdWanted = 'execution_id >= $from_id and execution_id < $before_id';

const newestExecutions = guardedRead(
  { parameters, row: executionRow, alone: true },
  `
  select ${executionColumns} from (
    select ${executionColumns} from pipeline_execution
    where account_id = $account_id and ${isIdWanted}
    order by execution_id desc limit ${firstLook}
  ) newest
  where ${isPlaceWanted} and ${isStartWanted}
    and ($statuses::execution_status[] is null or status = any ($statuses))
  order by execution_id desc limit $limit`,
);

const inProjects = `project_id >= coalesce($in_project_id::uuid, '${firstId}') and project_id <= coalesce($in_project_id::uuid, '${lastId}')`;

// Finds the places one after the other, each by one lookup in the index.
const executionsByPlace = guardedRead(
  { parameters, row: executionRow, alone: true },
  `
  with recursive place as (
    (select project_id, environment_name, pipeline_name from pipeline_execution
      where account_id = $account_id and ${inProjects}
      order by project_id, environment_name, pipeline_name limit 1)
    union all
    select next.* from place p cross join lateral (
      select project_id, environment_name, pipeline_name from pipeline_execution
      where account_id = $account_id and ${inProjects}
        and (project_id, environment_name, pipeline_name) > (p.project_id, p.environment_name, p.pipeline_name)
      order by project_id, environment_name, pipeline_name limit 1) next
  ), wanted as materialized (
    select project_id, environment_name, pipeline_name from place where ${isPlaceWanted}
  )
  select found.* from wanted w
  cross join unnest(coalesce($statuses::execution_status[], enum_range(null::execution_status))) as s (wanted_status)
  cross join lateral (
    select ${executionColumns} from pipeline_execution
    where account_id = $account_id and project_id = w.project_id and environment_name = w.environment_name
      and pipeline_name = w.pipeline_name and status = s.wanted_status and ${isIdWanted} and ${isStartWanted}
    order by execution_id desc limit $limit) found
  order by found.execution_id desc limit $limit`,
);

type Parameters = ParametersOf<typeof parameters>;

// One lookup in the index for each status.
const selectOf = (owner: string) => `
  select found.* from unnest(coalesce($statuses::execution_status[], enum_range(null::execution_status))) as s (wanted_status)
  cross join lateral (
    select ${executionColumns} from pipeline_execution
    where account_id = $account_id and ${owner} and status = s.wanted_status
      and ${isPlaceWanted} and ${isIdWanted} and ${isStartWanted}
    order by execution_id desc limit $limit) found
  order by found.execution_id desc limit $limit`;

const executionsOfSchedule = guardedRead(
  { parameters: { ...parameters, schedule_id: 'uuid' }, row: executionRow, alone: true },
  selectOf('schedule_id = $schedule_id'),
);

const executionsOfBackfill = guardedRead(
  {
    parameters: { ...parameters, backfill_id: 'uuid', schedule_id: 'uuid?' },
    row: executionRow,
    alone: true,
  },
  selectOf('backfill_id = $backfill_id and ($schedule_id::uuid is null or schedule_id = $schedule_id)'),
);

type Rows = <Given>(query: GuardedRead<ExecutionRow, Given>, input: Given) => Promise<ExecutionRow[]>;

/** The executions of a page: from the newest ones if these fill it. */
export async function listExecutions(
  rows: Rows,
  { scheduleId, backfillId }: { scheduleId?: string | undefined; backfillId?: string | undefined },
  input: Parameters,
): Promise<ExecutionRow[]> {
  const schedule = scheduleId === undefined ? null : toUuid(scheduleId);
  if (backfillId !== undefined)
    return rows(executionsOfBackfill, { ...input, backfill_id: toUuid(backfillId), schedule_id: schedule });
  if (schedule !== null) return rows(executionsOfSchedule, { ...input, schedule_id: schedule });
  const newest = await rows(newestExecutions, input);
  return newest.length >= input.limit ? newest : rows(executionsByPlace, input);
}

/** The bounds of ids for times of start and a paging token. A time that is no date gives no bound. */
export function computeIdBounds(
  startedAfter: string | undefined,
  startedBefore: string | undefined,
  token: string | undefined,
): { from_id: string; before_id: string } {
  const before = startedBefore === undefined ? lastId : findFirstIdAt(Date.parse(startedBefore) + 1);
  return {
    from_id: startedAfter === undefined ? firstId : (findFirstIdAt(Date.parse(startedAfter)) ?? firstId),
    before_id: [before ?? lastId, token?.toLowerCase() ?? lastId].sort()[0] ?? lastId,
  };
}

/** The smallest UUID of version 7 at a time. */
function findFirstIdAt(milliseconds: number): string | undefined {
  if (Number.isNaN(milliseconds)) return undefined;
  const time = Math.min(Math.max(milliseconds, 0), 2 ** 48 - 1);
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}${firstId.slice(13)}`;
}
