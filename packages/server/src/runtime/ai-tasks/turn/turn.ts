/** One turn: the model is asked, and its answer is written with the calls that it asks for. */
import { type AiMessageData, aiTextLimit } from '@headgate/contract';
import type { Transaction } from '../../../kernel/database/database.ts';
import { recordProjectUsage } from '../../../records/consumption/index.ts';
import { type ModelSettings, mostMessages, nameAssistant } from '../model/ai-settings.ts';
import { Meter, type Tokens } from '../model/meter.ts';
import { type ModelAnswer, ModelFailed } from '../model/model.ts';
import { computeCost } from '../store/budget.ts';
import { addTaskUsage, type HeldTask } from '../store/held-task.store.ts';
import { appendMessages, type NewMessage } from '../store/message.store.ts';
import { toStoredText } from '../store/stored-text.ts';
import {
  endWith,
  type NextStep,
  type RunServices,
  throwIfLost,
  writeEnd,
  writeFreshStep,
  writeStep,
} from '../store/task-run.ts';
import { type NewTurn, writeCall, writeTurn, writeTurnEnd } from '../store/turn.store.ts';
import { prepareAsk } from './ask-model.ts';
import { judgeAll } from './proposed-call.ts';
import { showText } from './shown-text.ts';

/** A turn whose servers die this often is given up: the answer may be what kills them. */
const mostAttempts = 5;

export async function takeTurn(services: RunServices, task: HeldTask, signal: AbortSignal) {
  const { last_turn: last } = task;
  const isAgain = last?.status === 'ASKED';
  const turn: NewTurn = {
    turn: isAgain ? last.turn : (last?.turn ?? 0) + 1,
    groupId: services.newId(),
    throughPosition: task.last_position,
    sender: { sender_id: task.sender_id, sender_credential_id: task.sender_credential_id },
  };
  const began = performance.now();
  const meter = new Meter();
  const measureUse = (tokens: Tokens) => measure(services.settings.model, tokens, performance.now() - began);
  const measureLost = () => measureUse(meter.countLost());
  if (isAgain && last.attempts >= mostAttempts) {
    const failure = new ModelFailed('model-unavailable', 'The turn was interrupted several times.');
    return failTurn(services, task, turn, failure, measureLost());
  }
  const text = showText(services, task, turn);
  try {
    const answer = await askModel(services, task, turn, signal, { meter, onText: text.add });
    return await writeAnswer(services, task, turn, answer, measureUse(meter.countAnswer(answer)));
  } catch (failure) {
    throwIfLost(signal);
    if (failure instanceof ModelFailed) return failTurn(services, task, turn, failure, measureLost());
    // Stopped on request: the next step ends the task.
    if (signal.aborted) return giveUpTurn(services, task, turn, measureLost());
    throw failure;
  } finally {
    text.end();
  }
}

/** Writes the turn, which counts from then on, and asks. */
async function askModel(
  services: RunServices,
  task: HeldTask,
  turn: NewTurn,
  signal: AbortSignal,
  observers: { meter: Meter; onText: (piece: string | undefined) => void },
): Promise<ModelAnswer> {
  const now = services.clock.now();
  const [ask] = await Promise.all([
    prepareAsk(services, task, signal, observers),
    // A message that has come meanwhile would be answered with the rights of another sender.
    writeFreshStep(services, task, (tx) => {
      writeTurn(tx, task, turn, now);
      spend(tx, task, { turns: 1, ...nothingUsed }, now);
    }),
  ]);
  return ask();
}

interface Measured extends Tokens {
  cost: number;
  milliseconds: number;
}
const nothingUsed: Measured = { input: 0, output: 0, cost: 0, milliseconds: 0 };

/** The rule-based assistant uses no tokens. */
function measure(model: ModelSettings | undefined, tokens: Tokens, duration: number): Measured {
  const used = model === undefined ? nothingUsed : tokens;
  return { ...used, cost: computeCost(model, used), milliseconds: Math.round(duration) };
}

