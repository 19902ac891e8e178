/** The table `pipeline_execution`. */
import type {
  EventName,
  ExecutionStatus,
  PipelineExecution,
  PipelineExecutionDetail,
  RestartPlan,
  SharedArtifact,
} from '@headgate/contract';
import {
  type ColumnTypes,
  conflictCode,
  insertStatement,
  type ParameterTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { insertIntoEvent } from '../../../kernel/database/events.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { toUuid } from '../../../kernel/identifiers.ts';
import { guardedRead } from '../../../kernel/security/guarded-read.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';
import type { WorkMoment } from '../../../kernel/work/work.ts';
import { executionStates } from './execution.ts';

export const executionRow = {
  execution_id: 'uuid',
  project_id: 'uuid',
  environment_name: 'text',
  pipeline_name: 'text',
  pipeline_type: typed<'ORCHESTRATION' | 'TRANSFORMATION'>('text'),
  version_name: 'text',
  status: typed<ExecutionStatus>('execution_status'),
  trigger: typed<PipelineExecution['trigger']>('text'),
  execution_tag: 'text?',
  user_name: 'text?',
  message: 'text?',
  started_at: 'timestamptz',
  finished_at: 'timestamptz?',
  restart_of: 'uuid?',
  schedule_id: 'uuid?',
  schedule_tick: 'timestamptz?',
  backfill_id: 'uuid?',
} satisfies ColumnTypes;
export type ExecutionRow = RowOf<typeof executionRow>;

const detailRow = {
  ...executionRow,
  shared_artifacts: typed<SharedArtifact[] | null>('jsonb'),
} satisfies ColumnTypes;
type DetailRow = RowOf<typeof detailRow>;

export const executionColumns = `execution_id, project_id, environment_name, pipeline_name, pipeline_type, version_name, status, trigger,
  execution_tag, user_name, message, started_at, finished_at, restart_of, schedule_id, schedule_tick, backfill_id`;

/**
 * A child pipeline as an execution, by its id. Its status is that of its step, or of its execution while
 * the step is unfinished.
 */
const childOfId = `
  from execution_step s
  join pipeline_execution e on e.account_id = s.account_id and e.execution_id = s.execution_id
  where s.account_id = $account_id and s.child_pipeline_id = $run_id and e.project_id = $project_id`;
const childStatus = `
  case when s.status = 'RUNNING' and e.finished_at is null then e.status else s.status::execution_status end`;

// The execution of a run, in the project `$project_id`. It hides steps whose run belongs to another
// execution.
export const executionOfRun = `(
  select e.execution_id from pipeline_execution e
  where e.account_id = $account_id and e.project_id = $project_id and e.execution_id = coalesce(
    (select execution_id from pipeline_execution where account_id = $account_id and execution_id = $run_id),
    (select execution_id from execution_step where account_id = $account_id and child_pipeline_id = $run_id)))`;
export const environmentOfRun = `select environment_name from pipeline_execution where account_id = $account_id and execution_id = ${executionOfRun}`;

/** `run_id`: the id of an execution or of a child pipeline. */
export const executionById = guardedRead(
  {
    parameters: { run_id: 'uuid' },
    row: detailRow,
    environment: environmentOfRun,
  },
  `
  select ${executionColumns}, shared_artifacts from pipeline_execution where account_id = $account_id
    and project_id = $project_id and execution_id = $run_id
  union all
  select s.child_pipeline_id, e.project_id, e.environment_name, s.child_pipeline_name,
    case when s.child_pipeline_name like '%.tran.yaml' then 'TRANSFORMATION' else 'ORCHESTRATION' end, e.version_name, ${childStatus},
    e.trigger, e.execution_tag, e.user_name, s.message, s.started_at, s.finished_at, null, e.schedule_id, e.schedule_tick, e.backfill_id, e.shared_artifacts
  ${childOfId}`,
);

/** SQL: the status of an execution or a child pipeline, in the project `$project_id`. */
export const statusOfRun = `
  select status from pipeline_execution where account_id = $account_id and project_id = $project_id
    and execution_id = $run_id
  union all select ${childStatus} ${childOfId}`;

export const executionStatus = guardedRead(
  {
    parameters: { run_id: 'uuid' },
    row: { status: typed<ExecutionStatus>('execution_status') },
    environment: environmentOfRun,
  },
  statusOfRun,
);

// Refuses the transaction if the version was disabled, or the environment deleted, since they were read.
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
    execution_tag: 'text?',
    scalar_variables: 'jsonb',
    grid_variables: 'jsonb',
    user_name: 'text',
    started_at: 'timestamptz',
    shared_artifacts: 'jsonb?',
    restart_of: 'uuid?',
    restart: 'jsonb?',
    schedule_id: 'uuid?',
    schedule_tick: 'timestamptz?',
  },
  {
    derived: {
      status: `case when exists (
        select from artifact_version v
        where v.account_id = given.account_id and v.project_id = given.project_id and v.environment_name = given.environment_name
          and v.version_name = given.version_name and v.enabled
      ) then 'RUNNING'::execution_status else refuse('${conflictCode}')::execution_status end`,
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
  /** The name of the credential that starts it. */
  userName: string;
  scalarVariables: object;
  gridVariables: object;
  /** The chosen versions of shared pipelines. */
  sharedArtifacts?: readonly SharedArtifact[];
  restartOf?: string;
  restart?: RestartPlan;
  /** A restart is of the same tick as what it continues. */
  ofSchedule?: { id: string; tick: Date };
}

export function insertExecution(tx: Transaction, scope: Scope, made: NewExecution, now: Date): void {
  const { executionTag, environmentName } = made;
  tx.onConstraint('pipeline_execution_tag_running', () =>
    problem('execution-tag-running', { tag: executionTag ?? '', environmentName }),
  );
  tx.send(insertOne, {
    account_id: scope.accountId,
    execution_id: made.executionId,
    project_id: made.projectId,
    environment_name: made.environmentName,
    pipeline_name: made.pipelineName,
    pipeline_type: made.pipelineType,
    version_name: made.versionName,
    manifest_digest: made.manifestDigest,
    agent_id: made.agentId,
    execution_tag: executionTag ?? null,
    scalar_variables: JSON.stringify(made.scalarVariables),
    grid_variables: JSON.stringify(made.gridVariables),
    user_name: made.userName,
    started_at: now,
    shared_artifacts: made.sharedArtifacts === undefined ? null : JSON.stringify(made.sharedArtifacts),
    restart_of: made.restartOf ?? null,
    restart: made.restart === undefined ? null : JSON.stringify(made.restart),
    schedule_id: made.ofSchedule?.id ?? null,
    schedule_tick: made.ofSchedule?.tick ?? null,
  });
}

const selectOne = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', execution_id: 'uuid' },
    row: {
      status: typed<ExecutionStatus>('execution_status'),
      environment_name: 'text',
      pipeline_name: 'text',
    },
  },
  `
  select status, environment_name, pipeline_name from pipeline_execution
  where account_id = $account_id and project_id = $project_id and execution_id = $execution_id`,
);

