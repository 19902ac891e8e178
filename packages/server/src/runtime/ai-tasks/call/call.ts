/** The calls of tools: which may run, and running one. */
import type { AiCallOutcome, AiMessageData } from '@headgate/contract';
import { aiTextLimit } from '@headgate/contract';
import { addSeconds } from '../../../kernel/clock.ts';
import { isUnavailable, type Transaction } from '../../../kernel/database/database.ts';
import { Problem } from '../../../kernel/http/problems.ts';
import type { Log } from '../../../kernel/log.ts';
import {
  hideSecrets,
  type Question,
  type ToolContext,
  ToolFault,
  type ToolResult,
} from '../../ai-tools/index.ts';
import { askUser, nameWarehouse, parseInput, type Tools } from '../model/tool-set.ts';
import { digestText, digestTool, findGrant, type Grant } from '../store/grant.ts';
import { addTaskUsage, type HeldTask, type OpenCall, readGrants } from '../store/held-task.store.ts';
import { appendMessages, type NewMessage } from '../store/message.store.ts';
import { encodeJson, showHidden, toStoredText } from '../store/stored-text.ts';
import {
  type NextStep,
  type RunServices,
  recordTaskEvent,
  StaleStep,
  throwIfLost,
  writeFreshStep,
  writeStep,
} from '../store/task-run.ts';
import { writeCallEnd, writeCallStart, writeWait } from '../store/turn.store.ts';

interface CallEnd {
  call: OpenCall;
  outcome: AiCallOutcome;
  text: string;
}

interface JudgedCalls {
  /** Calls that end without running. */
  ends: CallEnd[];
  /** The first that may run. */
  due: { call: OpenCall; grant: Grant | undefined } | undefined;
  /** Calls about which people must be asked. */
  questions: { call: OpenCall; isBehindChange: boolean }[];
  /** When those that wait are given up. */
  expiries: Date[];
}

/** Starts or ends calls, or asks for decisions. Undefined if no call is open. */
export async function chooseCall(services: RunServices, task: HeldTask, signal: AbortSignal, now: Date) {
  const { ends, due, questions, expiries } = judgeCalls(task, services.tools, now);
  if (ends.length > 0) return writeCallEnds(services, task, ends, now);
  if (due !== undefined) return makeCall(services, task, due.call, signal, due.grant);
  const until = addSeconds(now, services.settings.decisionHours * 3_600);
  if (questions.length > 0) expiries.push(until);
  const described: CallQuestion[] = [];
  for (const { call, isBehindChange } of questions) {
    const result = await describeCall(services, task, call, signal);
    // The edits that wait before a commit change what it finds: it is asked about after them.
    if ('question' in result) {
      if (!isBehindChange || result.question.shownDigest === undefined) described.push(result);
    } else if (!isBehindChange) ends.push(result);
  }
  if (described.length > 0) await askForDecisions(services, task, described, until, now);
  if (ends.length > 0) return writeCallEnds(services, task, ends, now);
  return expiries.length === 0 ? undefined : new Date(Math.min(...expiries.map(Number)));
}

/** The calls after one that changes something wait for it: the model wrote them in this order. */
function judgeCalls(task: HeldTask, tools: Tools, now: Date): JudgedCalls {
  const judged: JudgedCalls = { ends: [], due: undefined, questions: [], expiries: [] };
  let mustWait = false;
  for (const call of task.calls) {
    const judgement = judgeCall(task, tools, call, now);
    if ('text' in judgement) judged.ends.push({ call, ...judgement });
    else if (judgement.needs === 'nothing') {
      if (!mustWait) judged.due ??= { call, grant: judgement.grant };
    } else {
      if (call.status === 'WAITING' && call.expiresAt !== null)
        judged.expiries.push(new Date(call.expiresAt));
      else judged.questions.push({ call, isBehindChange: mustWait });
      mustWait ||= tools.find(call.toolName)?.changes === true;
    }
  }
  return judged;
}

type Judgement =
  | { outcome: AiCallOutcome; text: string }
  | { needs: 'nothing'; grant?: Grant }
  | { needs: 'decision' };

