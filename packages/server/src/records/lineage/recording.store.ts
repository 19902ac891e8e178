/**
 * Writes the lineage of runs, in the transaction that starts or ends them: each run of a pipeline has one start and one
 * end in `lineage_event`, whoever ends it. The end takes the lineage of the steps with it.
 */
import type { Report, StepLineage } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';

/** Characters of the lineage of one step as JSON, and of all steps of a run, that are kept. */
const stepCharacters = 524_288;
const runCharacters = 1_048_576;
const sqlStatements = 100;
const sqlCharacters = 100_000;

const insertSteps = statement(
  { parameters: { account_id: 'uuid', steps: 'jsonb' } },
  `
  insert into step_lineage (account_id, execution_id, step_id, pipeline_run_id, lineage, characters)
  select $account_id, s."executionId", s."stepId", s."pipelineRunId", s.lineage, s.characters
  from jsonb_to_recordset($steps) as s ("executionId" uuid, "stepId" uuid, "pipelineRunId" uuid, lineage jsonb, characters integer)
  on conflict do nothing`,
);

type Progress = Extract<Report, { type: 'progress' }>;

/** Keeps the lineage of steps until the end of their run. */
export function writeStepLineage(tx: Transaction, accountId: string, reports: readonly Progress[]): void {
  const steps = reports.flatMap(({ workId: executionId, lineage = [] }) =>
    lineage.map(({ stepId, pipelineRunId, ...read }) => {
      const retained = limitStep(read);
      return {
        executionId,
        stepId,
        pipelineRunId,
        lineage: retained,
        characters: JSON.stringify(retained).length,
      };
    }),
  );
  if (steps.length > 0) tx.send(insertSteps, { account_id: accountId, steps: JSON.stringify(steps) });
}

type ReadAndWritten = Omit<StepLineage, 'stepId' | 'pipelineRunId'>;

function limitStep(lineage: ReadAndWritten): ReadAndWritten {
  if (JSON.stringify(lineage).length <= stepCharacters) return lineage;
  const { inputs, outputs, gaps = [] } = lineage;
  const reason = `The step has more lineage than is kept: its columns are left out (${stepCharacters} characters).`;
  return {
    inputs: inputs.map(({ kind, name }) => ({ kind, name })),
    outputs: outputs.map(({ fields, columns, decidedBy, ...written }) => written),
    gaps: [reason, ...gaps.slice(0, 99)],
  };
}

/** The work that adds a run to the graph, in `server_work`. */
export const graphKind = 'lineage-graph';

const renderTime = (time: string) => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** SQL: the id of the environment of `e`, which may have been deleted. */
const environmentId = `coalesce(
    (select v.environment_id from environment v
      where v.account_id = e.account_id and v.project_id = e.project_id and v.name = e.environment_name),
    (select d.environment_id from deleted_environment d
      where d.account_id = e.account_id and d.project_id = e.project_id and d.environment_name = e.environment_name),
    '00000000-0000-0000-0000-000000000000')`;

const eventTypeOf = (status: string) =>
  `case ${status} when 'SUCCESS' then 'COMPLETE' when 'CANCELLED' then 'ABORT' when 'SKIPPED' then 'ABORT' else 'FAIL' end`;

const ofExecution = `
  'projectId', e.project_id, 'environmentId', ${environmentId}, 'environmentName', e.environment_name,
  'executionId', e.execution_id, 'versionName', e.version_name`;

/** SQL: executions as runs of their pipelines. */
const runsOfExecutions = `
  select e.account_id, e.execution_id, e.execution_id as run_id, e.started_at, coalesce(e.finished_at, $now) as finished_at,
    ${eventTypeOf('e.status::text')} as end_type, e.message, jsonb_build_object(${ofExecution},
      'pipelineName', e.pipeline_name, 'pipelineType', e.pipeline_type) as about
  from pipeline_execution e
  where e.account_id = $account_id and e.execution_id = any ($execution_ids::uuid[])`;

