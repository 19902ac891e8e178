/** Pipeline executions. */
import { type Static, Type } from 'typebox';
import { stepSqlLimit } from '../agent-protocol/protocol-constants.ts';
import { StepAttempt, StepProgress, StepStatus } from '../agent-protocol/report.ts';
import { sharedArtifactLimit } from '../agent-protocol/run-members.ts';
import { gridRowLimit } from '../limits.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  DateTime,
  EnvironmentName,
  mapOf,
  Name,
  OpaqueId,
  oneOf,
  ProjectId,
  pageOf,
  pageQuery,
  tokenPageOf,
  tokenQuery,
  Uuid,
  VersionName,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { GridRow, NumberValue, TextValue } from '../variable/variable-value.ts';

export const executionStatuses = [
  'RUNNING',
  'SUCCESS',
  'FAILED',
  'CANCELLING',
  'CANCELLED',
  'FORBIDDEN',
  'SKIPPED',
  'UNKNOWN',
] as const;
export type ExecutionStatus = (typeof executionStatuses)[number];
export const ExecutionStatus = named('PipelineExecutionStatus', oneOf(executionStatuses));
export const executionTriggers = ['DESIGNER', 'API', 'SCHEDULE', 'SCHEDULE_RUN_NOW', 'UNKNOWN'] as const;

export const executionPath = { ...projectPath, pipelineExecutionId: OpaqueId };
export const PipelineName = Type.String({
  minLength: 1,
  maxLength: 1_024,
  description:
    'The path of the pipeline. The extension is optional in requests and always present in responses',
});
/** Of a shared pipeline the prefix of its group stands before it. */
const CalledPipelineName = Type.String({ minLength: 1, maxLength: 1_200 });

const executionMembers = {
  pipelineExecutionId: Uuid,
  pipelineName: CalledPipelineName,
  pipelineType: named('PipelineType', oneOf(['ORCHESTRATION', 'TRANSFORMATION'])),
  projectId: ProjectId,
  environmentName: EnvironmentName,
  versionName: VersionName,
  status: ExecutionStatus,
  trigger: named('PipelineExecutionTrigger', oneOf(executionTriggers)),
  scheduleId: Type.Optional(Uuid),
  scheduleTick: Type.Optional({
    ...DateTime,
    description: 'The tick of the schedule that the run is for: its logical time',
  }),
  backfillId: Type.Optional({ ...Uuid, description: 'The backfill that started the run' }),
  executionTag: Type.Optional(Name),
  startedAt: DateTime,
  finishedAt: Type.Optional(DateTime),
  message: Type.Optional(Type.String({ maxLength: 10_000 })),
  user: Type.Optional(Type.String({ maxLength: 255, description: 'The caller that started the execution' })),
  restartOf: Type.Optional({ ...Uuid, description: 'The execution that this one continues' }),
};
export const PipelineExecution = named('PipelineExecution', Type.Object(executionMembers));
export type PipelineExecution = Static<typeof PipelineExecution>;

/** One execution as it is read by itself. */
const detailMembers = {
  ...executionMembers,
  sharedPipelines: Type.Optional(
    Type.Array(
      named('SharedPipelineVersion', Type.Object({ sharedPipelineIdPrefix: Name, versionName: VersionName })),
      {
        maxItems: sharedArtifactLimit,
        description:
          'The version of each group of shared pipelines that the execution uses. Absent if it uses none',
      },
    ),
  ),
};
const PipelineExecutionDetail = named('PipelineExecutionDetail', Type.Object(detailMembers));
export type PipelineExecutionDetail = Static<typeof PipelineExecutionDetail>;

const executionOperation = { surface: 'dpc', tag: 'Pipeline executions' } as const;

export const startPipelineExecution = operation({
  ...executionOperation,
  id: 'startPipelineExecution',
  method: 'POST',
  path: '/v1/projects/{projectId}/pipeline-executions',
  summary: 'Start a pipeline',
  description:
    'Without `versionName`, starts the newest enabled version in the environment. Without `agentId`, uses the default agent of the environment, or the only agent of the account. ' +
    'The request is refused if an execution with the same `executionTag` is running in the environment.',
  permission: 'environment:run',
  environmentFrom: 'body.environmentName',
  params: Type.Object(projectPath),
  body: Type.Object({
    pipelineName: PipelineName,
    environmentName: EnvironmentName,
    versionName: Type.Optional(VersionName),
    agentId: Type.Optional(OpaqueId),
    executionTag: Type.Optional(Name),
    scalarVariables: Type.Optional(mapOf(Type.Union([TextValue, NumberValue]), { maxProperties: 500 })),
    gridVariables: Type.Optional(
      mapOf(Type.Array(GridRow, { maxItems: gridRowLimit }), { maxProperties: 100 }),
    ),
  }),
  success: { status: 201, body: Type.Object({ pipelineExecutionId: Uuid }), headers: ['Location'] },
  problems: [
    'environment-not-found',
    'artifact-not-found',
    'artifact-disabled',
    'pipeline-not-found',
    'pipeline-unreadable',
    'execution-tag-running',
    'queue-full',
    'budget-exceeded',
    'unknown-agent',
    'environment-without-agent',
    'unknown-pipeline-variable',
    'pipeline-variable-type',
  ],
  events: ['pipeline-execution-requested'],
});

