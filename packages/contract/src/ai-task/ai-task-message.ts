/** The messages of an AI task, and the decisions that its calls wait for. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, EnvironmentName, OpaqueId, oneOf, tokenQuery, Uuid } from '../primitives.ts';
import {
  AiAgentConfig,
  GrantedPermissions,
  PendingDecisions,
  pendingDecisionLimit,
  ToolInput,
  toolNameLimit,
} from './ai-agent-config.ts';
import { AiTaskStatus, MessageText, ofAiTask } from './ai-task.ts';

/** A larger `limit` means this one. */
export const messagePageLimit = 1_000;
/** Characters of a text of the assistant, or of a result. */
export const aiTextLimit = 200_000;

const decisionTypes = ['ALLOW_ONCE', 'ALLOW_FOR_TASK', 'DENY', 'ANSWER'] as const;
export type AiDecisionType = (typeof decisionTypes)[number];
export const aiCallOutcomes = ['DONE', 'FAILED', 'DENIED', 'TIMED_OUT', 'STOPPED'] as const;
export type AiCallOutcome = (typeof aiCallOutcomes)[number];

const Text = Type.String({ maxLength: aiTextLimit });
const Reason = Type.String({ maxLength: 2_000 });
const ToolName = Type.String({ maxLength: toolNameLimit });
const Answers = Type.Array(
  Type.Object({
    questionIndex: Type.Integer({ minimum: 0, maximum: 100 }),
    selectedOptions: Type.Array(Type.String({ maxLength: 2_000 }), { maxItems: 20 }),
  }),
  { maxItems: 20, description: 'For ANSWER: what was chosen for each question' },
);
const Count = Type.Integer({ minimum: 0 });
const PermissionMessage = Type.Object({
  title: Type.String({ maxLength: 1_000 }),
  body: Type.String({ maxLength: 20_000 }),
});

/** A kind of message: an object whose `type` has one value. */
const AiMessageData = named(
  'AiMessageData',
  Type.Union([
    named('AiUserMessage', Type.Object({ type: oneOf(['user']), text: MessageText, senderId: Uuid })),
    named(
      'AiAssistantMessage',
      Type.Object({ type: oneOf(['assistant']), text: Text, assistant: Type.String({ maxLength: 255 }) }),
    ),
    named(
      'AiToolCallMessage',
      Type.Object({ type: oneOf(['tool-call']), toolId: Uuid, toolName: ToolName, toolInput: ToolInput }),
    ),
    named(
      'AiToolResultMessage',
      Type.Object({
        type: oneOf(['tool-result']),
        toolId: Uuid,
        toolName: ToolName,
        outcome: oneOf(aiCallOutcomes),
        text: Text,
        environmentName: Type.Optional({
          ...EnvironmentName,
          description: 'For rows of a warehouse: where they come from',
        }),
      }),
    ),
    named(
      'AiDecisionNeededMessage',
      Type.Object({
        type: oneOf(['decision-needed']),
        toolId: Uuid,
        toolName: ToolName,
        toolInput: ToolInput,
        permissionMessage: PermissionMessage,
        expiresAt: DateTime,
      }),
    ),
    named(
      'AiDecisionMessage',
      Type.Object({
        type: oneOf(['decision']),
        toolId: Uuid,
        decision: oneOf(decisionTypes),
        reason: Type.Optional(Reason),
        answers: Type.Optional(Answers),
        senderId: Uuid,
      }),
    ),
    named('AiStateMessage', Type.Object({ type: oneOf(['state']), status: AiTaskStatus, reason: Reason })),
    named(
      'AiErrorMessage',
      Type.Object({ type: oneOf(['error']), code: Type.String({ maxLength: 100 }), text: Reason }),
    ),
    named(
      'AiUsageMessage',
      Type.Object({
        type: oneOf(['usage']),
        inputTokens: Count,
        outputTokens: Count,
        milliseconds: Count,
      }),
    ),
  ]),
);
export type AiMessageData = Static<typeof AiMessageData>;

const AiTaskMessage = named(
  'AiTaskMessage',
  Type.Object({
    groupId: Type.String({
      format: 'uuid',
      maxLength: 36,
      description: 'Messages of one turn have the same',
    }),
    timestamp: DateTime,
    data: AiMessageData,
  }),
);
export type AiTaskMessage = Static<typeof AiTaskMessage>;

const messagesPath = '/v1/ai/agents/tasks/{taskId}/messages';

