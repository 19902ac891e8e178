/** The calls of tools: which may run, and running one. */
import type { AiCallOutcome, AiMessageData } from '@headgate/contract';
import { aiTextLimit } from '@headgate/contract';
import { addSeconds } from '../../kernel/clock.ts';
import { isUnavailable } from '../../kernel/database/database.ts';
import { Problem } from '../../kernel/http/problems.ts';
import type { ToolContext, ToolResult } from '../ai-tools/index.ts';
import { addUsage } from './budget.ts';
import { digestText, digestTool, findGrant } from './grant.ts';
import { addTaskUsage, type OpenCall, readGrants } from './held-task.store.ts';
import type { NewMessage } from './message.store.ts';
import { encodeJson, showHidden, toStoredText } from './stored-text.ts';
import { buildTaskEvent, describeTask } from './task-event.ts';
import {
  addMessages,
  type NextStep,
  recordTaskEvents,
  type Step,
  writeFreshStep,
  writeStep,
} from './task-run.ts';
import { askUser, parseInput } from './tool-set.ts';
import { writeCallEnd, writeCallStart, writeWait } from './turn.store.ts';

export interface CallEnd {
  call: OpenCall;
  outcome: AiCallOutcome;
  text: string;
}

export interface DueCalls {
  /** Calls that end without running. */
  ended: CallEnd[];
  call: OpenCall | undefined;
  grantNumber: number | undefined;
  /** When the first of those that wait is given up. */
  waitsUntil: Date | undefined;
}

/**
 * Judges the calls that have not begun; asks for the decisions that are missing. The calls after one that changes
 * something wait for it: the model wrote them in this order.
 */
export async function findDueCall(step: Step, now: Date): Promise<DueCalls> {
  const due: DueCalls = { ended: [], call: undefined, grantNumber: undefined, waitsUntil: undefined };
  const asks: OpenCall[] = [];
  const until = addSeconds(now, step.services.settings.decisionHours * 3_600);
  const wait = (date: Date) => {
    due.waitsUntil = due.waitsUntil === undefined || date < due.waitsUntil ? date : due.waitsUntil;
  };
  let mustWait = false;
  for (const call of step.task.calls) {
    const judged = judgeCall(step, call, now);
    if ('text' in judged) due.ended.push({ call, ...judged });
    else if (judged.needs === 'nothing') {
      if (due.call === undefined && !mustWait) Object.assign(due, { call, grantNumber: judged.grantNumber });
    } else {
      mustWait ||= step.services.tools.find(call.toolName)?.changes === true;
      if (call.status === 'WAITING' && call.expiresAt !== null) wait(new Date(call.expiresAt));
      else {
        asks.push(call);
        wait(until);
      }
    }
  }
  if (asks.length > 0) await askForDecisions(step, asks, until, now);
  return due;
}

type Judged =
  | { outcome: AiCallOutcome; text: string }
  | { needs: 'nothing'; grantNumber?: number | undefined }
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
      text: 'The mode of this task is PLAN: it changes nothing. Describe the change instead.',
    };
  const isSame =
    digestText(call.input).toString('base64') === call.inputDigest &&
    digestTool(tool).toString('base64') === call.schemaDigest;
  if (!isSame)
    return {
      outcome: 'FAILED',
      text: 'The tool has changed since this call was proposed. Propose it again.',
    };
  if (tool.name === askUser) return { needs: 'decision' };
  if (!tool.changes || call.status === 'ALLOWED') return { needs: 'nothing' };
  const environmentName = task.agent_config.environmentName;
  const grant = findGrant(readGrants(task), { tool, input, environmentName }, now);
  if (grant === undefined) return { needs: 'decision' };
  return { needs: 'nothing', grantNumber: grant.usesLeft === null ? undefined : grant.number };
}

