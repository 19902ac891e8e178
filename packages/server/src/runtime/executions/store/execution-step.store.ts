/** The table `execution_step`. */
import type { ExecutionStep, Step, StepProgress } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { guardedPage } from '../../../kernel/security/guarded-read.ts';
import { environmentOfRun, executionOfRun } from './execution.store.ts';

const stepRow = {
  step_id: 'uuid',
  name: 'text',
  status: typed<Step['status']>('text'),
  message: 'text?',
  row_count: 'bigint?',
  sql: 'text?',
  progress: typed<StepProgress | null>('jsonb'),
  attempt: 'integer?',
  child_pipeline_id: 'uuid?',
  child_pipeline_name: 'text?',
  started_at: 'timestamptz',
  finished_at: 'timestamptz?',
} satisfies ColumnTypes;
type StepRow = RowOf<typeof stepRow>;

const ofRun = `s.account_id = $account_id and s.pipeline_run_id = $run_id and s.execution_id = ${executionOfRun}`;

/** The total is null if the project has no such run. */
export const stepsOfRun = guardedPage(
  {
    parameters: { run_id: 'uuid', limit: 'bigint', offset: 'bigint' },
    row: stepRow,
    totalType: 'bigint?',
    environment: environmentOfRun,
  },
  {
    rows: `
    select s.step_id, s.name, s.status, s.message, s.row_count, s.sql, s.progress, s.attempt, s.child_pipeline_id, s.child_pipeline_name, s.started_at, s.finished_at
    from execution_step s where ${ofRun}
    order by s.started_at, s.ordinal limit $limit offset $offset`,
    total: `
    select case when ${executionOfRun} is not null
      then (select count(*) from execution_step s where ${ofRun})::bigint end as total`,
  },
);

const upsertSteps = statement(
  { parameters: { account_id: 'uuid', steps: 'jsonb' } },
  `
  insert into execution_step (account_id, execution_id, step_id, pipeline_run_id, name, component_type, status, message, row_count, sql, progress,
    child_pipeline_id, child_pipeline_name, started_at, finished_at, attempt, restart)
  select $account_id, s."executionId", s."stepId", s."pipelineRunId", s.name, s."componentType", s.status,
    s.message, s."rowCount", s.sql, s.progress,
    s."childId", s."childName", s."startedAt", s."finishedAt", s.attempt, s.restart
  from jsonb_to_recordset($steps) as s ("executionId" uuid, "stepId" uuid, "pipelineRunId" uuid, name text,
    "componentType" text,
    status text, message text, "rowCount" bigint, sql text, progress jsonb, "childId" uuid, "childName" text, "startedAt" timestamptz, "finishedAt" timestamptz,
    attempt integer, restart jsonb)
  on conflict (account_id, execution_id, step_id) do update set status = excluded.status, message = excluded.message,
    row_count = excluded.row_count, sql = excluded.sql, progress = excluded.progress, child_pipeline_id = coalesce(execution_step.child_pipeline_id, excluded.child_pipeline_id),
    child_pipeline_name = coalesce(execution_step.child_pipeline_name, excluded.child_pipeline_name), finished_at = excluded.finished_at, restart = excluded.restart`,
);

/** Writes steps. If a step occurs more than once, its last state counts. */
export function writeSteps(
  tx: Transaction,
  accountId: string,
  steps: readonly (Step & { executionId: string })[],
): void {
  const last = new Map(steps.map((step) => [`${step.executionId} ${step.stepId}`, step]));
  const rows = [...last.values()].map(({ childPipeline, ...step }) => ({
    ...step,
    childId: childPipeline?.id,
    childName: childPipeline?.name,
  }));
  tx.send(upsertSteps, { account_id: accountId, steps: JSON.stringify(rows) });
}

const closeSteps = statement(
  {
    parameters: {
      account_id: 'uuid',
      execution_ids: 'uuid[]',
      status: 'text',
      message: 'text',
      finished_at: 'timestamptz',
    },
  },
  `
  update execution_step set status = $status, message = concat_ws(e'\\n', left(message, 9000), $message::text), progress = null, finished_at = $finished_at
  where account_id = $account_id and execution_id = any ($execution_ids::uuid[]) and status = 'RUNNING'`,
);

/** Ends steps that are still running when their execution ends without a report of its agent. */
export function closeOpenSteps(
  tx: Transaction,
  accountId: string,
  executionIds: readonly string[],
  { status, message }: { status: 'FAILED' | 'CANCELLED'; message: string },
  now: Date,
): void {
  tx.send(closeSteps, {
    account_id: accountId,
    execution_ids: executionIds,
    status,
    message,
    finished_at: now,
  });
}

export function presentStep(row: StepRow): ExecutionStep {
  const result: ExecutionStep['result'] = { status: row.status, startedAt: row.started_at.toISOString() };
  if (row.finished_at !== null) result.finishedAt = row.finished_at.toISOString();
  if (row.message !== null) result.message = row.message;
  if (row.row_count !== null) result.rowCount = row.row_count;
  if (row.attempt !== null) result.attempt = row.attempt;
  if (row.progress !== null) result.progress = row.progress;
  if (row.sql !== null) result.sql = row.sql;
  const step: ExecutionStep = { id: row.step_id, name: row.name, result };
  if (row.child_pipeline_id !== null && row.child_pipeline_name !== null) {
    step.childPipeline = { id: row.child_pipeline_id, name: row.child_pipeline_name };
  }
  return step;
}
