/** The tables `test_execution` and `test_execution_result`. */
import type {
  EventName,
  ExecutionStatus,
  SharedArtifact,
  TestExecution,
  TestExecutionResult,
  TestResult,
  TestScope,
  TestStatus,
} from '@headgate/contract';
import {
  type ColumnTypes,
  conflictCode,
  insertStatement,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { WorkMoment } from '../../kernel/work/work.ts';
import { executionStates } from '../executions/index.ts';
import type { ChosenTest } from './test-choice.ts';

/** The subject's name in events, and the name of the work. */
export const subjectName = 'tests';

interface ResultRow {
  test_name: string;
  pipeline_name: string;
  status: TestStatus;
  message: string | null;
  expected: string | null;
  actual: string | null;
  duration_ms: number | null;
}

const testExecutionRow = {
  test_execution_id: 'uuid',
  status: typed<ExecutionStatus>('execution_status'),
  message: 'text?',
  started_at: 'timestamptz',
  finished_at: 'timestamptz?',
  results: typed<ResultRow[]>('json'),
} satisfies ColumnTypes;
type TestExecutionRow = RowOf<typeof testExecutionRow>;

const testedPipelineRow = {
  name: 'text',
  type: typed<'ORCHESTRATION' | 'TRANSFORMATION'>('text'),
  /** Null if the pipeline is no test. */
  testedPipelines: typed<string[] | null>('jsonb'),
} satisfies ColumnTypes;

/** The pipelines of a version, without what only an execution of them needs. */
export const testedPipelines = guardedRead(
  { parameters: { manifest_digest: 'text' }, row: testedPipelineRow },
  `
  select p ->> 'name' as name, p ->> 'type' as type, p -> 'testedPipelines' as "testedPipelines"
  from manifest m cross join jsonb_array_elements(m.pipelines) with ordinality as each (p, place)
  where m.account_id = $account_id and m.digest = $manifest_digest
  order by place`,
);

export const testExecutionById = guardedRead(
  {
    parameters: { test_execution_id: 'uuid' },
    row: testExecutionRow,
    environment: `select environment_name from test_execution where account_id = $account_id
      and project_id = $project_id and test_execution_id = $test_execution_id`,
  },
  `
  select e.test_execution_id, e.status, e.message, e.started_at, e.finished_at, coalesce((
    select json_agg(json_build_object('test_name', r.test_name, 'pipeline_name', r.pipeline_name, 'status', r.status,
      'message', r.message, 'expected', r.expected, 'actual', r.actual, 'duration_ms', r.duration_ms) order by r.ordinal)
    from test_execution_result r
    where r.account_id = e.account_id and r.test_execution_id = e.test_execution_id and r.status is not null), '[]') as results
  from test_execution e where e.account_id = $account_id and e.project_id = $project_id
    and e.test_execution_id = $test_execution_id`,
);

// Refuses the transaction if the version was disabled, or the environment deleted, since they were read.
const insertOne = insertStatement(
  'test_execution',
  {
    account_id: 'uuid',
    test_execution_id: 'uuid',
    project_id: 'uuid',
    environment_name: 'text',
    scope: 'text',
    version_name: 'text',
    manifest_digest: 'text',
    agent_id: 'uuid',
    execution_tag: 'text?',
    user_name: 'text',
    started_at: 'timestamptz',
    shared_artifacts: 'jsonb?',
  },
  {
    derived: {
      status: `case when exists (
        select from artifact_version v
        where v.account_id = given.account_id and v.project_id = given.project_id and v.environment_name = given.environment_name
          and v.version_name = given.version_name and v.enabled
      ) then 'RUNNING'::execution_status else refuse('${conflictCode}')::execution_status end`,
      running_tag: 'given.execution_tag',
    },
  },
);

const insertResults = statement(
  {
    parameters: {
      account_id: 'uuid',
      test_execution_id: 'uuid',
      test_names: 'text[]',
      pipeline_names: 'text[]',
    },
  },
  `
  insert into test_execution_result (account_id, test_execution_id, ordinal, test_name, pipeline_name)
  select $account_id, $test_execution_id, t.ordinal - 1, t.test_name, t.pipeline_name
  from unnest($test_names::text[], $pipeline_names::text[]) with ordinality as t (test_name, pipeline_name, ordinal)`,
);

export interface NewTestExecution {
  testExecutionId: string;
  projectId: string;
  environmentName: string;
  scope: TestScope;
  versionName: string;
  manifestDigest: string;
  agentId: string;
  executionTag: string | undefined;
  /** The name of the credential that starts it. */
  userName: string;
  /** The chosen versions of shared pipelines. */
  sharedArtifacts: readonly SharedArtifact[];
  tests: readonly ChosenTest[];
}

export function insertTestExecution(tx: Transaction, scope: Scope, made: NewTestExecution, now: Date): void {
  const { executionTag, environmentName, testExecutionId, tests, sharedArtifacts } = made;
  const { accountId } = scope;
  tx.onConstraint('test_execution_tag_running', () =>
    problem('execution-tag-running', { tag: executionTag ?? '', environmentName }),
  );
  tx.send(insertOne, {
    account_id: accountId,
    test_execution_id: testExecutionId,
    project_id: made.projectId,
    environment_name: environmentName,
    scope: made.scope,
    version_name: made.versionName,
    manifest_digest: made.manifestDigest,
    agent_id: made.agentId,
    execution_tag: executionTag ?? null,
    user_name: made.userName,
    started_at: now,
    shared_artifacts: sharedArtifacts.length === 0 ? null : JSON.stringify(sharedArtifacts),
  });
  tx.send(insertResults, {
    account_id: accountId,
    test_execution_id: testExecutionId,
    test_names: tests.map(({ testName }) => testName),
    pipeline_names: tests.map(({ pipelineName }) => pipelineName),
  });
}

const selectOne = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', test_execution_id: 'uuid' },
    row: { status: typed<ExecutionStatus>('execution_status'), environment_name: 'text' },
  },
  `
  select status, environment_name from test_execution
  where account_id = $account_id and project_id = $project_id and test_execution_id = $test_execution_id`,
);

