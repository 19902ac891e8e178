/**
 * Retention of executions: their steps, log lines and variables are deleted first. Executions under way are
 * never old. The id of an execution contains its start time, so the primary keys serve the search. Steps
 * are deleted before their execution, because a cascade would have no limit.
 */
import type { ManifestUse } from '../../delivery/blobs/index.ts';
import { firstIdAt, oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

// Scalar subqueries, evaluated row by row in key order: with a join, the planner could collect and sort all
// old rows first.
const endedBefore = (time: string) => `r.execution_id < ${firstIdAt(time)} and (
    select e.finished_at from pipeline_execution e where e.account_id = r.account_id and e.execution_id = r.execution_id) < ${time}`;

const oldSteps = oldRows({
  table: 'execution_step',
  key: ['execution_id', 'step_id'],
  cursorType: 'uuid',
  old: endedBefore,
});

const oldExecutions = oldRows({
  table: 'pipeline_execution',
  key: ['execution_id'],
  cursorType: 'uuid',
  old: (time) => `r.execution_id < ${firstIdAt(time)} and r.finished_at < ${time} and (
    select true from execution_step s where s.account_id = r.account_id and s.execution_id = r.execution_id limit 1) is null`,
});

const oldLines = oldRows({
  table: 'execution_log_line',
  key: ['execution_id', 'sequence'],
  cursorType: 'uuid',
  old: endedBefore,
});
const oldVariables = oldRows({
  table: 'execution_variables',
  key: ['execution_id', 'pipeline_run_id'],
  cursorType: 'uuid',
  old: endedBefore,
});

/** Undefined to keep forever. */
export interface KeptDays {
  executionDays: number | undefined;
  logDays: number | undefined;
}

/** How long steps are kept; undefined: forever. */
export function findStepDays({ executionDays, logDays }: KeptDays): number | undefined {
  const shorter = Math.min(executionDays ?? Number.POSITIVE_INFINITY, logDays ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(shorter) ? shorter : undefined;
}

/** In this order: nothing outlives its execution. */
export function createExecutionRetention(retained: KeptDays): RetentionRule[] {
  const { executionDays } = retained;
  const days = findStepDays(retained);
  return [
    { kind: 'execution-log-lines', days, ...oldLines },
    { kind: 'execution-variables', days, ...oldVariables },
    { kind: 'execution-logs', days, ...oldSteps },
    { kind: 'executions', days: executionDays, ...oldExecutions },
  ];
}

const underWay = (state: string) => `
  select e.manifest_digest from work w
  join pipeline_execution e on e.account_id = w.account_id and e.execution_id = w.work_id
  where w.account_id = $account_id and ${state}
  union all
  select s ->> 'artifactDigest' from work w
  join pipeline_execution e on e.account_id = w.account_id and e.execution_id = w.work_id
  cross join jsonb_array_elements(e.shared_artifacts) s
  where w.account_id = $account_id and ${state} and s ? 'artifactDigest'`;

/**
 * Executions that are queued or under way need their files even if their version was deleted. Evaluated
 * once for each statement, by the two indexes of such work.
 */
export const executionsUse: ManifestUse = `m.digest = any (array(
  ${underWay("w.state = 'queued'")} union all ${underWay("w.state in ('held', 'silent')")}))`;
