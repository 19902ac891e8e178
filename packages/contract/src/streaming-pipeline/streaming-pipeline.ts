/** Streaming pipelines of a project. */
import { type Static, Type } from 'typebox';
import { vaultNameProblems } from '../agent/vault-access.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  ifMatchHeader,
  Name,
  OpaqueId,
  oneOf,
  oneOfAnyCase,
  ProjectId,
  pageOf,
  pageQuery,
  Uuid,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { answerParts, requestParts } from './streaming-parts.ts';
import { StreamingSource, StreamingSourceRequest } from './streaming-source.ts';
import { StreamingTarget, StreamingTargetRequest } from './streaming-target.ts';

export const streamingStatuses = ['stopped', 'running'] as const;
export type StreamingStatus = (typeof streamingStatuses)[number];
export const streamingCommands = ['START', 'STOP'] as const;
export type StreamingCommand = (typeof streamingCommands)[number];

export const StreamingProblem = named(
  'StreamingProblem',
  Type.Object(
    {
      code: Type.String({ maxLength: 100, description: 'The code of the problem, as in error responses' }),
      detail: Type.String({ maxLength: 10_000 }),
    },
    { description: 'Why the streaming pipeline could not run' },
  ),
);
export type StreamingProblem = Static<typeof StreamingProblem>;

export const StreamingPipeline = named(
  'StreamingPipeline',
  Type.Object({
    streamingPipelineId: Uuid,
    projectId: ProjectId,
    name: Name,
    agentId: Type.Optional(Uuid),
    streamingSource: StreamingSource,
    streamingTarget: StreamingTarget,
    advancedProperties: Type.Optional(Type.Unsafe<Record<string, string>>(answerParts.properties)),
    problem: Type.Optional(StreamingProblem),
  }),
);
export type StreamingPipeline = Static<typeof StreamingPipeline>;

const body = Type.Object({
  name: Name,
  agentId: Type.Optional(Type.String({ ...OpaqueId, description: 'An agent of the agentType `streaming`' })),
  streamingSource: StreamingSourceRequest,
  streamingTarget: StreamingTargetRequest,
  advancedProperties: Type.Optional(
    Type.Unsafe<Record<string, string | number | boolean>>(requestParts.properties),
  ),
});
export type StreamingPipelineBody = Static<typeof body>;

const answerRules =
  'Responses have words such as `secretType` as they were written, each `type` in lower case, and the values of properties as strings. Members that were not sent are absent.';

const streamingOperation = { surface: 'dpc', tag: 'Streaming pipelines' } as const;
const path = '/v1/projects/{projectId}/streaming-pipelines';
const onePath = `${path}/{streamingPipelineId}` as const;
const oneParams = Type.Object({ ...projectPath, streamingPipelineId: OpaqueId });

export const listStreamingPipelines = operation({
  ...streamingOperation,
  id: 'listStreamingPipelines',
  method: 'GET',
  path,
  summary: 'List streaming pipelines',
  description: 'Newest first.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(StreamingPipeline) },
  problems: [],
  events: [],
});

const definitionProblems = [
  'streaming-pipeline-name-taken',
  'streaming-definition',
  'unknown-agent',
  'streaming-agent-type',
  ...vaultNameProblems,
] as const;

export const createStreamingPipeline = operation({
  ...streamingOperation,
  id: 'createStreamingPipeline',
  method: 'POST',
  path,
  summary: 'Create a streaming pipeline',
  description: `Stores a definition. This version does not run streaming pipelines. ${answerRules}`,
  permission: 'project:configure',
  params: Type.Object(projectPath),
  body,
  success: { status: 201, body: StreamingPipeline, headers: ['Location', 'ETag'] },
  problems: definitionProblems,
  events: ['streaming-pipeline-created', 'vault-names-granted'],
});

export const getStreamingPipeline = operation({
  ...streamingOperation,
  id: 'getStreamingPipeline',
  method: 'GET',
  path: onePath,
  summary: 'Get a streaming pipeline',
  description: 'The ETag changes when the definition is written, not with its status or problem.',
  permission: 'project:read',
  params: oneParams,
  success: { status: 200, body: StreamingPipeline, headers: ['ETag'] },
  problems: ['streaming-pipeline-not-found'],
  events: [],
});

export const updateStreamingPipeline = operation({
  ...streamingOperation,
  id: 'updateStreamingPipeline',
  method: 'PUT',
  path: onePath,
  summary: 'Replace a streaming pipeline',
  description: `Replaces the whole definition: members that the request omits are removed. ${answerRules}`,
  permission: 'project:configure',
  params: oneParams,
  headers: ifMatchHeader,
  body,
  success: { status: 200, body: StreamingPipeline, headers: ['ETag'] },
  problems: ['streaming-pipeline-not-found', ...definitionProblems, 'etag-mismatch'],
  events: ['streaming-pipeline-updated', 'vault-names-granted'],
});

export const deleteStreamingPipeline = operation({
  ...streamingOperation,
  id: 'deleteStreamingPipeline',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a streaming pipeline',
  permission: 'project:configure',
  params: oneParams,
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['streaming-pipeline-not-found', 'etag-mismatch'],
  events: ['streaming-pipeline-deleted'],
});

const StreamingPipelineStatus = named(
  'StreamingPipelineStatus',
  Type.Object({ status: oneOf(streamingStatuses), problem: Type.Optional(StreamingProblem) }),
);

export const getStreamingPipelineStatus = operation({
  ...streamingOperation,
  id: 'getStreamingPipelineStatus',
  method: 'GET',
  path: `${onePath}/status`,
  summary: 'Get the status of a streaming pipeline',
  description: 'This version does not run streaming pipelines, so the status is `stopped`.',
  permission: 'project:read',
  params: oneParams,
  success: { status: 200, body: StreamingPipelineStatus },
  problems: ['streaming-pipeline-not-found'],
  events: [],
});

export const commandStreamingPipeline = operation({
  ...streamingOperation,
  id: 'commandStreamingPipeline',
  method: 'POST',
  path: `${onePath}/commands`,
  summary: 'Start or stop a streaming pipeline',
  description:
    'This version does not run streaming pipelines: START is refused with 422, and STOP with 409, because none runs.',
  permission: 'project:configure',
  params: oneParams,
  body: Type.Object({ command: oneOfAnyCase(streamingCommands) }),
  success: { status: 202, body: StreamingPipelineStatus },
  problems: ['streaming-pipeline-not-found', 'streaming-not-supported', 'streaming-pipeline-not-running'],
  events: ['streaming-pipeline-stopped'],
});

export const streamingPipelineOperations = [
  listStreamingPipelines,
  createStreamingPipeline,
  getStreamingPipeline,
  updateStreamingPipeline,
  deleteStreamingPipeline,
  getStreamingPipelineStatus,
  commandStreamingPipeline,
] as const;