function judgeCall(task: HeldTask, tools: Tools, call: OpenCall, now: Date): Judgement {
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

interface CallQuestion {
  call: OpenCall;
  question: Question;
}

/** What people are asked; or the end of a call that cannot be made, about which nobody needs to decide. */
async function describeCall(
  { tools, settings, clock, log }: RunServices,
  task: HeldTask,
  call: OpenCall,
  stopped: AbortSignal,
): Promise<CallQuestion | CallEnd> {
  const tool = tools.find(call.toolName);
  const timeout = AbortSignal.timeout(settings.callSeconds * 1_000);
  const signal = AbortSignal.any([stopped, timeout]);
  const ask = async () =>
    tool?.ask(buildContext(task, call, signal, clock.now()), parseInput(call.input) ?? {});
  try {
    const question = await raceAbort(ask(), signal);
    return { call, question: question ?? { title: call.toolName, body: '' } };
  } catch (failure) {
    throwIfLost(stopped);
    if (stopped.aborted) throw new StaleStep();
    const text = timeout.aborted
      ? `The call was not made: to find its effect took longer than ${settings.callSeconds} s.`
      : hideSecrets(describeFailure(log, call, failure));
    return { call, outcome: 'FAILED', text };
  }
}

function askForDecisions(
  services: RunServices,
  task: HeldTask,
  calls: readonly CallQuestion[],
  until: Date,
  now: Date,
): Promise<void> {
  return writeFreshStep(services, task, (tx) => {
    const messages: NewMessage[] = calls.map(({ call, question }) => {
      const input = parseInput(call.input) ?? {};
      const permissionMessage = {
        title: toStoredText(showHidden(question.title), 1_000),
        body: toStoredText(showHidden(question.body), 20_000),
      };
      writeWait(tx, task, {
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
    appendMessages(tx, task, messages, now);
    const after = { decisions: calls.map(({ call }) => ({ id: call.callId, toolName: call.toolName })) };
    recordTaskEvent(tx, task, { name: 'ai-task-decision-needed', after }, { newId: services.newId, now });
  });
}

/** Ends calls that do not run. */
function writeCallEnds(services: RunServices, task: HeldTask, ends: readonly CallEnd[], now: Date) {
  return writeFreshStep(services, task, (tx) => {
    for (const end of ends) writeResult(tx, task, services.tools, end, now);
    return 'again' as const;
  });
}

function writeResult(
  tx: Transaction,
  task: HeldTask,
  tools: Tools,
  { call, outcome, text }: CallEnd,
  now: Date,
): void {
  const { callId, toolName, groupId } = call;
  writeCallEnd(tx, task, { callId, outcome }, now);
  const data: AiMessageData = {
    type: 'tool-result',
    toolId: callId,
    toolName,
    outcome,
    text: toStoredText(text, aiTextLimit),
    ...nameWarehouse(tools, toolName, task.agent_config),
  };
  appendMessages(tx, task, [{ groupId, data }], now);
}

/** A call that fails in an unexpected way, or whose server dies, this often is given up. */
const mostAttempts = 4;

export async function makeCall(
  services: RunServices,
  task: HeldTask,
  call: OpenCall,
  signal: AbortSignal,
  grant?: Grant,
): Promise<NextStep> {
  const { clock, tools } = services;
  if (call.attempts >= mostAttempts) {
    const text =
      'The tool was interrupted several times. Its effect may have happened: check before you repeat it.';
    return writeCallEnds(services, task, [{ call, outcome: 'FAILED', text }], clock.now());
  }
  const startedAt = clock.now();
  await writeFreshStep(services, task, (tx) =>
    writeCallStart(tx, task, { callId: call.callId, grant }, startedAt),
  );
  const began = performance.now();
  const result = await runTool(services, task, grant === undefined ? call : addGiver(call, grant), signal);
  const milliseconds = Math.round(performance.now() - began);
  const now = clock.now();
  return writeStep(services, task, (tx) => {
    writeResult(tx, task, tools, { call, ...result }, now);
    addTaskUsage(tx, task, { turns: 0, input: 0, output: 0, cost: 0, milliseconds }, now);
    return 'again' as const;
  });
}

/** As `writeCallStart` writes it: the rights of the giver count, and nobody was shown anything. */
function addGiver(call: OpenCall, { grantedBy }: Grant): OpenCall {
  return { ...call, otherPrincipalIds: [...call.otherPrincipalIds, grantedBy], shownDigest: null };
}

async function runTool(
  { tools, settings, clock, log }: RunServices,
  task: HeldTask,
  call: OpenCall,
  stopped: AbortSignal,
): Promise<ToolResult> {
  const tool = tools.find(call.toolName);
  const input = parseInput(call.input);
  if (tool === undefined || input === undefined)
    return { outcome: 'FAILED', text: 'The tool does not exist any more.' };
  const timeout = AbortSignal.timeout(settings.callSeconds * 1_000);
  const signal = AbortSignal.any([stopped, timeout]);
  try {
    return await raceAbort(tool.run(buildContext(task, call, signal, clock.now()), input), signal);
  } catch (failure) {
    // Another server makes the call again.
    throwIfLost(stopped);
    if (signal.aborted) {
      const why = timeout.aborted ? `took longer than ${settings.callSeconds} s` : 'was stopped on request';
      const text = `The call ${why} and was aborted. Its effect may have happened.`;
      return { outcome: 'FAILED', text };
    }
    return { outcome: 'FAILED', text: describeFailure(log, call, failure) };
  }
}

/** A tool that does not react to its signal cannot hold the task. */
function raceAbort<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function buildContext(task: HeldTask, call: OpenCall, signal: AbortSignal, now: Date): ToolContext {
  const { account_id: accountId, agent_config: config } = task;
  return {
    task: {
      accountId,
      projectId: task.project_id,
      taskId: task.task_id,
      mode: config.mode ?? 'ACT',
      environmentName: config.environmentName,
      sourceBranchName: config.sourceBranchName,
      targetBranchName: config.targetBranchName,
      // A task changes the branch of others only if somebody asked for it.
      generateBranch: config.generateBranch ?? config.targetBranchName === undefined,
      workingDirectory: config.workingDirectory,
    },
    callId: call.callId,
    actors: {
      creator: {
        accountId,
        actorId: task.creator_id,
        userCredentialId: task.creator_credential_id ?? undefined,
      },
      behindIds: [call.senderId, ...call.otherPrincipalIds],
    },
    signal,
    now,
    shownDigest: call.shownDigest ?? undefined,
  };
}

/** In words for the model. @throws the failure, if the call can be repeated later */
function describeFailure(log: Log, call: OpenCall, failure: unknown): string {
  if (failure instanceof Problem || failure instanceof ToolFault) return failure.message;
  if (isUnavailable(failure)) throw failure;
  const { toolName: tool, callId } = call;
  log.error({ err: failure, tool, callId }, 'a tool of an AI task failed');
  return 'The tool failed unexpectedly. Its effect may have happened: check before you repeat it.';
}
