/** Pipeline executions as work: what the agent is told, and what its start, silence and end mean for the execution. */
import type {
  EventName,
  ExecutionStatus,
  PipelineExecutionWork,
  ProjectVariable,
  SharedArtifact,
  VariableValue,
} from '@headgate/contract';
import { type Parameter, statement, type Transaction } from '../../kernel/database.ts';
import { recordEvents } from '../../kernel/events.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { WorkMoment, WorkOwner, WorkRow, WorkSubject } from '../../kernel/work.ts';
import { closeOpenSteps, moveExecutions } from './execution.store.ts';

interface WorkPayloadRow {
  execution_id: string;
  project_id: string;
  environment_name: string;
  pipeline_name: string;
  pipeline_type: 'ORCHESTRATION' | 'TRANSFORMATION';
  version_name: string;
  manifest_digest: string;
  shared_artifacts: SharedArtifact[] | null;
  scalar_variables: PipelineExecutionWork['scalarVariables'];
  grid_variables: PipelineExecutionWork['gridVariables'];
}

const selectExecutions = statement<WorkPayloadRow>(`
  select execution_id, project_id, environment_name, pipeline_name, pipeline_type, version_name, manifest_digest, shared_artifacts,
    scalar_variables, grid_variables
  from pipeline_execution where account_id = $1 and execution_id = any ($2::uuid[])`);

type StoredVariable = Omit<ProjectVariable, 'value'> & { value: VariableValue | null };

// The value that counts is the environment's override, else the project's.
const selectVariables = statement<{
  project_id: string;
  environment_name: string;
  variables: StoredVariable[];
}>(`
  select wanted.project_id, wanted.environment_name, coalesce((
    select json_agg(json_build_object('name', v.name, 'type', v.type, 'behaviour', v.behaviour, 'value', coalesce(o.value, v.value)) order by v.name)
    from variable v
    left join variable_override o on o.account_id = v.account_id and o.project_id = v.project_id and o.variable_name = v.name
      and o.environment_name = wanted.environment_name
    where v.account_id = $1 and v.project_id = wanted.project_id
  ), '[]') as variables
  from unnest($2::uuid[], $3::text[]) as wanted (project_id, environment_name)`);

export function executionWork(services: { runLimitSeconds: number; metrics: Metrics }): WorkOwner {
  async function payloads({ tx, accountId, ...moment }: WorkMoment, works: readonly WorkRow[]) {
    const ids = works.map((work) => work.work_id);
    const [rows, variables] = await Promise.all([
      tx.query(selectExecutions, [accountId, ids]),
      variablesOf(tx, accountId, works),
    ]);
    const told = rows.map((row) =>
      payloadOf(row, variables.get(placeOf(row)) ?? [], services.runLimitSeconds),
    );
    note({ tx, accountId, ...moment }, 'pipeline-execution-claimed', works);
    return new Map(told.map((payload) => [payload.pipelineExecutionId, payload]));
  }

  return {
    payloads,
    started(moment, works) {
      note(moment, 'pipeline-execution-started', works);
    },
    async silent(moment, ids) {
      const moved = await move(
        moment,
        'UNKNOWN',
        ids.map((id) => ({ id })),
      );
      note(moment, 'pipeline-execution-silent', moved);
    },
    cameBack: moveBack,
    requeued(moment, works) {
      moveBack(
        moment,
        works.map((work) => work.work_id),
      );
      note(moment, 'pipeline-execution-reclaimed', works);
    },
    async ended(moment, ends) {
      for (const [status, alike] of Map.groupBy(ends, (end) => end.status)) {
        const executions = alike.map((end) => ({ id: end.workId, message: end.message?.slice(0, 10_000) }));
        const moved = move(moment, status, executions);
        const ids = executions.map((each) => each.id);
        if (status !== 'SUCCESS') closeOpenSteps(moment.tx, moment.accountId, ids, status, moment.now);
        note(moment, 'pipeline-execution-ended', await moved);
        moment.tx.afterCommit(() => {
          for (const _ of ids) services.metrics.workEnded('pipeline-execution', status);
        });
      }
    },
  };
}

function payloadOf(
  row: WorkPayloadRow,
  variables: ProjectVariable[],
  timeLimitSeconds: number,
): PipelineExecutionWork {
  return {
    pipelineExecutionId: row.execution_id,
    projectId: row.project_id,
    environmentName: row.environment_name,
    pipelineName: row.pipeline_name,
    pipelineType: row.pipeline_type,
    versionName: row.version_name,
    artifactDigest: row.manifest_digest,
    ...(row.shared_artifacts === null ? {} : { sharedArtifacts: row.shared_artifacts }),
    variables,
    scalarVariables: row.scalar_variables,
    gridVariables: row.grid_variables,
    timeLimitSeconds,
    warehouse: { kind: 'duckdb' },
  };
}

const placeOf = (row: { project_id: string; environment_name: string }) =>
  `${row.project_id} ${row.environment_name}`;

async function variablesOf(tx: Transaction, accountId: string, works: readonly WorkRow[]) {
  const places = [...new Map(works.map((work) => [placeOf(work), work])).values()];
  const parameters: Parameter[] = [
    accountId,
    places.map((row) => row.project_id),
    places.map((row) => row.environment_name),
  ];
  const found = await tx.query(selectVariables, parameters);
  return new Map(
    found.map((row) => [
      placeOf(row),
      row.variables.map(
        ({ value, ...variable }): ProjectVariable => (value === null ? variable : { ...variable, value }),
      ),
    ]),
  );
}

interface Noted extends WorkSubject {
  before?: object;
  after?: object;
}

async function move(
  { tx, accountId, now }: WorkMoment,
  to: ExecutionStatus,
  executions: readonly { id: string; message?: string | undefined }[],
): Promise<Noted[]> {
  const moved = await moveExecutions(tx, accountId, to, executions, now);
  const messages = new Map(executions.map((each) => [each.id, each.message]));
  return moved.map((row) => ({
    work_id: row.execution_id,
    project_id: row.project_id,
    name: row.pipeline_name,
    before: { status: row.status_before },
    after: { status: to, message: messages.get(row.execution_id) },
  }));
}

function note({ tx, source, now, newId }: WorkMoment, event: EventName, about: readonly Noted[]): void {
  const events = about.map(({ work_id, project_id, name, before, after }) => ({
    name: event,
    projectId: project_id,
    subject: { type: 'pipeline-execution', id: work_id, name },
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  }));
  recordEvents(tx, source, events, now, newId);
}

// An execution that was being cancelled when its agent fell silent is being cancelled again.
const wakeUp = statement(`
  update pipeline_execution e set status = case when w.command is null then 'RUNNING' else 'CANCELLING' end::execution_status
  from work w
  where e.account_id = $1 and e.execution_id = any ($2::uuid[]) and e.status = 'UNKNOWN'
    and w.account_id = e.account_id and w.work_id = e.execution_id`);

function moveBack({ tx, accountId }: WorkMoment, ids: readonly string[]): void {
  tx.send(wakeUp, [accountId, ids]);
}