/** SQL: runs of pipelines that steps call. A step that is unfinished at the end of its execution ends with it. */
const runsOfSteps = (condition: string) => `
  select e.account_id, e.execution_id, s.child_pipeline_id as run_id, s.started_at, coalesce(s.finished_at, $now) as finished_at,
    ${eventTypeOf("case s.status when 'RUNNING' then e.status::text else s.status end")} as end_type, s.message,
    jsonb_build_object(${ofExecution}, 'pipelineName', s.child_pipeline_name,
      'pipelineType', case when s.child_pipeline_name like '%.tran.yaml' then 'TRANSFORMATION' else 'ORCHESTRATION' end,
      'parent', jsonb_build_object('runId', s.pipeline_run_id, 'pipelineName', coalesce((
        select c.child_pipeline_name from execution_step c
        where c.account_id = s.account_id and c.child_pipeline_id = s.pipeline_run_id), e.pipeline_name))) as about
  from execution_step s join pipeline_execution e on e.account_id = s.account_id and e.execution_id = s.execution_id
  where s.account_id = $account_id and ${condition}`;
const calledRuns = runsOfSteps('s.child_pipeline_id = any ($run_ids::uuid[])');
const runsCalledBy = runsOfSteps(
  's.execution_id = any ($execution_ids::uuid[]) and s.child_pipeline_id is not null',
);

// An OpenLineage webhook gets its events from the event log, in order and with retries. Without one the log has none of
// them.
const announce = `
  ${insertIntoEvent}
  select $account_id, $now, md5(run_id::text || event_type)::uuid, 'lineage-recorded', null, 'system', null,
    (record ->> 'projectId')::uuid, record ->> 'environmentName', 'pipeline-run', run_id::text, record ->> 'pipelineName', null, record
  from written where exists (select from webhook w where w.account_id = $account_id and w.format = 'openlineage')`;

const inserted = 'insert into lineage_event (account_id, generated_at, run_id, event_type, record, work_id)';

const renderStart = (startedAt: string) =>
  `about || jsonb_build_object('runId', run_id, 'eventType', 'START', 'eventTime', ${renderTime(startedAt)})`;

/** SQL: writes the starts of runs that have none. */
const writeStarts = (runs: string, startedAt: string) => `
  with runs as materialized (${runs}), written as (
    ${inserted}
    select $account_id, $now, run_id, 'START', ${renderStart(startedAt)}, null::uuid
    from runs
    on conflict do nothing
    returning run_id, event_type, record
  )
  ${announce}`;

/** SQL: whether the event of a run is written. */
const isWritten = (isStart: boolean) => `exists (
      select from lineage_event l where l.account_id = r.account_id and l.run_id = r.run_id and (l.event_type = 'START') = ${isStart})`;

/**
 * SQL: writes the ends of runs that have none, and their starts if they never began. Of the runs of a pipeline that end
 * together only the last one is new for the graph, which shows no other.
 */