/** Throws `test-execution-not-found`. Callers have locked its work, so the row stays valid. */
export async function requireTestExecution(tx: Transaction, scope: Scope, projectId: string, id: string) {
  const [row] = await tx.query(selectOne, {
    account_id: scope.accountId,
    project_id: projectId,
    test_execution_id: toUuid(id),
  });
  if (row === undefined) throw problem('test-execution-not-found', { id });
  return row;
}

const movable = `account_id = $account_id and test_execution_id = any ($ids::uuid[]) and status = any ($from_statuses)`;
const pickByExecution = (array: string) => `(${array})[array_position($ids::uuid[], test_execution_id)]`;
// The same statement reads the earlier states, for the events.
const moveAll = statement(
  {
    parameters: {
      account_id: 'uuid',
      ids: 'uuid[]',
      status: typed<ExecutionStatus>('execution_status'),
      finished_at: 'timestamptz?',
      messages: typed<readonly (string | null)[]>('text[]'),
      from_statuses: typed<readonly ExecutionStatus[]>('execution_status[]'),
      occurred_at: 'timestamptz',
      event_ids: 'uuid[]',
      event_name: 'text',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
    },
  },
  `
  with moving as (select test_execution_id, project_id, environment_name, status from test_execution where ${movable}), moved as (
    update test_execution set status = $status, finished_at = $finished_at,
      running_tag = case when $finished_at::timestamptz is null then running_tag end,
      message = coalesce(${pickByExecution('$messages::text[]')}, message)
    where ${movable})
  ${insertIntoEvent}
  select $account_id, $occurred_at, ${pickByExecution('$event_ids::uuid[]')}, $event_name, $actor_id, $actor_kind,
    $request_id, project_id, environment_name, 'test-execution', test_execution_id::text, '${subjectName}',
    jsonb_build_object('status', status), jsonb_strip_nulls(jsonb_build_object('status', $status, 'message',
      ${pickByExecution('$messages::text[]')}))
  from moving`,
);