/**
 * Throws `execution-not-found`. Callers lock the execution's work before they change the execution, so the
 * row that this reads stays valid.
 */
export async function requireExecution(tx: Transaction, scope: Scope, projectId: string, id: string) {
  const found = await tx.query(selectOne, {
    account_id: scope.accountId,
    project_id: projectId,
    execution_id: toUuid(id),
  });
  return requireRow(found, () => problem('execution-not-found', { id }));
}

const movable =
  'account_id = $account_id and execution_id = any ($execution_ids::uuid[]) and status = any ($from_statuses)';
const pickByExecution = (array: string) => `(${array})[array_position($execution_ids::uuid[], execution_id)]`;
const move = `
  update pipeline_execution set status = $status, finished_at = $finished_at,
    running_tag = case when $finished_at::timestamptz is null then running_tag end,
    message = coalesce(${pickByExecution('$messages::text[]')}, message)
  where ${movable}`;
const moveParameters = {
  account_id: 'uuid',
  execution_ids: 'uuid[]',
  status: typed<ExecutionStatus>('execution_status'),
  finished_at: 'timestamptz?',
  messages: typed<readonly (string | null)[]>('text[]'),
  from_statuses: typed<readonly ExecutionStatus[]>('execution_status[]'),
} satisfies ParameterTypes;
const moveAll = statement({ parameters: moveParameters }, move);
// The same statement reads the earlier states.
const moveAllWithEvents = statement(
  {
    parameters: {
      ...moveParameters,
      occurred_at: 'timestamptz',
      event_ids: 'uuid[]',
      event_name: 'text',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
    },
  },
  `
  with moving as (select execution_id, project_id, environment_name, pipeline_name, status from pipeline_execution where ${movable}), moved as (${move})
  ${insertIntoEvent}
  select $account_id, $occurred_at, ${pickByExecution('$event_ids::uuid[]')}, $event_name, $actor_id, $actor_kind,
    $request_id, project_id, environment_name, 'pipeline-execution', execution_id::text, pipeline_name,
    jsonb_build_object('status', status), jsonb_strip_nulls(jsonb_build_object('status', $status, 'message',
      ${pickByExecution('$messages::text[]')}))
  from moving`,
);

export interface ExecutionMove {
  to: ExecutionStatus;
  executions: readonly { id: string; message?: string | undefined }[];
}

/**
 * Moves executions to a status, as far as the state table allows; others stay unchanged. The caller has
 * locked their work, so no other transaction moves them.
 */
export function moveExecutions(tx: Transaction, accountId: string, moved: ExecutionMove, now: Date): void {
  tx.send(moveAll, createMoveParameters(accountId, moved, now));
}

/** The same, with an event for each moved execution that has its status before and after. */
export function moveExecutionsWithEvents(moment: WorkMoment, moved: ExecutionMove, event: EventName): void {
  const { tx, accountId, source, now, newId } = moment;
  tx.send(moveAllWithEvents, {
    ...createMoveParameters(accountId, moved, now),
    occurred_at: now,
    event_ids: moved.executions.map(() => newId()),
    event_name: event,
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  });
}

function createMoveParameters(accountId: string, { to, executions }: ExecutionMove, now: Date) {
  return {
    account_id: accountId,
    execution_ids: executions.map((each) => each.id),
    status: to,
    finished_at: executionStates.isEnd(to) ? now : null,
    messages: executions.map((each) => each.message ?? null),
    from_statuses: executionStates.listSources(to),
  };
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
  if (row.restart_of !== null) execution.restartOf = row.restart_of;
  if (row.schedule_id !== null) execution.scheduleId = row.schedule_id;
  if (row.schedule_tick !== null) execution.scheduleTick = row.schedule_tick.toISOString();
  if (row.backfill_id !== null) execution.backfillId = row.backfill_id;
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