/** The parts of a duration: years, months, weeks, days, hours, minutes, seconds. */
export const timeFramePattern =
  '^P(?=\\dT?|T\\d)(?:\\d{1,4}Y)?(?:\\d{1,5}M)?(?:\\d{1,5}W)?(?:\\d{1,6}D)?(?:T(?=\\d)(?:\\d{1,7}H)?(?:\\d{1,9}M)?(?:\\d{1,9}S)?)?$';

export const listPipelineExecutions = operation({
  ...executionOperation,
  id: 'listPipelineExecutions',
  method: 'GET',
  path: '/v1/pipeline-executions',
  summary: 'List executions',
  description: 'Newest first. Contains the executions that the caller has permission to read.',
  permission: 'projects:list',
  query: Type.Object({
    ...tokenQuery,
    projectId: Type.Optional(ProjectId),
    environmentName: Type.Optional(EnvironmentName),
    pipelineName: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_024, description: 'A part of the name; not case-sensitive' }),
    ),
    status: Type.Optional(Type.Array(ExecutionStatus, { maxItems: executionStatuses.length })),
    scheduleId: Type.Optional(OpaqueId),
    backfillId: Type.Optional(OpaqueId),
    startedAfter: Type.Optional(DateTime),
    startedBefore: Type.Optional(DateTime),
    timeFrame: Type.Optional(
      Type.String({
        pattern: timeFramePattern,
        'x-form': 'an ISO 8601 duration such as PT24H or P7D',
        maxLength: 40,
        description:
          'Started within this time until now: an ISO 8601 duration, such as PT24H or P7D. Beside `startedAfter`, the later of both counts',
      }),
    ),
  }),
  success: { status: 200, body: tokenPageOf(PipelineExecution) },
  problems: [],
  events: [],
});

export const getPipelineExecution = operation({
  ...executionOperation,
  id: 'getPipelineExecution',
  method: 'GET',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}',
  summary: 'Get an execution',
  description:
    'Also accepts the `id` of a `childPipeline`, as do the operations for the status and the steps.',
  permission: 'executions:read',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  success: {
    status: 200,
    body: Type.Object({ ...detailMembers, result: PipelineExecutionDetail }),
    headers: ['ETag'],
  },
  problems: ['execution-not-found'],
  events: [],
});

export const getPipelineExecutionStatus = operation({
  ...executionOperation,
  id: 'getPipelineExecutionStatus',
  method: 'GET',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}/status',
  summary: 'Get the status of an execution',
  description:
    'FORBIDDEN: the allowlist of the agent prevented the run, or the caller that started it no longer had permission to run pipelines in the environment when an agent claimed it. SKIPPED: the schedule does not allow overlapping runs. ' +
    'UNKNOWN: the agent has stopped sending heartbeats, and the time limit for them has not passed yet.',
  permission: 'executions:read',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  success: { status: 200, body: Type.Object({ status: ExecutionStatus }) },
  problems: ['execution-not-found'],
  events: [],
});

export const ExecutionStep = named(
  'PipelineExecutionStep',
  Type.Object({
    id: Uuid,
    name: Name,
    result: Type.Object({
      status: StepStatus,
      startedAt: DateTime,
      finishedAt: Type.Optional(DateTime),
      message: Type.Optional(Type.String({ maxLength: 10_000 })),
      rowCount: Type.Optional(Type.Integer({ minimum: 0 })),
      attempt: Type.Optional(StepAttempt),
      progress: Type.Optional(StepProgress),
      sql: Type.Optional(
        Type.String({
          maxLength: stepSqlLimit,
          description:
            'The statements as they were sent to the warehouse, up to 10,000 characters, with secrets masked',
        }),
      ),
    }),
    childPipeline: Type.Optional(Type.Object({ id: Uuid, name: CalledPipelineName })),
  }),
);
export type ExecutionStep = Static<typeof ExecutionStep>;

export const listPipelineExecutionSteps = operation({
  ...executionOperation,
  id: 'listPipelineExecutionSteps',
  method: 'GET',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}/steps',
  summary: 'List steps',
  description:
    'In the order in which the steps started. To list the steps of a child pipeline, use its `childPipeline.id` as the id of the execution.',
  permission: 'executions:read',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(ExecutionStep) },
  problems: ['execution-not-found'],
  events: [],
});

export const cancelPipelineExecution = operation({
  ...executionOperation,
  id: 'cancelPipelineExecution',
  method: 'PATCH',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}',
  summary: 'Cancel an execution',
  description:
    'The running steps finish, and no other step starts. With `forceUpdate`, the process is killed. An execution that has already ended cannot be cancelled: 409. ' +
    'If the execution ends while it is being cancelled, the end that the agent reports counts: a run that succeeds before it notices the request is SUCCESS. ' +
    'The messages of the steps that did not run, or were killed, name the caller that cancelled.',
  permission: 'environment:run',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  body: Type.Object({
    status: oneOf(['CANCELLED']),
    forceUpdate: Type.Optional(Type.Boolean({ default: false })),
  }),
  success: { status: 200, body: Type.Object({ pipelineExecutionId: Uuid }) },
  problems: ['execution-not-found', 'execution-ended'],
  events: ['pipeline-execution-cancel-requested', 'pipeline-execution-ended', 'lineage-recorded'],
});

export const pipelineExecutionOperations = [
  startPipelineExecution,
  listPipelineExecutions,
  getPipelineExecution,
  getPipelineExecutionStatus,
  listPipelineExecutionSteps,
  cancelPipelineExecution,
] as const;
