/** AI agent tasks. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, OpaqueId, oneOf, ProjectId, pageQuery, pageSizeLimit, Uuid } from '../primitives.ts';
import {
  AiAgentConfig,
  aiTaskModes,
  branchLimit,
  GrantedPermissions,
  PendingDecisions,
} from './ai-agent-config.ts';

export const aiTaskStatuses = ['RUNNING', 'STOPPING', 'STOPPED', 'ERRORED'] as const;
export type AiTaskStatus = (typeof aiTaskStatuses)[number];
export const AiTaskStatus = oneOf(aiTaskStatuses, {
  description:
    'RUNNING: also while it waits for a decision. STOPPED: it has answered, was stopped, or has used up a budget; a message resumes it. ERRORED: the last message says why; a message resumes it',
});
export const aiMessageLimit = 32_768;
export const MessageText = Type.String({ minLength: 1, maxLength: aiMessageLimit });

const Count = Type.Integer({ minimum: 0 });
const AiTaskUsage = Type.Object({
  turns: Count,
  inputTokens: Count,
  outputTokens: Count,
  cost: Type.Number({ minimum: 0, description: 'By the prices of the settings; 0 without them' }),
  seconds: Type.Number({ minimum: 0, description: 'Time of turns and calls' }),
});

export const AiTask = named(
  'AiTask',
  Type.Object({
    taskId: Uuid,
    status: AiTaskStatus,
    description: Type.String({ maxLength: 200, description: 'The beginning of the first message' }),
    createdAt: DateTime,
    modifiedAt: DateTime,
    createdBy: Uuid,
    assistant: Type.String({
      maxLength: 255,
      description: 'What answers: the model of the server, or `rule-based assistant`',
    }),
    agentConfig: AiAgentConfig,
    grantedPermissions: GrantedPermissions,
    pendingDecisions: PendingDecisions,
    usage: AiTaskUsage,
  }),
);
export type AiTask = Static<typeof AiTask>;

const AiTaskItem = named(
  'AiTaskItem',
  Type.Object({
    taskId: Uuid,
    status: AiTaskStatus,
    agentName: Type.String({ maxLength: 100 }),
    mode: oneOf(aiTaskModes),
    description: Type.String({ maxLength: 200 }),
    modifiedAt: DateTime,
    projectId: Uuid,
    branchId: Type.Optional(Type.String({ maxLength: branchLimit, description: 'The name of the branch' })),
  }),
);
export type AiTaskItem = Static<typeof AiTaskItem>;

const tasksPath = '/v1/ai/agents/tasks';
const taskPath = `${tasksPath}/{taskId}` as const;

/** An operation on one task: its permission is checked in the project of the task. */
export const ofAiTask = {
  surface: 'dpc',
  tag: 'AI tasks',
  projectFrom: 'resource',
  params: Type.Object({ taskId: OpaqueId }),
} as const;

export const createAiTask = operation({
  id: 'createAiTask',
  method: 'POST',
  path: tasksPath,
  surface: 'dpc',
  tag: 'AI tasks',
  summary: 'Create an AI task',
  description:
    'The task begins at once; its messages have the results. A call may do what the creator and all senders of the messages that it serves may do, read at that moment. ' +
    'A tool that changes something waits in `pendingDecisions`, unless `grantedPermissions` names it.',
  permission: 'project:configure',
  projectFrom: 'body.agentConfig.projectId',
  body: Type.Object({
    agentConfig: AiAgentConfig,
    message: MessageText,
    grantedPermissions: Type.Optional(GrantedPermissions),
  }),
  success: {
    status: 201,
    body: Type.Object({
      taskId: Uuid,
      status: AiTaskStatus,
      agentName: Type.String({ maxLength: 100 }),
      createdAt: DateTime,
    }),
    headers: ['Location'],
  },
  problems: [
    'environment-not-found',
    'ai-task-budget',
    'budget-exceeded',
    'too-many-ai-tasks',
    'grant-refused',
    'grant-without-effect',
  ],
  events: ['ai-task-created'],
});

export const listAiTasks = operation({
  id: 'listAiTasks',
  method: 'GET',
  path: tasksPath,
  surface: 'dpc',
  tag: 'AI tasks',
  summary: 'List AI tasks',
  description: 'The tasks of the projects that the caller may read, the last modified first.',
  permission: 'projects:list',
  query: Type.Object({
    ...pageQuery,
    size: Type.Integer({
      minimum: 1,
      default: 20,
      description: 'The number of items on a page. A value above 100 means 100',
    }),
    projectId: Type.Optional(ProjectId),
    branchId: Type.Optional(Type.String({ minLength: 1, maxLength: branchLimit })),
    status: Type.Optional(AiTaskStatus),
  }),
  success: {
    status: 200,
    body: Type.Object({
      tasks: Type.Array(AiTaskItem, { maxItems: pageSizeLimit }),
      page: Count,
      size: Type.Integer({ minimum: 1, maximum: pageSizeLimit }),
      total: Count,
    }),
  },
  problems: [],
  events: [],
});

export const getAiTask = operation({
  ...ofAiTask,
  id: 'getAiTask',
  method: 'GET',
  path: taskPath,
  summary: 'Get an AI task',
  permission: 'project:read',
  success: { status: 200, body: AiTask },
  problems: ['ai-task-not-found'],
  events: [],
});

export const stopAiTask = operation({
  ...ofAiTask,
  id: 'stopAiTask',
  method: 'POST',
  path: `${taskPath}/stop`,
  summary: 'Stop an AI task',
  description:
    'The turn or the call that is under way ends, or is aborted after a while. Calls that wait for a decision are dropped. Then the task is STOPPED; a message resumes it.',
  permission: 'project:configure',
  success: { status: 202, body: Type.Object({ taskId: Uuid, status: AiTaskStatus }) },
  problems: ['ai-task-not-found', 'ai-task-not-running'],
  events: ['ai-task-stop-requested'],
});

export const replaceAiTaskPermissions = operation({
  ...ofAiTask,
  id: 'replaceAiTaskPermissions',
  method: 'PUT',
  path: `${taskPath}/permissions`,
  summary: 'Replace the permissions of an AI task',
  description: 'A call that waits and is granted now runs without a decision.',
  permission: 'project:configure',
  body: Type.Object({ grantedPermissions: GrantedPermissions }),
  success: { status: 200, body: Type.Object({ grantedPermissions: GrantedPermissions }) },
  problems: ['ai-task-not-found', 'grant-refused', 'grant-without-effect'],
  events: ['ai-task-permissions-replaced'],
});

export const deleteAiTask = operation({
  ...ofAiTask,
  id: 'deleteAiTask',
  method: 'DELETE',
  path: taskPath,
  summary: 'Delete an AI task',
  description: 'Deletes the task with its messages. A task that is at work must be stopped first.',
  permission: 'project:configure',
  success: { status: 204 },
  problems: ['ai-task-not-found', 'ai-task-running'],
  events: ['ai-task-deleted'],
});

export const aiTaskOperations = [
  createAiTask,
  listAiTasks,
  getAiTask,
  stopAiTask,
  replaceAiTaskPermissions,
  deleteAiTask,
] as const;
