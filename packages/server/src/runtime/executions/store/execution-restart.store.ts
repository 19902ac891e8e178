/** What a restart reads of an ended execution. */
import type {
  ExecutionStatus,
  RestartPlan,
  RunVariable,
  SharedArtifact,
  StepRecord,
  StepStatus,
} from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  typed,
} from '../../../kernel/database/database.ts';
import { guardedRead } from '../../../kernel/security/guarded-read.ts';
import { countQueuedRuns } from '../../../kernel/work/queued-runs.ts';
import type { EndedExecution } from '../restart/restart-steps.ts';
import { readGiven } from '../restart/restart-variables.ts';
import { environmentOfRun } from './execution.store.ts';

const endedRow = {
  execution_id: 'uuid',
  status: typed<ExecutionStatus>('execution_status'),
  environment_name: 'text',
  pipeline_name: 'text',
  pipeline_type: typed<'ORCHESTRATION' | 'TRANSFORMATION'>('text'),
  version_name: 'text',
  manifest_digest: 'text',
  agent_id: 'uuid',
  execution_tag: 'text?',
  scalar_variables: typed<object>('jsonb'),
  grid_variables: typed<object>('jsonb'),
  shared_artifacts: typed<SharedArtifact[] | null>('jsonb'),
  restart: typed<RestartPlan | null>('jsonb'),
  schedule_id: 'uuid?',
  schedule_tick: 'timestamptz?',
  agent_lost: 'boolean',
  finished_at: 'timestamptz?',
  /** The execution that restarts it. */
  restarted_by: 'uuid?',
  /** Null if the environment has no such version any more. */
  enabled: 'boolean?',
  has_agent: 'boolean',
  /** The name of the caller. */
  user_name: 'text',
  queued_runs: 'integer',
} satisfies ColumnTypes;
export type EndedRow = RowOf<typeof endedRow>;

/** `run_id`: the id of an execution. A child pipeline has no row. */
export const endedExecution = guardedRead(
  { parameters: { run_id: 'uuid', queue_limit: 'bigint' }, row: endedRow, environment: environmentOfRun },
  `
  select e.execution_id, e.status, e.environment_name, e.pipeline_name, e.pipeline_type, e.version_name, e.manifest_digest,
    e.agent_id, e.execution_tag, e.scalar_variables, e.grid_variables, e.shared_artifacts, e.restart, e.agent_lost, e.finished_at,
    e.schedule_id, case when e.schedule_id is not null then coalesce(e.schedule_tick, e.started_at) end as schedule_tick,
    (select r.execution_id from pipeline_execution r
      where r.account_id = $account_id and r.restart_of = e.execution_id) as restarted_by,
    (select v.enabled from artifact_version v
      where v.account_id = $account_id and v.project_id = e.project_id and v.environment_name = e.environment_name
        and v.version_name = e.version_name and v.manifest_digest = e.manifest_digest) as enabled,
    exists (select from agent a where a.account_id = $account_id and a.agent_id = e.agent_id) as has_agent,
    (select name from principal where account_id = $account_id and principal_id = $principal_id) as user_name,
    ${countQueuedRuns('$account_id', '$project_id', 'e.environment_name', '$queue_limit')} as queued_runs
  from pipeline_execution e
  where e.account_id = $account_id and e.project_id = $project_id and e.execution_id = $run_id`,
);

const selectSteps = statement(
  {
    parameters: { account_id: 'uuid', execution_id: 'uuid' },
    row: {
      step_id: 'uuid',
      pipeline_run_id: 'uuid',
      name: 'text',
      component_type: 'text',
      status: typed<StepStatus>('text'),
      child_pipeline_id: 'uuid?',
      restart: typed<StepRecord | null>('jsonb'),
    },
  },
  `
  select step_id, pipeline_run_id, name, component_type, status, child_pipeline_id, restart from execution_step
  where account_id = $account_id and execution_id = $execution_id
  order by ordinal`,
);

/** Bytes of the records of one execution that a restart reads. */
const recordsLimit = 32 * 1_048_576;

const measureRecords = statement(
  {
    parameters: { account_id: 'uuid', execution_id: 'uuid' },
    row: { bytes: 'double precision' },
  },
  `
  select coalesce(sum(octet_length(restart::text)), 0)::double precision as bytes from execution_step
  where account_id = $account_id and execution_id = $execution_id`,
);

const selectVariables = statement(
  {
    parameters: { account_id: 'uuid', execution_id: 'uuid' },
    row: { pipeline_run_id: 'uuid', variables: typed<RunVariable[]>('jsonb') },
  },
  `
  select pipeline_run_id, variables from execution_variables
  where account_id = $account_id and execution_id = $execution_id`,
);

/**
 * The steps of an execution in the order in which they were first reported, and the variables with which its
 * pipelines started. Undefined if they are too large.
 */
export async function readRecords(
  read: Read,
  accountId: string,
  executionId: string,
): Promise<Pick<EndedExecution, 'steps' | 'projectVariables' | 'calledWith'> | undefined> {
  const parameters = { account_id: accountId, execution_id: executionId };
  const [measured] = await read(measureRecords, parameters);
  if (measured === undefined || measured.bytes > recordsLimit) return undefined;
  const [steps, records] = await Promise.all([
    read(selectSteps, parameters),
    read(selectVariables, parameters),
  ]);
  return {
    steps: steps.map((row) => ({
      id: row.step_id,
      runId: row.pipeline_run_id,
      name: row.name,
      type: row.component_type,
      status: row.status,
      childId: row.child_pipeline_id,
      record: row.restart,
    })),
    projectVariables: records
      .filter((record) => record.pipeline_run_id === executionId)
      .flatMap(({ variables }) => variables)
      .filter(({ source }) => source === 'project' || source === 'override'),
    calledWith: new Map(records.map((record) => [record.pipeline_run_id, readGiven(record.variables)])),
  };
}
