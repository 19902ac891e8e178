/** What a person decides about calls that wait. */
import type {
  AiDecisionType,
  AiMessageData,
  AiPendingDecision,
  BodyOf,
  decideAiTask,
} from '@headgate/contract';
import { statement, type Transaction, typed } from '../../../kernel/database/database.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { toUuid } from '../../../kernel/identifiers.ts';
import { findUserAccessId, type Scope } from '../../../kernel/security/permissions.ts';
import type { PermissionMessage } from '../../ai-tools/index.ts';
import { askUser, type Questions } from '../model/tool-set.ts';
import type { NewMessage } from '../store/message.store.ts';
import { encodeJson } from '../store/stored-text.ts';

type Decision = BodyOf<typeof decideAiTask>['decisions'][number];

const keyTypes = { account_id: 'uuid', task_id: 'uuid' } as const;
const waitingCalls = statement(
  {
    parameters: { ...keyTypes, now: 'timestamptz' },
    row: {
      call_id: 'uuid',
      group_id: 'uuid',
      tool_name: 'text',
      input: typed<Record<string, unknown>>('jsonb'),
      permission_message: typed<PermissionMessage>('jsonb'),
      expires_at: 'timestamptz',
    },
  },
  `
  select call_id, group_id, tool_name, input::jsonb as input, permission_message, expires_at from ai_call
  where account_id = $account_id and task_id = $task_id and status = 'WAITING' and expires_at > $now
  order by turn, number`,
);
const decideCall = statement(
  {
    parameters: {
      ...keyTypes,
      call_id: 'uuid',
      status: 'text',
      outcome: 'text?',
      decision: 'text',
      reason: 'text?',
      answers: 'jsonb?',
      sender_id: 'uuid',
      sender_credential_id: 'uuid?',
      ended_at: 'timestamptz?',
    },
  },
  `
  update ai_call set status = $status, outcome = $outcome, decision = $decision, reason = $reason, answers = $answers,
    sender_id = $sender_id, sender_credential_id = $sender_credential_id, other_principal_ids = '{}', ended_at = $ended_at, expires_at = null
  where account_id = $account_id and task_id = $task_id and call_id = $call_id`,
);

interface WaitingCall {
  call_id: string;
  group_id: string;
  tool_name: string;
  input: Record<string, unknown>;
  permission_message: PermissionMessage;
  expires_at: Date;
}

export interface Decided {
  messages: NewMessage[];
  /** The tools to grant for the rest of the task. */
  granted: string[];
  /** The calls that still wait. */
  pending: AiPendingDecision[];
}

/**
 * Writes the decisions; the caller has locked the task, and adds the messages and grants.
 *
 * @throws `decision-not-pending`, `decision-kind`
 */
export async function writeDecisions(
  tx: Transaction,
  source: { scope: Scope; taskId: string; decisions: readonly Decision[]; now: Date },
): Promise<Decided> {
  const { scope, now } = source;
  const key = { account_id: scope.accountId, task_id: source.taskId };
  const waiting = new Map(
    (await tx.query(waitingCalls, { ...key, now })).map((call) => [call.call_id, call]),
  );
  const decided: Decided = { messages: [], granted: [], pending: [] };
  for (const [index, decision] of source.decisions.entries()) {
    const callId = toUuid(decision.id);
    const call = waiting.get(callId);
    if (call === undefined) throw problem('decision-not-pending', { index, id: decision.id });
    waiting.delete(callId);
    const fault = findFault(decision, call);
    if (fault !== undefined) throw problem('decision-kind', { index, reason: fault });
    const end = endOf(decision, call);
    tx.send(decideCall, {
      ...key,
      call_id: callId,
      status: end === undefined ? 'ALLOWED' : 'ENDED',
      outcome: end?.outcome ?? null,
      decision: decision.type,
      reason: decision.reason ?? null,
      answers: decision.answers === undefined ? null : encodeJson(decision.answers),
      sender_id: scope.actorId,
      sender_credential_id: findUserAccessId(scope),
      ended_at: end === undefined ? null : now,
    });
    if (decision.type === 'ALLOW_FOR_TASK') decided.granted.push(call.tool_name);
    decided.messages.push({ groupId: call.group_id, data: describeDecision(decision, callId, scope) });
    if (end !== undefined) decided.messages.push({ groupId: call.group_id, data: end });
  }
  decided.pending = [...waiting.values()].map((call) => ({
    type: 'tool',
    toolId: call.call_id,
    toolName: call.tool_name,
    toolInput: call.input,
    permissionMessage: call.permission_message,
    expiresAt: call.expires_at.toISOString(),
  }));
  return decided;
}

