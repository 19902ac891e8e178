/** The tables `pipeline_execution` and `execution_step`. */
import type {
  EventName,
  ExecutionStatus,
  ExecutionStep,
  PipelineExecution,
  PipelineExecutionDetail,
  SharedArtifact,
  Step,
} from '@headgate/contract';
import {
  changed,
  insertStatement,
  type Parameter,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';

import { insertIntoEvent } from '../../kernel/database/events.ts';
import { problem } from '../../kernel/http/problems.ts';
import { asUuid } from '../../kernel/identifiers.ts';
import { callerSeesAll, guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { WorkMoment } from '../../kernel/work/work.ts';
import { executionStates } from './execution.ts';

export interface ExecutionRow {
  execution_id: string;
  project_id: string;
  environment_name: string;
  pipeline_name: string;
  pipeline_type: 'ORCHESTRATION' | 'TRANSFORMATION';
  version_name: string;
  status: ExecutionStatus;
  trigger: PipelineExecution['trigger'];
  execution_tag: string | null;
  user_name: string | null;
  message: string | null;
  started_at: Date;
  finished_at: Date | null;
}

type DetailRow = ExecutionRow & { shared_artifacts: SharedArtifact[] | null };

const columns = `execution_id, project_id, environment_name, pipeline_name, pipeline_type, version_name, status, trigger,
  execution_tag, user_name, message, started_at, finished_at`;

/**
 * A child pipeline as an execution, by its id: how its step stands, which is not known better than its
 * execution.
 */
const childOfId = `
  from execution_step s
  join pipeline_execution e on e.account_id = s.account_id and e.execution_id = s.execution_id
  where s.account_id = $1 and s.child_pipeline_id = $9 and e.project_id = $3`;
const childStatus = `
  case when s.status = 'RUNNING' and e.finished_at is null then e.status else s.status::execution_status end`;

// The execution that a run belongs to, in the project $3. By it no step shows under a run that another
// execution owns.
const executionOfRun = `(
  select e.execution_id from pipeline_execution e
  where e.account_id = $1 and e.project_id = $3 and e.execution_id = coalesce(
    (select execution_id from pipeline_execution where account_id = $1 and execution_id = $9),
    (select execution_id from execution_step where account_id = $1 and child_pipeline_id = $9)))`;
const environment = `select environment_name from pipeline_execution where account_id = $1 and execution_id = ${executionOfRun}`;

/** Parameters: id of an execution or of a child pipeline. */
export const executionById = guardedRead<DetailRow>(
  `
  select ${columns}, shared_artifacts from pipeline_execution where account_id = $1 and project_id = $3 and execution_id = $9
  union all
  select s.child_pipeline_id, e.project_id, e.environment_name, s.child_pipeline_name,
    case when s.child_pipeline_name like '%.tran.yaml' then 'TRANSFORMATION' else 'ORCHESTRATION' end, e.version_name, ${childStatus},
    e.trigger, e.execution_tag, e.user_name, s.message, s.started_at, s.finished_at, e.shared_artifacts
  ${childOfId}`,
  { environment },
);

/** Parameters: id of an execution or of a child pipeline. */
export const executionStatus = guardedRead<{ status: ExecutionStatus }>(
  `
  select status from pipeline_execution where account_id = $1 and project_id = $3 and execution_id = $9
  union all select ${childStatus} ${childOfId}`,
  { environment },
);

/**
 * Parameters: project, environment, part of the pipeline's name in lower case, statuses, started after,
 * started before (each or null), id of the last item of the answer before or null, limit, schedule or null.
 * The rows are read in their order until there are enough: what share of them a filter leaves cannot be
 * estimated.
 */
export const executionsOfAccount = guardedRead<ExecutionRow>(
  `
  select ${columns} from (
    select ${columns} from pipeline_execution
    where account_id = $1 and execution_id < coalesce($15::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by execution_id desc offset 0
  ) newest
  where (${callerSeesAll}
      or project_id in (
        select g.project_id from role_grant g
        where g.account_id = $1 and g.credential_id = $2 and g.environment_name is null)
      or (project_id, environment_name) in (
        select g.project_id, g.environment_name from role_grant g
        where g.account_id = $1 and g.credential_id = $2 and g.environment_name is not null))
    and ($9::uuid is null or project_id = $9) and ($10::text is null or environment_name = $10)
    and ($11::text is null or strpos(lower(pipeline_name), $11) > 0) and ($12::execution_status[] is null or status = any ($12))
    and ($13::timestamptz is null or started_at > $13) and ($14::timestamptz is null or started_at < $14)
    and $17::text is null
  order by execution_id desc limit $16`,
  { alone: true },
);

const ofRun = `s.account_id = $1 and s.pipeline_run_id = $9 and s.execution_id = ${executionOfRun}`;

/**
 * Parameters: id of an execution or of a child pipeline's run, limit, offset. The total is null when there is
 * none such in the project.
 */
export const stepsOfRun = guardedPage<StepRow, number | null>({
  environment,
  rows: `
    select s.step_id, s.name, s.status, s.message, s.row_count, s.child_pipeline_id, s.child_pipeline_name, s.started_at, s.finished_at
    from execution_step s where ${ofRun}
    order by s.started_at, s.ordinal limit $10 offset $11`,
  total: `
    select case when ${executionOfRun} is not null
      then (select count(*) from execution_step s where ${ofRun})::bigint end as total`,
});

interface StepRow {
  step_id: string;
  name: string;
  status: Step['status'];
  message: string | null;
  row_count: number | null;
  child_pipeline_id: string | null;
  child_pipeline_name: string | null;
  started_at: Date;
  finished_at: Date | null;
}

// Refuses the transaction when its version was disabled, or its environment deleted, since they were read.
const insertOne = insertStatement(
  'pipeline_execution',
  {
    account_id: 'uuid',
    execution_id: 'uuid',
    project_id: 'uuid',
    environment_name: 'text',
    pipeline_name: 'text',
    pipeline_type: 'text',
    version_name: 'text',
    manifest_digest: 'text',
    agent_id: 'uuid',
    execution_tag: 'text',
    scalar_variables: 'jsonb',
    grid_variables: 'jsonb',
    user_name: 'text',
    started_at: 'timestamptz',
    shared_artifacts: 'jsonb',
  },
  {
    derived: {
      status: `case when exists (
        select from artifact_version v
        where v.account_id = given.account_id and v.project_id = given.project_id and v.environment_name = given.environment_name
          and v.version_name = given.version_name and v.enabled
      ) then 'RUNNING'::execution_status else refuse('${changed}')::execution_status end`,
      trigger: "'API'",
      running_tag: 'given.execution_tag',
    },
  },
);

export interface NewExecution {
  executionId: string;
  projectId: string;
  environmentName: string;
  pipelineName: string;
  pipelineType: ExecutionRow['pipeline_type'];
  versionName: string;
  manifestDigest: string;
  agentId: string;
  executionTag: string | undefined;
  /** Of the credential that starts it. */
  userName: string;
  scalarVariables: object;
  gridVariables: object;
  /** What was chosen for its uses of shared pipelines. */
  sharedArtifacts?: readonly SharedArtifact[];
}

export function insertExecution(tx: Transaction, scope: Scope, made: NewExecution, now: Date): void {
  const { executionTag, environmentName } = made;
  tx.onConstraint('pipeline_execution_tag_running', () =>
    problem('execution-tag-running', { tag: executionTag ?? '', environmentName }),
  );
  tx.send(insertOne, [
    scope.accountId,
    made.executionId,
    made.projectId,
    made.environmentName,
    made.pipelineName,
    made.pipelineType,
    made.versionName,
    made.manifestDigest,
    made.agentId,
    executionTag ?? null,
    JSON.stringify(made.scalarVariables),
    JSON.stringify(made.gridVariables),
    made.userName,
    now,
    made.sharedArtifacts === undefined ? null : JSON.stringify(made.sharedArtifacts),
  ]);
}

const selectOne = statement<Pick<ExecutionRow, 'status' | 'environment_name' | 'pipeline_name'>>(`
  select status, environment_name, pipeline_name from pipeline_execution
  where account_id = $1 and project_id = $2 and execution_id = $3`);

/**
 * Throws `execution-not-found`. Whoever changes an execution has locked its work before: then what this reads
 * stays so.
 */
export async function requireExecution(tx: Transaction, scope: Scope, projectId: string, id: string) {
  const [row] = await tx.query(selectOne, [scope.accountId, projectId, asUuid(id)]);
  if (row === undefined) throw problem('execution-not-found', { id });
  return row;
}

const movable = 'account_id = $1 and execution_id = any ($2::uuid[]) and status = any ($6)';
const given = (array: string) => `(${array})[array_position($2::uuid[], execution_id)]`;
const move = `
  update pipeline_execution set status = $3, finished_at = $4, running_tag = case when $4::timestamptz is null then running_tag end,
    message = coalesce(${given('$5::text[]')}, message)
  where ${movable}`;
const moveAll = statement(move);
// The states before are read by the same statement, and so are those of its start.
const moveAllWithEvents = statement(`
  with moving as (select execution_id, project_id, pipeline_name, status from pipeline_execution where ${movable}), moved as (${move})
  ${insertIntoEvent}
  select $1, $7, ${given('$8::uuid[]')}, $9, $10, $11, $12, project_id, 'pipeline-execution', execution_id::text, pipeline_name,
    jsonb_build_object('status', status), jsonb_strip_nulls(jsonb_build_object('status', $3, 'message', ${given('$5::text[]')}))
  from moving`);

export interface ExecutionMove {
  to: ExecutionStatus;
  executions: readonly { id: string; message?: string | undefined }[];
}

/**
 * Moves executions to a status from those that the table allows; the others stay. Their work is locked by the
 * caller, so that nobody else moves them meanwhile.
 */
export function moveExecutions(tx: Transaction, accountId: string, moved: ExecutionMove, now: Date): void {
  tx.send(moveAll, parametersOf(accountId, moved, now));
}

/** The same, with an event for each that moves, which tells its status before and after. */
export function moveExecutionsWithEvents(moment: WorkMoment, moved: ExecutionMove, event: EventName): void {
  const { tx, accountId, source, now, newId } = moment;
  const ids = moved.executions.map(() => newId());
  const by = [source.actorId, source.actorKind, source.requestId];
  tx.send(moveAllWithEvents, [...parametersOf(accountId, moved, now), now, ids, event, ...by]);
}

function parametersOf(accountId: string, { to, executions }: ExecutionMove, now: Date): Parameter[] {
  const finishedAt = executionStates.ended(to) ? now : null;
  const messages = executions.map((each) => each.message ?? null);
  return [
    accountId,
    executions.map((each) => each.id),
    to,
    finishedAt,
    messages,
    executionStates.sources(to),
  ];
}

const upsertSteps = statement(`
  insert into execution_step (account_id, execution_id, step_id, pipeline_run_id, name, component_type, status, message, row_count,
    child_pipeline_id, child_pipeline_name, started_at, finished_at)
  select $1, s."executionId", s."stepId", s."pipelineRunId", s.name, s."componentType", s.status, s.message, s."rowCount",
    s."childId", s."childName", s."startedAt", s."finishedAt"
  from jsonb_to_recordset($2) as s ("executionId" uuid, "stepId" uuid, "pipelineRunId" uuid, name text, "componentType" text,
    status text, message text, "rowCount" bigint, "childId" uuid, "childName" text, "startedAt" timestamptz, "finishedAt" timestamptz)
  on conflict (account_id, execution_id, step_id) do update set status = excluded.status, message = excluded.message,
    row_count = excluded.row_count, child_pipeline_id = coalesce(execution_step.child_pipeline_id, excluded.child_pipeline_id),
    child_pipeline_name = coalesce(execution_step.child_pipeline_name, excluded.child_pipeline_name), finished_at = excluded.finished_at`);

/** Writes steps; of a step that is there more than once only its last state counts. */
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
  tx.send(upsertSteps, [accountId, JSON.stringify(rows)]);
}

const closeSteps = statement(`
  update execution_step set status = $3, message = coalesce(message, $4), finished_at = $5
  where account_id = $1 and execution_id = any ($2::uuid[]) and status = 'RUNNING'`);

/** Ends the steps that were left running when their execution ended without its agent's word. */
export function closeOpenSteps(
  tx: Transaction,
  accountId: string,
  executionIds: readonly string[],
  status: 'FAILED' | 'CANCELLED',
  now: Date,
): void {
  tx.send(closeSteps, [accountId, executionIds, status, 'The execution ended before this step did.', now]);
}

export function presentExecution(row: ExecutionRow): PipelineExecution {
  const execution: PipelineExecution = {
    pipelineExecutionId: row.execution_id,
    pipelineName: row.pipeline_name,
    pipelineType: row.pipeline_type,
    projectId: row.project_id,
    environmentName: row.environment_name,
    versionName: row.version_name,
    status: row.status,
    trigger: row.trigger,
    startedAt: row.started_at.toISOString(),
  };
  if (row.execution_tag !== null) execution.executionTag = row.execution_tag;
  if (row.finished_at !== null) execution.finishedAt = row.finished_at.toISOString();
  if (row.message !== null) execution.message = row.message;
  if (row.user_name !== null) execution.user = row.user_name;
  return execution;
}

export function presentDetail(row: DetailRow): PipelineExecutionDetail {
  const chosen = new Map<string, { sharedPipelineIdPrefix: string; versionName: string }>();
  for (const { sharedPipelineIdPrefix, versionName } of row.shared_artifacts ?? []) {
    if (versionName === undefined) continue;
    const named = { sharedPipelineIdPrefix, versionName };
    chosen.set(JSON.stringify(named), named);
  }
  const sharedPipelines = [...chosen.values()];
  return { ...presentExecution(row), ...(sharedPipelines.length === 0 ? {} : { sharedPipelines }) };
}

export function presentStep(row: StepRow): ExecutionStep {
  const result: ExecutionStep['result'] = { status: row.status, startedAt: row.started_at.toISOString() };
  if (row.finished_at !== null) result.finishedAt = row.finished_at.toISOString();
  if (row.message !== null) result.message = row.message;
  if (row.row_count !== null) result.rowCount = row.row_count;
  const step: ExecutionStep = { id: row.step_id, name: row.name, result };
  if (row.child_pipeline_id !== null && row.child_pipeline_name !== null) {
    step.childPipeline = { id: row.child_pipeline_id, name: row.child_pipeline_name };
  }
  return step;
}
