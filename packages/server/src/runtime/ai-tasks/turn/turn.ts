/** One turn: the model is asked, and its answer is written with the calls that it asks for. */
import { type AiMessageData, aiTextLimit } from '@headgate/contract';
import type { Transaction } from '../../../kernel/database/database.ts';
import { recordProjectUsage } from '../../../records/consumption/index.ts';
import { mostMessages, nameAssistant } from '../model/ai-settings.ts';
import { Meter, type Tokens } from '../model/meter.ts';
import { type ModelAnswer, ModelFailed } from '../model/model.ts';
import { addUsage, computeCost } from '../store/budget.ts';
import { addTaskUsage } from '../store/held-task.store.ts';
import type { NewMessage } from '../store/message.store.ts';
import { toStoredText } from '../store/stored-text.ts';
import {
  addMessages,
  endWith,
  type NextStep,
  type Step,
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

export async function takeTurn(step: Step): Promise<NextStep> {
  const { task, services } = step;
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
  const measureLost = () => measure(step, meter.countLost(), performance.now() - began);
  if (isAgain && last.attempts >= mostAttempts)
    return failTurn(step, turn, new ModelFailed('model-unavailable', interruptedOften), measureLost());
  const text = showText(step, turn);
  try {
    const answer = await askModel(step, turn, meter, text.add);
    const measured = measure(step, meter.countAnswer(answer), performance.now() - began);
    return await writeAnswer(step, turn, answer, measured);
  } catch (failure) {
    step.lost.throwIfAborted();
    if (failure instanceof ModelFailed) return failTurn(step, turn, failure, measureLost());
    // Stopped on request: the next step ends the task.
    if (step.signal.aborted) return giveUpTurn(step, turn, measureLost());
    throw failure;
  } finally {
    text.end();
  }
}

const interruptedOften = 'The turn was interrupted several times.';

/** Writes the turn, which counts from then on, and asks. */
async function askModel(
  step: Step,
  turn: NewTurn,
  meter: Meter,
  onText: (piece: string | undefined) => void,
): Promise<ModelAnswer> {
  const now = step.services.clock.now();
  const [ask] = await Promise.all([
    prepareAsk(step, meter, onText),
    // A message that has come meanwhile would be answered with the rights of another sender.
    writeFreshStep(step, (tx) => {
      writeTurn(tx, step.key, turn, now);
      spend(step, tx, { turns: 1, ...nothingUsed }, now);
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
function measure({ services }: Step, tokens: Tokens, duration: number): Measured {
  const { model } = services.settings;
  const used = model === undefined ? nothingUsed : tokens;
  return { ...used, cost: computeCost(model, used), milliseconds: Math.round(duration) };
}

/** Counts what was used in the budgets of the task, of the account and of the project. */
function spend({ key, task }: Step, tx: Transaction, used: Measured & { turns: number }, now: Date): void {
  const { turns, input, output, cost, milliseconds } = used;
  tx.send(addTaskUsage, { ...key, turns, input_tokens: input, output_tokens: output, cost, milliseconds });
  addUsage(tx, key.account_id, { turns, tokens: input + output, cost, milliseconds }, now);
  const usage = {
    kind: 'ai',
    accountId: key.account_id,
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
function giveUpTurn(step: Step, { turn, groupId }: NewTurn, measured: Measured): Promise<NextStep> {
  const now = step.services.clock.now();
  return writeStep(step, (tx) => {
    writeTurnEnd(tx, step.key, { turn, status: 'FAILED' }, now);
    addMessages(step, tx, [{ groupId, data: describeUsage(measured) }], now);
    spend(step, tx, { turns: 0, ...measured }, now);
    return 'again' as const;
  });
}

async function failTurn(
  step: Step,
  turn: NewTurn,
  { code, message: text, reason }: ModelFailed,
  measured: Measured,
): Promise<NextStep> {
  step.services.log.warn(
    { taskId: step.key.task_id, code, reason },
    'the model gave no answer to an AI task',
  );
  await giveUpTurn(step, turn, measured);
  return endWith(step, 'ERRORED', { type: 'error', code, text });
}

const refusalText = 'The model refused to answer.';

function writeAnswer(step: Step, turn: NewTurn, answer: ModelAnswer, measured: Measured): Promise<NextStep> {
  const { services, key, task } = step;
  const now = services.clock.now();
  const { groupId } = turn;
  const calls = judgeAll(step, turn, answer.calls, now);
  const text = chooseText(answer);
  const messages: NewMessage[] = [
    { groupId, data: describeUsage(measured) },
    ...(text === '' ? [] : [{ groupId, data: nameText(step, text) }]),
    ...calls.flatMap(({ messages: ofCall }) => ofCall.map((data) => ({ groupId, data }))),
  ];
  return writeStep(step, async (tx, locked) => {
    writeTurnEnd(tx, key, { turn: turn.turn, status: 'ANSWERED' }, now);
    for (const { row } of calls) writeCall(tx, key, row);
    addMessages(step, tx, messages, now);
    spend(step, tx, { turns: 0, ...measured }, now);
    // A message that came meanwhile is answered too.
    const isFinal = calls.length === 0 && locked.last_position === turn.throughPosition;
    const isFull = task.last_position + messages.length >= mostMessages;
    if (!isFinal || isFull) return 'again' as const;
    await writeEnd(step, tx, { from: locked.status, status: 'STOPPED' }, now);
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

function nameText({ services }: Step, text: string): AiMessageData {
  return {
    type: 'assistant',
    text: toStoredText(text, aiTextLimit),
    assistant: nameAssistant(services.settings),
  };
}
