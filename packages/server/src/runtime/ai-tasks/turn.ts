/** One turn: the model is asked, and its answer is written with the calls that it asks for. */
import { type AiMessageData, aiTextLimit } from '@headgate/contract';
import type { Transaction } from '../../kernel/database/database.ts';
import { mostMessages, nameAssistant } from './ai-settings.ts';
import { addUsage, computeCost, type Usage } from './budget.ts';
import { fitConversation } from './conversation.ts';
import { digestText, digestTool } from './grant.ts';
import { addTaskUsage } from './held-task.store.ts';
import { writeInstructions } from './instructions.ts';
import { type MessageRow, type NewMessage, readTranscript } from './message.store.ts';
import { type Ask, type AskedCall, estimateTokens, type ModelAnswer, ModelFailed } from './model.ts';
import { encodeJson, toStoredText } from './stored-text.ts';
import {
  addMessages,
  endWith,
  type NextStep,
  type Step,
  writeEnd,
  writeFreshStep,
  writeStep,
} from './task-run.ts';
import { followKeyOf, keyOfTask } from './task-state.ts';
import { parseInput } from './tool-set.ts';
import { type NewCall, writeCall, writeTextSoFar, writeTurn, writeTurnEnd } from './turn.store.ts';

/** A turn whose servers die this often is given up: the answer may be what kills them. */
const mostAttempts = 5;
const mostCalls = 20;
/** Calls beyond the limit whose refusal the model reads; those after them are left out of the messages. */
const mostRefusedCalls = 20;
const mostInputLength = 100_000;

interface Turn {
  turn: number;
  groupId: string;
  throughPosition: number;
  sender: { sender_id: string; sender_credential_id: string | null };
}

export async function takeTurn(step: Step): Promise<NextStep> {
  const { task, services, key } = step;
  const { last_turn: last } = task;
  const isAgain = last?.status === 'ASKED';
  if (isAgain && last.attempts >= mostAttempts)
    return failTurn(step, last.turn, 'model-unavailable', 'The turn was interrupted several times.');
  const turn: Turn = {
    turn: isAgain ? last.turn : (last?.turn ?? 0) + 1,
    groupId: services.newId(),
    throughPosition: task.last_position,
    sender: { sender_id: task.sender_id, sender_credential_id: task.sender_credential_id },
  };
  const beganAt = services.clock.now();
  const text = showText(step, turn);
  try {
    const { throughPosition } = turn;
    const ofTask = { accountId: key.account_id, taskId: key.task_id, throughPosition };
    const [rows] = await Promise.all([
      readTranscript(services.database.read, ofTask),
      // A message that has come meanwhile would be answered with the rights of another sender.
      writeFreshStep(step, (tx) => writeTurn(tx, key, turn, beganAt)),
    ]);
    const began = performance.now();
    const { answer, asked } = await askModel(step, rows, text.add);
    return await writeAnswer(step, turn, answer, measure(step, answer, asked, performance.now() - began));
  } catch (failure) {
    step.lost.throwIfAborted();
    if (failure instanceof ModelFailed) return failTurn(step, turn.turn, failure.code, failure.message);
    // Stopped on request: the next step ends the task.
    if (step.signal.aborted) return writeStep(step, (tx) => giveUpTurn(step, tx, turn.turn));
    throw failure;
  } finally {
    text.end();
  }
}

function giveUpTurn({ key, services }: Step, tx: Transaction, turn: number): 'again' {
  writeTurnEnd(tx, key, { turn, status: 'FAILED' }, services.clock.now());
  return 'again';
}

async function failTurn(step: Step, turn: number, code: string, text: string): Promise<NextStep> {
  await writeStep(step, (tx) => giveUpTurn(step, tx, turn));
  return endWith(step, 'ERRORED', { type: 'error', code, text });
}

