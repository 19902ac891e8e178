/** Test executions. */
import { type Static, Type } from 'typebox';
import { testTextLimit } from '../agent-protocol/protocol-constants.ts';
import { TestStatus, testExecutionLimit } from '../agent-protocol/test-execution-work.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { ExecutionStatus, PipelineName } from '../pipeline-execution/pipeline-execution.ts';
import { DateTime, EnvironmentName, Name, OpaqueId, oneOf, Uuid, VersionName } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

const testExecutionPath = { ...projectPath, testExecutionId: OpaqueId };

const testScopes = ['TEST', 'PIPELINE', 'PROJECT'] as const;
export type TestScope = (typeof testScopes)[number];
/** Tests or pipelines that one request may name. */
const namedLimit = 500;

export const startTestExecution = operation({
  id: 'startTestExecution',
  method: 'POST',
  path: '/v1/projects/{projectId}/test-executions',
  surface: 'dpc',
  tag: 'Test executions',
  summary: 'Run tests',
  description:
    'A test is an orchestration with a component of type run-pipeline-under-test. `scope` TEST runs the given `tests`, PIPELINE every test of the given `pipelines`, PROJECT all tests of the version. ' +
    'The tests run one after the other, each in a scratch database that is dropped afterwards; a test never changes the data of the environment. ' +
    'Version, agent and `executionTag` are those of a pipeline execution.',
  permission: 'environment:run',
  environmentFrom: 'body.environmentName',
  params: Type.Object(projectPath),
  body: Type.Object({
    scope: named('TestScope', oneOf(testScopes)),
    environmentName: EnvironmentName,
    versionName: Type.Optional(VersionName),
    agentId: Type.Optional(OpaqueId),
    executionTag: Type.Optional(Name),
    pipelines: Type.Optional(
      Type.Array(Type.Object({ pipelineName: PipelineName }), {
        maxItems: namedLimit,
        description: 'Required by the scope PIPELINE, and refused with another one',
      }),
    ),
    tests: Type.Optional(
      Type.Array(Type.Object({ testName: PipelineName }), {
        maxItems: namedLimit,
        description: 'Required by the scope TEST, and refused with another one',
      }),
    ),
  }),
  success: { status: 201, body: Type.Object({ testExecutionId: Uuid }), headers: ['Location'] },
  problems: [
    'environment-not-found',
    'artifact-not-found',
    'artifact-disabled',
    'list-of-scope',
    'unknown-tests',
    'unknown-tested-pipelines',
    'no-tests',
    'too-many-tests',
    'execution-tag-running',
    'queue-full',
    'budget-exceeded',
    'unknown-agent',
    'environment-without-agent',
  ],
  events: ['test-execution-requested'],
});

const testText = (description: string) =>
  Type.Optional(Type.String({ maxLength: testTextLimit, description }));
export const TestExecutionResult = named(
  'TestExecutionResult',
  Type.Object({
    testName: Type.String({ minLength: 1, maxLength: 1_024 }),
    pipelineName: Type.String({ maxLength: 1_024, description: 'The pipeline under test' }),
    status: TestStatus,
    message: testText('Why the test did not pass'),
    expected: testText('What the assert that failed expected'),
    actual: testText('What it found instead'),
    durationMs: Type.Integer({ minimum: 0 }),
  }),
);
export type TestExecutionResult = Static<typeof TestExecutionResult>;

export const TestExecution = named(
  'TestExecution',
  Type.Object({
    testExecutionId: Uuid,
    status: ExecutionStatus,
    startedAt: DateTime,
    finishedAt: Type.Optional(DateTime),
    message: Type.Optional(Type.String({ maxLength: 10_000 })),
    results: Type.Array(TestExecutionResult, {
      maxItems: testExecutionLimit,
      description: 'The tests that have ended, in the order in which they run',
    }),
  }),
);
export type TestExecution = Static<typeof TestExecution>;

export const getTestExecution = operation({
  id: 'getTestExecution',
  method: 'GET',
  path: '/v1/projects/{projectId}/test-executions/{testExecutionId}',
  surface: 'dpc',
  tag: 'Test executions',
  summary: 'Get a test execution',
  description:
    'The status is SUCCESS when every test has passed, and FAILED otherwise. FAILED in a result means that an assert did not hold; ERRORED, that something else went wrong.',
  permission: 'executions:read',
  environmentFrom: 'resource',
  params: Type.Object(testExecutionPath),
  success: { status: 200, body: TestExecution },
  problems: ['test-execution-not-found'],
  events: [],
});

export const cancelTestExecution = operation({
  id: 'cancelTestExecution',
  method: 'PATCH',
  path: '/v1/projects/{projectId}/test-executions/{testExecutionId}',
  surface: 'dpc',
  tag: 'Test executions',
  summary: 'Cancel a test execution',
  description:
    'The running step finishes, and no other step or test starts. With `forceUpdate`, the process is killed. A test execution that has already ended cannot be cancelled.',
  permission: 'environment:run',
  environmentFrom: 'resource',
  params: Type.Object(testExecutionPath),
  body: Type.Object({
    status: oneOf(['CANCELLED']),
    forceUpdate: Type.Optional(Type.Boolean({ default: false })),
  }),
  success: { status: 200, body: Type.Object({ testExecutionId: Uuid }) },
  problems: ['test-execution-not-found', 'tests-ended'],
  events: ['test-execution-cancel-requested', 'test-execution-ended'],
});

export const testExecutionOperations = [startTestExecution, getTestExecution, cancelTestExecution] as const;
