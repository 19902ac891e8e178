/** Asks the model for the answer of a turn, with a conversation that fits. */

import type { Meter } from '../model/meter.ts';
import {
  type Ask,
  bytesOfToken,
  estimateTokens,
  type ModelAnswer,
  ModelFailed,
  type Said,
} from '../model/model.ts';
import type { Step } from '../store/task-run.ts';
import { readGist, readTranscript, type Transcript } from '../store/transcript.store.ts';
import { fits, shorten } from './compaction.ts';
import { buildConversation } from './conversation.ts';
import { writeInstructions } from './instructions.ts';

/** Of the rule-based assistant. */
const ownContextTokens = 200_000;
/** Messages have members that the conversation leaves out. */
const bytesOfMessages = 1.5;

export type AskOnce = () => Promise<ModelAnswer>;

interface Fixed {
  request: Pick<Ask, 'instructions' | 'tools' | 'maxOutputTokens'>;
  /** Besides the conversation. */
  tokens: number;
  mostTokens: number;
}

/** Reads what the model gets, and returns what asks it. */
export async function prepareAsk(step: Step, meter: Meter, onText: Ask['onText']): Promise<AskOnce> {
  const { services, key } = step;
  const fixed = computeFixed(step);
  const throughPosition = step.task.last_position;
  const ofTask = { accountId: key.account_id, taskId: key.task_id, throughPosition };
  const mostBytes = fixed.mostTokens * bytesOfToken * bytesOfMessages;
  const transcript = await readTranscript(services.database.read, ofTask, mostBytes);
  const ask = async (mostTokens: number) => {
    const conversation = await fit(step, transcript, mostTokens);
    meter.prepare(() => fixed.tokens + estimateTokens(JSON.stringify(conversation)));
    const add: Ask['onText'] = (piece) => {
      meter.add(piece);
      onText(piece);
    };
    const { signal } = step;
    const onBegin = () => meter.begin();
    const onUsage: Ask['onUsage'] = (used) => meter.report(used);
    return services.model.ask({ ...fixed.request, conversation, signal, onBegin, onText: add, onUsage });
  };
  return () =>
    ask(fixed.mostTokens).catch((failure: unknown) => {
      // The model server counts in its own way: it gets half as much, once.
      const isTooLong = failure instanceof ModelFailed && failure.code === 'context-too-long';
      if (!isTooLong || services.settings.model === undefined) throw failure;
      return ask(fixed.mostTokens / 2);
    });
}

async function fit({ services, key }: Step, transcript: Transcript, mostTokens: number): Promise<Said[]> {
  const conversation = buildConversation(transcript.rows);
  if (transcript.isWhole && fits(conversation, mostTokens)) return conversation;
  const gist = await readGist(services.database.read, { accountId: key.account_id, taskId: key.task_id });
  return shorten(conversation, transcript.isWhole, gist, mostTokens);
}

function computeFixed(step: Step): Fixed {
  const { task, services } = step;
  const instructions = writeInstructions(task.agent_config);
  const tools = services.tools.list(task.agent_config.mode ?? 'ACT');
  const tokens = estimateTokens(instructions + JSON.stringify(tools));
  const maxOutputTokens = computeOutputLimit(step);
  const context = services.settings.model?.contextTokens ?? ownContextTokens;
  return {
    request: { instructions, tools, maxOutputTokens },
    tokens,
    mostTokens: context - maxOutputTokens - tokens,
  };
}

/** What the model may write: bounded by what is left of the budget. */
function computeOutputLimit({ task, services: { settings } }: Step): number {
  const most = settings.model?.maxOutputTokens ?? 4_096;
  const left = settings.ofTask.tokens - task.input_tokens - task.output_tokens;
  return Math.max(16, Math.min(most, left));
}
