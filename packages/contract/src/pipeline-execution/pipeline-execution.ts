/** Pipeline executions: interface.md E23, shapes.md Executions. */
import { type Static, Type } from 'typebox';
import { sharedArtifactLimit } from '../agent-protocol/claim.ts';
import { stepStatuses } from '../agent-protocol/report.ts';
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
import { GridRow, gridRowLimit, NumberValue, TextValue } from '../variable/variable-value.ts';

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
export const executionTriggers = ['DESIGNER', 'API', 'SCHEDULE', 'SCHEDULE_RUN_NOW', 'UNKNOWN'] as const;

const executionPath = { ...projectPath, pipelineExecutionId: OpaqueId };
const PipelineName = Type.String({
  minLength: 1,
  maxLength: 1_024,
  description: 'The path of the pipeline; with its extension in answers, with or without it in requests',
});
/** Of a shared pipeline the prefix of its group stands before it. */
const CalledPipelineName = Type.String({ minLength: 1, maxLength: 1_200 });

const executionMembers = {
  pipelineExecutionId: Uuid,
  pipelineName: CalledPipelineName,
  pipelineType: oneOf(['ORCHESTRATION', 'TRANSFORMATION']),
  projectId: ProjectId,
  environmentName: EnvironmentName,
  versionName: VersionName,
  status: oneOf(executionStatuses),
  trigger: oneOf(executionTriggers),
  scheduleId: Type.Optional(Uuid),
  executionTag: Type.Optional(Name),
  startedAt: DateTime,
  finishedAt: Type.Optional(DateTime),
  message: Type.Optional(Type.String({ maxLength: 10_000 })),
  user: Type.Optional(Type.String({ maxLength: 255, description: 'Who started it' })),
};
export const PipelineExecution = Type.Object(executionMembers);
export type PipelineExecution = Static<typeof PipelineExecution>;

/** One execution as it is read by itself. */
const detailMembers = {
  ...executionMembers,
  sharedPipelines: Type.Optional(
    Type.Array(Type.Object({ sharedPipelineIdPrefix: Name, versionName: VersionName }), {
      maxItems: sharedArtifactLimit,
      description:
        'Which version of each group of shared pipelines its start has chosen; absent when it uses none',
    }),
  ),
};
const PipelineExecutionDetail = Type.Object(detailMembers);
export type PipelineExecutionDetail = Static<typeof PipelineExecutionDetail>;

export const startPipelineExecution = operation({
  id: 'startPipelineExecution',
  method: 'POST',
  path: '/v1/projects/{projectId}/pipeline-executions',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'Start a pipeline',
  description:
    'Without `versionName`: the newest enabled version in the environment. Without `agentId`: the environment’s default agent, ' +
    'else the only agent of the account. An `executionTag` that is still running in the environment is refused.',
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
    'unknown-agent',
    'environment-without-agent',
    'unknown-pipeline-variable',
    'pipeline-variable-type',
  ],
  events: ['pipeline-execution-requested'],
});

export const listPipelineExecutions = operation({
  id: 'listPipelineExecutions',
  method: 'GET',
  path: '/v1/pipeline-executions',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'List the executions of the account, newest first',
  description: 'Holds the executions of the projects that the caller may read.',
  permission: 'projects:list',
  query: Type.Object({
    ...tokenQuery,
    projectId: Type.Optional(ProjectId),
    environmentName: Type.Optional(EnvironmentName),
    pipelineName: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_024, description: 'A part of the name, in any case' }),
    ),
    status: Type.Optional(Type.Array(oneOf(executionStatuses), { maxItems: executionStatuses.length })),
    scheduleId: Type.Optional(OpaqueId),
    startedAfter: Type.Optional(DateTime),
    startedBefore: Type.Optional(DateTime),
  }),
  success: { status: 200, body: tokenPageOf(PipelineExecution) },
  problems: [],
  events: [],
});

export const getPipelineExecution = operation({
  id: 'getPipelineExecution',
  method: 'GET',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'Read one execution',
  description:
    'The id of a `childPipeline` is that of an execution, too: reading it, its status and its steps answer for it.',
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
  id: 'getPipelineExecutionStatus',
  method: 'GET',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}/status',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'Read the status of an execution',
  description:
    'FORBIDDEN: refused by the agent’s allowlist or for want of a right in the environment when it came to run. ' +
    'SKIPPED: a schedule that may not overlap. UNKNOWN: its agent is silent and the bound has not passed yet.',
  permission: 'executions:read',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  success: { status: 200, body: Type.Object({ status: oneOf(executionStatuses) }) },
  problems: ['execution-not-found'],
  events: [],
});

export const ExecutionStep = Type.Object({
  id: Uuid,
  name: Name,
  result: Type.Object({
    status: oneOf(stepStatuses),
    startedAt: DateTime,
    finishedAt: Type.Optional(DateTime),
    message: Type.Optional(Type.String({ maxLength: 10_000 })),
    rowCount: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
  childPipeline: Type.Optional(Type.Object({ id: Uuid, name: CalledPipelineName })),
});
export type ExecutionStep = Static<typeof ExecutionStep>;

export const listPipelineExecutionSteps = operation({
  id: 'listPipelineExecutionSteps',
  method: 'GET',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}/steps',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'List the steps of an execution in the order in which they started',
  description:
    'The steps of a child pipeline are read in the same way with `childPipeline.id` in place of the execution’s id.',
  permission: 'executions:read',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(ExecutionStep) },
  problems: ['execution-not-found'],
  events: [],
});

export const cancelPipelineExecution = operation({
  id: 'cancelPipelineExecution',
  method: 'PATCH',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'Cancel an execution',
  description:
    'Graceful: the running step ends first. Forced: its process is killed. One that has already ended is refused.',
  permission: 'environment:run',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  body: Type.Object({
    status: oneOf(['CANCELLED']),
    forceUpdate: Type.Optional(Type.Boolean({ default: false })),
  }),
  success: { status: 200, body: Type.Object({ pipelineExecutionId: Uuid }) },
  problems: ['execution-not-found', 'execution-ended'],
  events: ['pipeline-execution-cancel-requested', 'pipeline-execution-ended'],
});

export const pipelineExecutionOperations = [
  startPipelineExecution,
  listPipelineExecutions,
  getPipelineExecution,
  getPipelineExecutionStatus,
  listPipelineExecutionSteps,
  cancelPipelineExecution,
] as const;