function askForDecisions(step: Step, calls: readonly OpenCall[], until: Date, now: Date): Promise<void> {
  const { services, key, task } = step;
  return writeFreshStep(step, (tx) => {
    const messages: NewMessage[] = calls.flatMap((call) => {
      const input = parseInput(call.input) ?? {};
      const message = services.tools.find(call.toolName)?.permissionMessage(input);
      if (message === undefined) return [];
      const permissionMessage = {
        title: toStoredText(showHidden(message.title), 1_000),
        body: toStoredText(showHidden(message.body), 20_000),
      };
      writeWait(tx, key, {
        call_id: call.callId,
        permission_message: encodeJson(permissionMessage),
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
      return [{ groupId: call.groupId, data }];
    });
    addMessages(step, tx, messages, now);
    const after = { decisions: calls.map(({ callId, toolName }) => ({ id: callId, toolName })) };
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
    addMessages(step, tx, ends.map(describeEnd), now);
    return 'again' as const;
  });
}

function describeEnd({ call, outcome, text }: CallEnd): NewMessage {
  const { callId: toolId, toolName, groupId } = call;
  return {
    groupId,
    data: { type: 'tool-result', toolId, toolName, outcome, text: toStoredText(text, aiTextLimit) },
  };
}

/** A call that fails in an unexpected way, or whose server dies, this often is given up. */
const mostAttempts = 4;

export async function makeCall(step: Step, call: OpenCall, grantNumber?: number): Promise<NextStep> {
  const { services, key } = step;
  if (call.attempts >= mostAttempts) {
    const text =
      'The tool was interrupted several times. Its effect may have happened: check before you repeat it.';
    return writeCallEnds(step, [{ call, outcome: 'FAILED', text }], services.clock.now());
  }
  const startedAt = services.clock.now();
  await writeFreshStep(step, (tx) =>
    writeCallStart(tx, key, { callId: call.callId, grantNumber }, startedAt),
  );
  const began = performance.now();
  const result = await runTool(step, call);
  const milliseconds = Math.round(performance.now() - began);
  const now = services.clock.now();
  return writeStep(step, (tx) => {
    writeCallEnd(tx, key, { callId: call.callId, outcome: result.outcome }, now);
    addMessages(step, tx, [describeEnd({ call, ...result })], now);
    const usage = { turns: 0, cost: 0, milliseconds };
    tx.send(addTaskUsage, { ...key, ...usage, input_tokens: 0, output_tokens: 0 });
    addUsage(tx, key.account_id, { ...usage, tokens: 0 }, now);
    return 'again' as const;
  });
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
    if (failure instanceof Problem) return { outcome: 'FAILED', text: failure.message };
    if (signal.aborted) {
      const why = timeout.aborted
        ? `took longer than ${services.settings.callSeconds} s`
        : 'was stopped on request';
      const text = `The call ${why} and was aborted. Its effect may have happened.`;
      return { outcome: 'FAILED', text };
    }
    if (isUnavailable(failure)) throw failure;
    services.log.error({ err: failure, tool: tool.name, callId: call.callId }, 'a tool of an AI task failed');
    return {
      outcome: 'FAILED',
      text: 'The tool failed unexpectedly. Its effect may have happened: check before you repeat it.',
    };
  }
}

/** A tool that does not react to its signal cannot hold the task. */
function raceAbort(result: Promise<ToolResult>, signal: AbortSignal): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function buildContext({ services, key, task }: Step, call: OpenCall, signal: AbortSignal): ToolContext {
  const accountId = key.account_id;
  const { agent_config: config } = task;
  const scopeOf = (actorId: string, credentialId: string | null) => ({
    accountId,
    actorId,
    userCredentialId: credentialId ?? undefined,
  });
  return {
    task: {
      accountId,
      projectId: task.project_id,
      taskId: key.task_id,
      mode: config.mode ?? 'ACT',
      environmentName: config.environmentName,
      sourceBranchName: config.sourceBranchName,
      targetBranchName: config.targetBranchName,
      generateBranch: config.generateBranch ?? false,
      workingDirectory: config.workingDirectory,
    },
    callId: call.callId,
    actors: {
      creator: scopeOf(task.creator_id, task.creator_credential_id),
      sender: scopeOf(call.senderId, call.senderCredentialId),
    },
    signal,
    now: services.clock.now(),
  };
}
