/** The calls of tools: which may run, and running one. */
import type { AiCallOutcome, AiMessageData } from '@headgate/contract';
import { aiTextLimit } from '@headgate/contract';
import { addSeconds } from '../../../kernel/clock.ts';
import { isUnavailable } from '../../../kernel/database/database.ts';
import { Problem } from '../../../kernel/http/problems.ts';
import { hideSecrets, type Question, ToolFault, type ToolResult } from '../../ai-tools/index.ts';
import { askUser, nameWarehouse, parseInput } from '../model/tool-set.ts';
import { addUsage } from '../store/budget.ts';
import { digestText, digestTool, findGrant, type Grant } from '../store/grant.ts';
import { addTaskUsage, type OpenCall, readGrants } from '../store/held-task.store.ts';
import type { NewMessage } from '../store/message.store.ts';
import { encodeJson, showHidden, toStoredText } from '../store/stored-text.ts';
import { buildTaskEvent, describeTask } from '../store/task-event.ts';
import {
  addMessages,
  type NextStep,
  recordTaskEvents,
  StaleStep,
  type Step,
  writeFreshStep,
  writeStep,
} from '../store/task-run.ts';
import { writeCallEnd, writeCallStart, writeWait } from '../store/turn.store.ts';
import { buildContext, raceAbort } from './call-context.ts';

export interface CallEnd {
  call: OpenCall;
  outcome: AiCallOutcome;
  text: string;
}

export interface DueCalls {
  /** Calls that end without running. */
  ended: CallEnd[];
  call: OpenCall | undefined;
  grant: Grant | undefined;
  /** When the first of those that wait is given up. */
  waitsUntil: Date | undefined;
}

/**
 * Judges the calls that have not begun; asks for the decisions that are missing. The calls after one that changes
 * something wait for it: the model wrote them in this order.
 */
export async function findDueCall(step: Step, now: Date): Promise<DueCalls> {
  const due: DueCalls = { ended: [], call: undefined, grant: undefined, waitsUntil: undefined };
  const asks: { call: OpenCall; isBehindChange: boolean }[] = [];
  const until = addSeconds(now, step.services.settings.decisionHours * 3_600);
  const wait = (date: Date) => {
    due.waitsUntil = due.waitsUntil === undefined || date < due.waitsUntil ? date : due.waitsUntil;
  };
  let mustWait = false;
  for (const call of step.task.calls) {
    const judged = judgeCall(step, call, now);
    if ('text' in judged) due.ended.push({ call, ...judged });
    else if (judged.needs === 'nothing') {
      if (due.call === undefined && !mustWait) Object.assign(due, { call, grant: judged.grant });
    } else {
      if (call.status === 'WAITING' && call.expiresAt !== null) wait(new Date(call.expiresAt));
      else {
        asks.push({ call, isBehindChange: mustWait });
        wait(until);
      }
      mustWait ||= step.services.tools.find(call.toolName)?.changes === true;
    }
  }
  // A call that runs now may change what people would be shown.
  if (due.call !== undefined || due.ended.length > 0) return due;
  const waiting: AskedCall[] = [];
  for (const { call, isBehindChange } of asks) {
    const described = await describeCall(step, call);
    // The edits that wait before a commit change what it finds: it is asked about after them.
    if ('question' in described) {
      if (!isBehindChange || described.question.shownDigest === undefined) waiting.push(described);
    } else if (!isBehindChange) due.ended.push(described);
  }
  if (waiting.length > 0) await askForDecisions(step, waiting, until, now);
  return due;
}

type Judged =
  | { outcome: AiCallOutcome; text: string }
  | { needs: 'nothing'; grant?: Grant }
  | { needs: 'decision' };