export const listAiTaskMessages = operation({
  ...ofAiTask,
  id: 'listAiTaskMessages',
  method: 'GET',
  path: messagesPath,
  summary: 'List the messages of an AI task',
  description:
    'Oldest first. Messages are only ever added. The `id` of a message in the stream is a `paginationToken` too: it gives the messages after that one.',
  permission: 'project:read',
  query: Type.Object({
    ...tokenQuery,
    limit: Type.Integer({
      minimum: 1,
      default: 100,
      description: `The number of items in the response. A value above ${messagePageLimit} means ${messagePageLimit}`,
    }),
  }),
  success: {
    status: 200,
    body: named(
      'AiTaskMessagePage',
      Type.Object({
        results: Type.Array(AiTaskMessage, { maxItems: messagePageLimit }),
        more: Type.Optional(
          Type.String({
            maxLength: 1_024,
            description: 'Send it as `paginationToken` to get the next items. Absent at the end of the list',
          }),
        ),
      }),
    ),
  },
  problems: ['ai-task-not-found'],
  events: [],
});

export const streamAiTaskMessages = operation({
  ...ofAiTask,
  id: 'streamAiTaskMessages',
  method: 'GET',
  path: '/v1/ai/agents/tasks/{taskId}/messages/stream',
  summary: 'Follow the messages of an AI task',
  description:
    'The messages as server-sent events, from the first one, or after `Last-Event-ID`: `data` is the message as JSON. ' +
    'Events named `text` have the text of a turn as it is made: `groupId`, `offset` and `text`; an `offset` of 0 begins the text again. The message with the whole text follows.\n\n' +
    'The last event is named `end`; its `data` has `reason`: `token-expired`, `forbidden`, `deleted`, `time-over`, `shutdown` or `unavailable`. ' +
    'After it, or a lost connection, connect again with `Last-Event-ID`: nothing is missed or repeated.',
  permission: 'project:read',
  query: Type.Object({
    seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 86_400,
        description: 'End the stream after this time. 0: send what there is, then end',
      }),
    ),
  }),
  headers: Type.Object({
    'Last-Event-Id': Type.Optional(
      Type.String({
        maxLength: 100,
        pattern: '^[\\w-]*$',
        'x-form': 'the id of an event of the stream, such as MToxNw',
        description: 'The id of the last message that was received',
      }),
    ),
  }),
  success: { status: 200, mediaType: 'text/event-stream' },
  problems: ['ai-task-not-found', 'too-many-streams'],
  events: [],
});

export const sendAiTaskMessage = operation({
  ...ofAiTask,
  id: 'sendAiTaskMessage',
  method: 'POST',
  path: messagesPath,
  summary: 'Send a message to an AI task',
  description:
    'Resumes a task that is STOPPED or ERRORED. A task that runs reads the message before its next turn. `agentConfig` and `grantedPermissions` replace those of the task. Once the task has looked at files, its branches cannot change until its changes are merged or discarded, nor its environment in a project without a repository.',
  permission: 'project:configure',
  body: Type.Object({
    message: MessageText,
    agentConfig: Type.Optional(AiAgentConfig),
    grantedPermissions: Type.Optional(GrantedPermissions),
  }),
  success: { status: 200, body: Type.Object({ taskId: Uuid }) },
  problems: [
    'ai-task-not-found',
    'ai-task-stopping',
    'ai-task-project',
    'ai-task-config-running',
    'ai-task-full',
    'ai-task-budget',
    'budget-exceeded',
    'too-many-ai-tasks',
    'ai-task-config-fixed',
    'environment-not-found',
    'grant-refused',
    'grant-without-effect',
  ],
  events: ['ai-task-message-sent'],
});

export const decideAiTask = operation({
  ...ofAiTask,
  id: 'decideAiTask',
  method: 'POST',
  path: '/v1/ai/agents/tasks/{taskId}/decisions',
  summary: 'Decide about calls of an AI task',
  description:
    'All decisions are taken, or none. ALLOW_ONCE runs the call. ALLOW_FOR_TASK also grants its tool for the rest of the task, in the same environment. DENY does not run it; the task goes on with the reason. ANSWER answers the questions of `ask_user`.',
  permission: 'project:configure',
  body: Type.Object({
    decisions: Type.Array(
      Type.Object({
        type: oneOf(decisionTypes),
        id: Type.String({ ...OpaqueId, description: 'The `toolId` of a pending decision' }),
        reason: Type.Optional(Reason),
        answers: Type.Optional(Answers),
      }),
      { minItems: 1, maxItems: pendingDecisionLimit },
    ),
  }),
  success: { status: 200, body: Type.Object({ pendingDecisions: PendingDecisions }) },
  problems: ['ai-task-not-found', 'decision-not-pending', 'decision-kind'],
  events: ['ai-task-decided'],
});

export const aiTaskMessageOperations = [
  listAiTaskMessages,
  streamAiTaskMessages,
  sendAiTaskMessage,
  decideAiTask,
] as const;