/** Counts what was used in the budgets of the task, of the account and of the project. */
function spend(tx: Transaction, task: HeldTask, used: Measured & { turns: number }, now: Date): void {
  const { turns, input, output, milliseconds } = used;
  addTaskUsage(tx, task, used, now);
  const usage = {
    kind: 'ai',
    accountId: task.account_id,
    projectId: task.project_id,
    environmentName: task.environment_name,
    userId: task.sender_id,
    runs: turns,
    milliseconds,
    inputTokens: input,
    outputTokens: output,
  } as const;
  recordProjectUsage(tx, usage, now);
}

function describeUsage({ input, output, milliseconds }: Measured): AiMessageData {
  return { type: 'usage', inputTokens: input, outputTokens: output, milliseconds };
}

/** A turn without an answer. What the model server made of it may cost all the same. */
function giveUpTurn(services: RunServices, task: HeldTask, { turn, groupId }: NewTurn, measured: Measured) {
  const now = services.clock.now();
  return writeStep(services, task, (tx) => {
    writeTurnEnd(tx, task, { turn, status: 'FAILED' }, now);
    appendMessages(tx, task, [{ groupId, data: describeUsage(measured) }], now);
    spend(tx, task, { turns: 0, ...measured }, now);
    return 'again' as const;
  });
}

async function failTurn(
  services: RunServices,
  task: HeldTask,
  turn: NewTurn,
  { code, message: text, reason }: ModelFailed,
  measured: Measured,
): Promise<NextStep> {
  services.log.warn({ taskId: task.task_id, code, reason }, 'the model gave no answer to an AI task');
  await giveUpTurn(services, task, turn, measured);
  return endWith(services, task, 'ERRORED', { type: 'error', code, text });
}

const refusalText = 'The model refused to answer.';

function writeAnswer(
  services: RunServices,
  task: HeldTask,
  turn: NewTurn,
  answer: ModelAnswer,
  measured: Measured,
): Promise<NextStep> {
  const { clock, newId, settings, tools } = services;
  const now = clock.now();
  const { groupId } = turn;
  const calls = judgeAll(answer.calls, { tools, config: task.agent_config, turn, newId, now });
  const text = toStoredText(chooseText(answer), aiTextLimit);
  const assistant = nameAssistant(settings);
  const messages: NewMessage[] = [
    { groupId, data: describeUsage(measured) },
    ...(text === '' ? [] : [{ groupId, data: { type: 'assistant', text, assistant } as const }]),
    ...calls.flatMap(({ messages: ofCall }) => ofCall.map((data) => ({ groupId, data }))),
  ];
  return writeStep(services, task, async (tx, locked) => {
    writeTurnEnd(tx, task, { turn: turn.turn, status: 'ANSWERED' }, now);
    for (const { row } of calls) writeCall(tx, task, row);
    appendMessages(tx, task, messages, now);
    spend(tx, task, { turns: 0, ...measured }, now);
    // A message that came meanwhile is answered too.
    const isFinal = calls.length === 0 && locked.last_position === turn.throughPosition;
    const isFull = task.last_position + messages.length >= mostMessages;
    if (!isFinal || isFull) return 'again' as const;
    await writeEnd(tx, task, { from: locked.status, status: 'STOPPED' }, { newId, now });
    return 'ended' as const;
  });
}

/** Model servers refuse a conversation with a text of spaces. */
function chooseText({ text: source, calls, end }: ModelAnswer): string {
  const text = source.trim() === '' ? '' : source;
  if (end === 'refused') return text === '' ? refusalText : `${text}\n\n${refusalText}`;
  if (text === '' && calls.length === 0) return '(The model gave an empty answer.)';
  return end === 'cut' && calls.length === 0
    ? `${text}\n\n(The answer was cut at its longest length.)`
    : text;
}