async function askModel(
  step: Step,
  rows: readonly MessageRow[],
  onText: Ask['onText'],
): Promise<{ answer: ModelAnswer; asked: string }> {
  const { services, task } = step;
  const { settings, tools } = services;
  const instructions = writeInstructions(task.agent_config);
  const offered = tools.list(task.agent_config.mode ?? 'ACT');
  const fixed = estimateTokens(instructions + JSON.stringify(offered));
  const maxOutputTokens = computeOutputLimit(step);
  const most = (settings.model?.contextTokens ?? Number.POSITIVE_INFINITY) - maxOutputTokens - fixed;
  const ask = async (limit: number) => {
    const { conversation } = fitConversation(rows, limit);
    const asked = instructions + JSON.stringify(offered) + JSON.stringify(conversation);
    const { signal } = step;
    const request: Ask = { instructions, conversation, tools: offered, maxOutputTokens, signal, onText };
    return { answer: await services.model.ask(request), asked };
  };
  return ask(most).catch((failure: unknown) => {
    // The model server counts in its own way: it gets half as much, once.
    const isTooLong = failure instanceof ModelFailed && failure.code === 'context-too-long';
    if (!isTooLong || !Number.isFinite(most)) throw failure;
    return ask(most / 2);
  });
}

/** What the model may write: bounded by what is left of the budget. */
function computeOutputLimit({ task, services: { settings } }: Step): number {
  const most = settings.model?.maxOutputTokens ?? 4_096;
  const left = settings.ofTask.tokens - task.input_tokens - task.output_tokens;
  return Math.max(16, Math.min(most, left));
}

const shownEveryMilliseconds = 250;
/** A follower on another server asks again more often than this. */
const followedMilliseconds = 20_000;

/**
 * Shows the text to followers here at once. While there are followers on other servers, writes it to the row of the
 * turn too; it is only a preview, as the message follows in any case.
 */
function showText({ services, key }: Step, { turn, groupId }: Turn) {
  const { live, database, wakes } = services;
  const taskId = key.task_id;
  let timer: NodeJS.Timeout | undefined;
  let followedUntil = 0;
  let written = '';
  const write = () => {
    timer = undefined;
    const text = toStoredText(live.read(taskId)?.text ?? '', aiTextLimit);
    if (text === written) return;
    written = text;
    writeTextSoFar(database.read, key, turn, text).then(
      () => wakes.wake(keyOfTask(taskId), 'all'),
      () => undefined,
    );
  };
  const writeSoon = () => {
    if (performance.now() < followedUntil) timer ??= setTimeout(write, shownEveryMilliseconds);
  };
  const waiter = {
    number: 0,
    wake() {
      followedUntil = performance.now() + followedMilliseconds;
      wakes.wait(followKeyOf(taskId), waiter);
      writeSoon();
    },
  };
  live.begin(taskId, groupId);
  wakes.wait(followKeyOf(taskId), waiter);
  return {
    add(piece: string | undefined) {
      live.add(taskId, piece);
      writeSoon();
    },
    end() {
      clearTimeout(timer);
      wakes.stopWaiting(followKeyOf(taskId), waiter);
      live.end(taskId);
    },
  };
}

interface Measured {
  input: number;
  output: number;
  cost: number;
  milliseconds: number;
}

function measure({ services }: Step, answer: ModelAnswer, asked: string, milliseconds: number): Measured {
  const { model } = services.settings;
  if (model === undefined) return { input: 0, output: 0, cost: 0, milliseconds: Math.round(milliseconds) };
  const written = answer.text + answer.calls.map(({ input }) => input).join('');
  const input = answer.inputTokens ?? estimateTokens(asked);
  const output = answer.outputTokens ?? estimateTokens(written);
  return {
    input,
    output,
    cost: computeCost(model, { input, output }),
    milliseconds: Math.round(milliseconds),
  };
}

const refusalText = 'The model refused to answer.';