export interface TestExecutionMove {
  to: ExecutionStatus;
  executions: readonly { id: string; message?: string | undefined }[];
}

/** Moves as far as the state table of executions allows, with an event for each that has moved. */
export function moveTestExecutions(moment: WorkMoment, moved: TestExecutionMove, event: EventName): void {
  const { tx, accountId, source, now, newId } = moment;
  const { to, executions } = moved;
  tx.send(moveAll, {
    account_id: accountId,
    ids: executions.map(({ id }) => id),
    status: to,
    finished_at: executionStates.isEnd(to) ? now : null,
    messages: executions.map(({ message }) => message ?? null),
    from_statuses: executionStates.listSources(to),
    occurred_at: now,
    event_ids: executions.map(() => newId()),
    event_name: event,
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  });
}

const setStatus = statement(
  {
    parameters: {
      account_id: 'uuid',
      test_execution_id: 'uuid',
      status: typed<ExecutionStatus>('execution_status'),
      finished_at: 'timestamptz?',
      message: 'text?',
    },
  },
  `
  update test_execution set status = $status, finished_at = $finished_at, message = coalesce($message, message),
    running_tag = case when $finished_at::timestamptz is null then running_tag end
  where account_id = $account_id and test_execution_id = $test_execution_id`,
);

/** For a request that has locked its work and writes the events itself. */
export function setTestExecutionStatus(
  tx: Transaction,
  accountId: string,
  { id, status, message }: { id: string; status: ExecutionStatus; message?: string | undefined },
  now: Date,
): void {
  tx.send(setStatus, {
    account_id: accountId,
    test_execution_id: id,
    status,
    finished_at: executionStates.isEnd(status) ? now : null,
    message: message ?? null,
  });
}

const updateResults = statement(
  { parameters: { account_id: 'uuid', test_execution_id: 'uuid', results: 'jsonb' } },
  `
  update test_execution_result r set status = s.status, message = s.message, expected = s.expected,
    actual = s.actual, duration_ms = s."durationMs"
  from jsonb_to_recordset($results) as s (index integer, status text, message text, expected text, actual text, "durationMs" bigint)
  where r.account_id = $account_id and r.test_execution_id = $test_execution_id and r.ordinal = s.index`,
);

export function writeTestResults(
  tx: Transaction,
  accountId: string,
  id: string,
  results: readonly TestResult[],
): void {
  // If a test is told twice, its last result counts.
  const last = new Map(results.map((result) => [result.index, result]));
  tx.send(updateResults, {
    account_id: accountId,
    test_execution_id: id,
    results: JSON.stringify([...last.values()]),
  });
}

const closeResults = statement(
  {
    parameters: { account_id: 'uuid', ids: 'uuid[]', status: typed<TestStatus>('text'), message: 'text' },
  },
  `
  update test_execution_result set status = $status, message = $message, duration_ms = 0
  where account_id = $account_id and test_execution_id = any ($ids::uuid[]) and status is null`,
);

/** Ends the tests without a result when their execution ends. */
export function closeTestResults(
  tx: Transaction,
  accountId: string,
  ids: readonly string[],
  status: 'CANCELLED' | 'ERRORED',
): void {
  const message = 'The execution ended before this test did.';
  tx.send(closeResults, { account_id: accountId, ids, status, message });
}

export function presentTestExecution(row: TestExecutionRow): TestExecution {
  const execution: TestExecution = {
    testExecutionId: row.test_execution_id,
    status: row.status,
    startedAt: row.started_at.toISOString(),
    results: row.results.map(presentResult),
  };
  if (row.finished_at !== null) execution.finishedAt = row.finished_at.toISOString();
  if (row.message !== null) execution.message = row.message;
  return execution;
}

function presentResult(row: ResultRow): TestExecutionResult {
  const result: TestExecutionResult = {
    testName: row.test_name,
    pipelineName: row.pipeline_name,
    status: row.status,
    durationMs: row.duration_ms ?? 0,
  };
  if (row.message !== null) result.message = row.message;
  if (row.expected !== null) result.expected = row.expected;
  if (row.actual !== null) result.actual = row.actual;
  return result;
}
