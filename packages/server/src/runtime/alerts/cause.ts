/** What may raise alerts, each with a rule that it concerns: the columns and the SQL of both kinds of causes. */
import type { AlertConditionType, ExecutionStatus } from '@headgate/contract';
import { type ColumnTypes, type RowOf, typed } from '../../kernel/database/database.ts';

export const causeRow = {
  alert_rule_id: 'uuid',
  project_id: 'uuid',
  name: 'text',
  condition_type: typed<AlertConditionType>('text'),
  minutes: 'integer?',
  factor: 'double precision?',
  webhook_ids: typed<readonly string[]>('uuid[]'),
  emails: typed<readonly string[]>('text[]'),
  /** Null, like the pipeline, for a budget. */
  environment_name: 'text?',
  pipeline_name: 'text?',
  schedule_id: 'uuid?',
  /** Null for a schedule that started no run, and for a budget. */
  execution_id: 'uuid?',
  status: typed<ExecutionStatus | null>('execution_status'),
  message: 'text?',
  seconds: 'double precision?',
  /** The median of the last successful runs of its pipeline; null if there are too few. */
  usual_seconds: 'double precision?',
  /** The last run before it that succeeded or failed did fail. */
  followed_failure: 'boolean',
  schedule_tick: 'timestamptz?',
  /** The present problem of its schedule. */
  problem_code: 'text?',
  problem_detail: 'text?',
  problem_since: 'timestamptz?',
  schedule_name: 'text?',
} satisfies ColumnTypes;
/** A rule and what may raise an alert of it. */
export type Cause = RowOf<typeof causeRow>;

export const ruleColumns = `r.alert_rule_id, r.project_id, r.name, r.condition_type, r.minutes, r.factor,
    r.webhook_ids, r.emails`;

/** SQL condition: the rule `r` is about the pipeline. Either name may lack its extension. */
export const isAboutPipeline = (name: string) => `
    (r.pipeline_name is null or r.pipeline_name = ${name}
      or ${name} in (r.pipeline_name || '.orch.yaml', r.pipeline_name || '.tran.yaml')
      or r.pipeline_name in (${name} || '.orch.yaml', ${name} || '.tran.yaml'))`;

/** SQL of the ended runs of the pipeline and environment of `x`, newest first. */
export const sameRuns = (status: ExecutionStatus) => `
      select p.execution_id, p.started_at, p.finished_at from pipeline_execution p
      where p.account_id = $account_id and p.project_id = x.project_id and p.environment_name = x.environment_name
        and p.pipeline_name = x.pipeline_name and p.status = '${status}'`;

const usualRuns = 20;
const fewestUsualRuns = 3;

/** SQL of the median duration of the newest of these runs; null if there are too few. */
export const usualSeconds = (runs: string) => `(
      select case when count(*) >= ${fewestUsualRuns} then
        percentile_cont(0.5) within group (order by extract(epoch from u.finished_at - u.started_at)) end
      from (${runs} order by p.execution_id desc limit ${usualRuns}) u)::double precision`;