function judgeCall({ services, task }: Step, call: OpenCall, now: Date): Judged {
  const { tools } = services;
  const tool = tools.find(call.toolName);
  const input = parseInput(call.input);
  if (tool === undefined || input === undefined)
    return { outcome: 'FAILED', text: `There is no tool ${call.toolName} any more.` };
  if (call.status === 'WAITING' && call.expiresAt !== null && new Date(call.expiresAt) <= now)
    return { outcome: 'TIMED_OUT', text: 'Nothing was decided about this call in time, so it was not made.' };
  if (tool.changes && task.agent_config.mode === 'PLAN')
    return {
      outcome: 'DENIED',
      text: `The mode of this task is PLAN, and ${tool.name} changes something, so the call was not made.`,
    };
  const isSame =
    digestText(call.input).toString('base64') === call.inputDigest &&
    digestTool(tool).toString('base64') === call.schemaDigest;
  if (!isSame)
    return {
      outcome: 'FAILED',
      text: 'The call was not made: the tool has changed since the call was proposed.',
    };
  if (tool.inEnvironment === true && task.agent_config.environmentName === undefined)
    return {
      outcome: 'FAILED',
      text: `${tool.name} needs an environment, and the task has no environmentName.`,
    };
  if (tool.name === askUser) return { needs: 'decision' };
  if (!tool.changes || call.status === 'ALLOWED') return { needs: 'nothing' };
  const environmentName = task.agent_config.environmentName;
  const grant = findGrant(readGrants(task), { tool, input, environmentName }, now);
  if (grant === undefined) return { needs: 'decision' };
  return { needs: 'nothing', grant };
}

interface AskedCall {
  call: OpenCall;
  question: Question;
}

/** What people are asked; or the end of a call that cannot be made, about which nobody needs to decide. */
async function describeCall(step: Step, call: OpenCall): Promise<AskedCall | CallEnd> {
  const { tools, settings } = step.services;
  const tool = tools.find(call.toolName);
  const timeout = AbortSignal.timeout(settings.callSeconds * 1_000);
  const signal = AbortSignal.any([step.signal, timeout]);
  const ask = async () => tool?.ask(buildContext(step, call, signal), parseInput(call.input) ?? {});
  try {
    const question = await raceAbort(ask(), signal);
    return { call, question: question ?? { title: call.toolName, body: '' } };
  } catch (failure) {
    step.lost.throwIfAborted();
    if (step.signal.aborted) throw new StaleStep();
    const text = timeout.aborted
      ? `The call was not made: to find its effect took longer than ${settings.callSeconds} s.`
      : hideSecrets(describeFailure(step, call, failure));
    return { call, outcome: 'FAILED', text };
  }
}

function askForDecisions(step: Step, calls: readonly AskedCall[], until: Date, now: Date): Promise<void> {
  const { key, task } = step;
  return writeFreshStep(step, (tx) => {
    const messages: NewMessage[] = calls.map(({ call, question }) => {
      const input = parseInput(call.input) ?? {};
      const permissionMessage = {
        title: toStoredText(showHidden(question.title), 1_000),
        body: toStoredText(showHidden(question.body), 20_000),
      };
      writeWait(tx, key, {
        call_id: call.callId,
        permission_message: encodeJson(permissionMessage),
        shown_digest: question.shownDigest === undefined ? null : Buffer.from(question.shownDigest, 'base64'),
        expires_at: until,
      });
      const data: AiMessageData = {
        type: 'decision-needed',
        toolId: call.callId,
        toolName: call.toolName,
        toolInput: { ...input },
        permissionMessage,
        expiresAt: until.toISOString(),
      };
      return { groupId: call.groupId, data };
    });
    addMessages(step, tx, messages, now);
    const after = { decisions: calls.map(({ call }) => ({ id: call.callId, toolName: call.toolName })) };
    const about = describeTask(task);
    recordTaskEvents(
      step,
      tx,
      [buildTaskEvent('ai-task-decision-needed', key.task_id, about, { after })],
      now,
    );
  });
}

