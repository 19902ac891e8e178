/** The log of an execution: in pages, and as server-sent events while it runs. */
import { Type } from 'typebox';
import { LogLine } from '../agent-protocol/run-log.ts';
import { operation } from '../operation.ts';
import { OpaqueId, tokenPageOf, tokenQuery } from '../primitives.ts';
import { executionPath } from './pipeline-execution.ts';

const logQuery = {
  stepId: Type.Optional({ ...OpaqueId, description: 'Only the lines of this step' }),
};
const resumeHeader = Type.Object({
  'Last-Event-Id': Type.Optional(
    Type.String({
      maxLength: 20,
      pattern: '^\\d*$',
      'x-form': 'the id of an event, such as 17',
      description: 'Of a stream: the id of the last event that was received',
    }),
  ),
});
const whatIsListed =
  'The lines that the steps print, oldest first: scripts, and components such as print-variables. ' +
  'An execution has the lines of all its pipelines; the `id` of a `childPipeline` has those of its own steps.';

export const listPipelineExecutionLogs = operation({
  id: 'listPipelineExecutionLogs',
  method: 'GET',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}/logs',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'List log lines',
  description: `${whatIsListed} With \`Accept: text/event-stream\` the response is the stream of \`…/logs/stream\`.`,
  permission: 'executions:read',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  query: Type.Object({ ...tokenQuery, ...logQuery }),
  headers: resumeHeader,
  success: { status: 200, body: tokenPageOf(LogLine), endsWith204: true },
  problems: ['execution-not-found', 'too-many-streams'],
  events: [],
});

export const streamPipelineExecutionLogs = operation({
  id: 'streamPipelineExecutionLogs',
  method: 'GET',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}/logs/stream',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'Follow the log',
  description:
    `${whatIsListed} As server-sent events: an event \`line\` for each line, with the line as JSON in \`data\` and its \`sequence\` as \`id\`. ` +
    'The last event is `end`; its `data` has `reason`: `ended` (with the `status` of the execution), `token-expired`, `forbidden`, `shutdown` or `unavailable`. ' +
    'After `ended` there is nothing more: its `id` as `Last-Event-ID` gets 204, which ends an `EventSource`. After another reason, or a lost connection, connect again with `Last-Event-ID` to continue after that line. ' +
    'A stream whose client reads nothing for a minute is closed.',
  permission: 'executions:read',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  query: Type.Object(logQuery),
  headers: resumeHeader,
  success: { status: 200, mediaType: 'text/event-stream', endsWith204: true },
  problems: ['execution-not-found', 'too-many-streams'],
  events: [],
});

export const executionLogOperations = [listPipelineExecutionLogs, streamPipelineExecutionLogs] as const;