function writeAnswer(step: Step, turn: Turn, answer: ModelAnswer, measured: Measured): Promise<NextStep> {
  const { services, key, task } = step;
  const now = services.clock.now();
  const groupId = turn.groupId;
  const calls = answer.calls
    .slice(0, mostCalls + mostRefusedCalls)
    .map((call, index) => judgeProposed(step, turn, call, index, now));
  const { input: inputTokens, output: outputTokens, cost, milliseconds } = measured;
  const usage: AiMessageData = { type: 'usage', inputTokens, outputTokens, milliseconds };
  const text = chooseText(answer);
  const messages: NewMessage[] = [
    { groupId, data: usage },
    ...(text === '' ? [] : [{ groupId, data: nameText(step, text) }]),
    ...calls.flatMap(({ messages: ofCall }) => ofCall.map((data) => ({ groupId, data }))),
  ];
  return writeStep(step, (tx, locked) => {
    writeTurnEnd(tx, key, { turn: turn.turn, status: 'ANSWERED' }, now);
    for (const { row } of calls) writeCall(tx, key, row);
    addMessages(step, tx, messages, now);
    tx.send(addTaskUsage, {
      ...key,
      turns: 1,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cost,
      milliseconds,
    });
    const used: Usage = { turns: 1, tokens: inputTokens + outputTokens, cost, milliseconds };
    addUsage(tx, key.account_id, used, now);
    // A message that came meanwhile is answered too.
    const isFinal = calls.length === 0 && locked.last_position === turn.throughPosition;
    const isFull = task.last_position + messages.length >= mostMessages;
    if (!isFinal || isFull) return 'again' as const;
    writeEnd(step, tx, { from: locked.status, status: 'STOPPED' }, now);
    return 'ended' as const;
  });
}

function chooseText({ text, calls, end }: ModelAnswer): string {
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

interface Proposed {
  row: NewCall;
  messages: AiMessageData[];
}

/** A call as the model wrote it. One that cannot run ends at once, and the model learns why. */
function judgeProposed(step: Step, turn: Turn, asked: AskedCall, index: number, now: Date): Proposed {
  const { services } = step;
  const toolId = services.newId();
  const toolName = toStoredText(asked.toolName, 100);
  const input = parseInput(asked.input);
  const fault = findFault(step, asked, index);
  const tool = services.tools.find(asked.toolName);
  // From what was parsed, so that what people see is what runs.
  const written = JSON.stringify(fault === undefined ? input : {});
  const row: NewCall = {
    call_id: toolId,
    turn: turn.turn,
    number: index,
    group_id: turn.groupId,
    tool_name: toolName,
    input: written,
    input_digest: digestText(written),
    schema_digest: tool === undefined ? null : digestTool(tool),
    status: fault === undefined ? 'PROPOSED' : 'ENDED',
    outcome: fault === undefined ? null : 'FAILED',
    ...turn.sender,
    ended_at: fault === undefined ? null : now,
  };
  const call: AiMessageData = {
    type: 'tool-call',
    toolId,
    toolName,
    toolInput: { ...(fault === undefined ? input : {}) },
  };
  if (fault === undefined) return { row, messages: [call] };
  const result: AiMessageData = {
    ...{ type: 'tool-result', toolId, toolName, outcome: 'FAILED' },
    text: toStoredText(fault, 2_000),
  } as AiMessageData;
  return { row, messages: [call, result] };
}

function findFault({ services, task }: Step, asked: AskedCall, index: number): string | undefined {
  if (index >= mostCalls) return `An answer may have ${mostCalls} calls. Make this one in your next answer.`;
  const tool = services.tools.find(asked.toolName);
  if (tool === undefined) {
    const names = services.tools.list(task.agent_config.mode ?? 'ACT').map(({ name }) => name);
    return `There is no tool ${JSON.stringify(asked.toolName.slice(0, 100))}. The tools are ${names.join(', ')}.`;
  }
  if (asked.input.length > mostInputLength)
    return `The input has ${asked.input.length} characters; ${mostInputLength} is the limit.`;
  const input = parseInput(asked.input);
  if (input === undefined)
    return 'The input is not a JSON object, or is nested too deeply. Send one that fits the schema of the tool.';
  if (encodeJson(input) !== JSON.stringify(input))
    return 'The input holds characters that cannot be stored, such as NUL.';
  const fault = services.tools.findFault(tool, input);
  return fault === undefined ? undefined : `The input does not fit the schema of ${tool.name}: ${fault}.`;
}