const writeEnds = (runs: string) => `
  with runs as materialized (
    select r.*, row_number() over (partition by end_type = 'COMPLETE', about -> 'environmentId', about -> 'pipelineName'
      order by finished_at desc, run_id desc) as place
    from (${runs}) r where not ${isWritten(false)}
  ), begun as (
    ${inserted}
    select $account_id, $now, run_id, 'START', ${renderStart('started_at')}, null::uuid
    from runs r where not ${isWritten(true)}
    on conflict do nothing
    returning run_id, event_type, record, work_id
  ), ended as (
    ${inserted}
    select $account_id, $now, run_id, end_type, about || jsonb_strip_nulls(jsonb_build_object('runId', run_id, 'eventType', end_type,
        'eventTime', ${renderTime('finished_at')}, 'message', message, 'sql', sql.texts, 'omittedSteps', steps.omitted))
      || case when steps.retained is null then '{}' else jsonb_build_object('steps', steps.retained) end,
      case when end_type = 'COMPLETE' and place = 1 then gen_random_uuid() end
    from runs
    -- The starts get the lower sequences.
    cross join (select count(*) from begun) earlier
    left join lateral (
      select left(string_agg(statements.sql, e';\\n\\n' order by ordinal), ${sqlCharacters}) as texts from (
        select s.sql, s.ordinal from execution_step s
        where s.account_id = runs.account_id and s.pipeline_run_id = runs.run_id and s.execution_id = runs.execution_id and s.sql is not null
        order by s.started_at, s.ordinal limit ${sqlStatements}) statements) sql on true
    left join lateral (
      select jsonb_agg(jsonb_build_object('stepId', step_id) || jsonb_strip_nulls(jsonb_build_object('finishedAt', finished_at)) || lineage
        order by ordinal) filter (where until <= ${runCharacters}) as retained,
        nullif(count(*) filter (where until > ${runCharacters}), 0) as omitted
      from (
        select l.*, sum(l.characters) over (order by l.ordinal) as until, (
          select s.finished_at from execution_step s
          where s.account_id = l.account_id and s.execution_id = l.execution_id and s.step_id = l.step_id) as finished_at
        from step_lineage l
        where l.account_id = runs.account_id and l.execution_id = runs.execution_id and l.pipeline_run_id = runs.run_id) sized
    ) steps on true
    order by run_id <> execution_id
    on conflict do nothing
    returning run_id, event_type, record, work_id
  ), written as (
    select * from begun union all select * from ended
  ), graph as (
    insert into server_work (account_id, work_id, kind, due_at)
    select $account_id, work_id, '${graphKind}', $now from written where work_id is not null
  ), taken as (
    delete from step_lineage l using runs
    where l.account_id = runs.account_id and l.execution_id = runs.execution_id and l.pipeline_run_id = runs.run_id
  )
  ${announce}`;

const ofExecutions = { account_id: 'uuid', now: 'timestamptz', execution_ids: 'uuid[]' } as const;
const ofRuns = { account_id: 'uuid', now: 'timestamptz', run_ids: 'uuid[]' } as const;
const startExecutions = statement(
  { parameters: ofExecutions },
  writeStarts(runsOfExecutions, '$now::timestamptz'),
);
const startCalled = statement({ parameters: ofRuns }, writeStarts(calledRuns, 'started_at'));
const endCalled = statement({ parameters: ofRuns }, writeEnds(calledRuns));
const allRuns = `${runsOfExecutions} union all ${runsCalledBy}`;
const endAll = statement({ parameters: ofExecutions }, writeEnds(allRuns));

/** The agent has begun these executions. */
export function recordStartedExecutions(
  tx: Transaction,
  accountId: string,
  executionIds: readonly string[],
  now: Date,
): void {
  tx.send(startExecutions, { account_id: accountId, now, execution_ids: executionIds });
}

/** The steps were written in this transaction. Records the pipelines that they call. */
export function recordCalledRuns(
  tx: Transaction,
  accountId: string,
  steps: readonly Progress['steps'][number][],
  now: Date,
): void {
  const calls = steps.flatMap(({ childPipeline, status }) =>
    childPipeline === undefined ? [] : [{ id: childPipeline.id, status }],
  );
  if (calls.length === 0) return;
  const started = [...new Set(calls.map(({ id }) => id))];
  tx.send(startCalled, { account_id: accountId, now, run_ids: started });
  const outcomes = [...new Set(calls.filter(({ status }) => status !== 'RUNNING').map(({ id }) => id))];
  if (outcomes.length > 0) tx.send(endCalled, { account_id: accountId, now, run_ids: outcomes });
}

/** These executions ended in this transaction, and so did the pipelines that they called. */
export function recordEndedExecutions(
  tx: Transaction,
  accountId: string,
  executionIds: readonly string[],
  now: Date,
): void {
  if (executionIds.length === 0) return;
  tx.send(endAll, { account_id: accountId, now, execution_ids: executionIds });
}