function describeDecision(decision: Decision, toolId: string, scope: Scope): AiMessageData {
  const { type, reason, answers } = decision;
  return {
    type: 'decision',
    toolId,
    decision: type,
    ...(reason === undefined ? {} : { reason }),
    ...(answers === undefined ? {} : { answers }),
    senderId: scope.actorId,
  };
}

/** The result of a call that does not run. */
function endOf(
  decision: Decision,
  { call_id: toolId, tool_name: toolName, input }: WaitingCall,
): (AiMessageData & { type: 'tool-result' }) | undefined {
  if (decision.type === 'DENY') {
    const why = decision.reason === undefined ? '' : ` The reason: ${decision.reason}`;
    return {
      type: 'tool-result',
      toolId,
      toolName,
      outcome: 'DENIED',
      text: `The person denied this call.${why}`,
    };
  }
  if (decision.type !== 'ANSWER') return undefined;
  const { questions } = input as Questions;
  const lines = (decision.answers ?? []).map(
    ({ questionIndex, selectedOptions }) =>
      `${questions[questionIndex]?.question ?? ''}: ${selectedOptions.join(', ')}`,
  );
  return { type: 'tool-result', toolId, toolName, outcome: 'DONE', text: lines.join('\n') };
}

const needsAnswer: Readonly<Record<AiDecisionType, boolean | undefined>> = {
  ALLOW_ONCE: false,
  ALLOW_FOR_TASK: false,
  ANSWER: true,
  DENY: undefined,
};

function findFault(
  { type, answers }: Decision,
  { tool_name: toolName, input }: WaitingCall,
): string | undefined {
  const isQuestion = toolName === askUser;
  const isAnswer = needsAnswer[type];
  if (isAnswer !== undefined && isAnswer !== isQuestion)
    return isQuestion
      ? `type ${type} does not answer a question: send ANSWER with answers, or DENY.`
      : `type ANSWER is for ${askUser}, but the call is of ${toolName}: send ALLOW_ONCE, ALLOW_FOR_TASK or DENY.`;
  if (type !== 'ANSWER')
    return answers === undefined ? undefined : `answers belong to the type ANSWER, not ${type}.`;
  return findAnswerFault(answers ?? [], input as Questions);
}

function findAnswerFault(
  answers: NonNullable<Decision['answers']>,
  { questions }: Questions,
): string | undefined {
  for (const [index, question] of questions.entries()) {
    const ofQuestion = answers.filter(({ questionIndex }) => questionIndex === index);
    const [only] = ofQuestion;
    if (only === undefined || ofQuestion.length > 1)
      return `answers must have one entry with questionIndex ${index}: ${question.question}`;
    const [option, ...more] = only.selectedOptions;
    if (option === undefined)
      return `answers need at least one of selectedOptions for questionIndex ${index}.`;
    if (more.length > 0 && question.multiple !== true)
      return `questionIndex ${index} takes one of selectedOptions.`;
    const unknown = only.selectedOptions.find((each) => !question.options.includes(each));
    if (unknown !== undefined)
      return `${JSON.stringify(unknown)} is not an option of questionIndex ${index}; the options are ${question.options.join(', ')}.`;
  }
  const beyond = answers.find(({ questionIndex }) => questionIndex >= questions.length);
  return beyond && `there is no question ${beyond.questionIndex}; the call has ${questions.length}.`;
}