/** Ends calls that do not run. */
export function writeCallEnds(step: Step, ends: readonly CallEnd[], now: Date): Promise<NextStep> {
  return writeFreshStep(step, (tx) => {
    for (const { call, outcome } of ends) writeCallEnd(tx, step.key, { callId: call.callId, outcome }, now);
    addMessages(
      step,
      tx,
      ends.map((end) => describeEnd(step, end)),
      now,
    );
    return 'again' as const;
  });
}

function describeEnd({ services, task }: Step, { call, outcome, text }: CallEnd): NewMessage {
  const { callId: toolId, toolName, groupId } = call;
  const data: AiMessageData = {
    type: 'tool-result',
    toolId,
    toolName,
    outcome,
    text: toStoredText(text, aiTextLimit),
    ...nameWarehouse(services.tools, toolName, task.agent_config),
  };
  return { groupId, data };
}

/** A call that fails in an unexpected way, or whose server dies, this often is given up. */
const mostAttempts = 4;

export async function makeCall(step: Step, call: OpenCall, grant?: Grant): Promise<NextStep> {
  const { services, key } = step;
  if (call.attempts >= mostAttempts) {
    const text =
      'The tool was interrupted several times. Its effect may have happened: check before you repeat it.';
    return writeCallEnds(step, [{ call, outcome: 'FAILED', text }], services.clock.now());
  }
  const startedAt = services.clock.now();
  await writeFreshStep(step, (tx) => writeCallStart(tx, key, { callId: call.callId, grant }, startedAt));
  const began = performance.now();
  const result = await runTool(step, grant === undefined ? call : addGiver(call, grant));
  const milliseconds = Math.round(performance.now() - began);
  const now = services.clock.now();
  return writeStep(step, (tx) => {
    writeCallEnd(tx, key, { callId: call.callId, outcome: result.outcome }, now);
    addMessages(step, tx, [describeEnd(step, { call, ...result })], now);
    const usage = { turns: 0, cost: 0, milliseconds };
    tx.send(addTaskUsage, { ...key, ...usage, input_tokens: 0, output_tokens: 0 });
    addUsage(tx, key.account_id, { ...usage, tokens: 0 }, now);
    return 'again' as const;
  });
}

/** As `writeCallStart` writes it: the rights of the giver count, and nobody was shown anything. */
function addGiver(call: OpenCall, { grantedBy }: Grant): OpenCall {
  return { ...call, otherPrincipalIds: [...call.otherPrincipalIds, grantedBy], shownDigest: null };
}

async function runTool(step: Step, call: OpenCall): Promise<ToolResult> {
  const { services, lost } = step;
  const tool = services.tools.find(call.toolName);
  const input = parseInput(call.input);
  if (tool === undefined || input === undefined)
    return { outcome: 'FAILED', text: 'The tool does not exist any more.' };
  const timeout = AbortSignal.timeout(services.settings.callSeconds * 1_000);
  const signal = AbortSignal.any([step.signal, timeout]);
  try {
    return await raceAbort(tool.run(buildContext(step, call, signal), input), signal);
  } catch (failure) {
    // Another server makes the call again.
    lost.throwIfAborted();
    if (signal.aborted) {
      const why = timeout.aborted
        ? `took longer than ${services.settings.callSeconds} s`
        : 'was stopped on request';
      const text = `The call ${why} and was aborted. Its effect may have happened.`;
      return { outcome: 'FAILED', text };
    }
    return { outcome: 'FAILED', text: describeFailure(step, call, failure) };
  }
}

/** In words for the model. @throws the failure, if the call can be repeated later */
function describeFailure({ services }: Step, call: OpenCall, failure: unknown): string {
  if (failure instanceof Problem || failure instanceof ToolFault) return failure.message;
  if (isUnavailable(failure)) throw failure;
  const { toolName: tool, callId } = call;
  services.log.error({ err: failure, tool, callId }, 'a tool of an AI task failed');
  return 'The tool failed unexpectedly. Its effect may have happened: check before you repeat it.';
}
