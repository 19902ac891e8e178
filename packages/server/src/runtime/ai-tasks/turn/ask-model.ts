/** Asks the model for the answer of a turn, with a conversation that fits. */
import type { Read } from '../../../kernel/database/database.ts';
import type { AiSettings } from '../model/ai-settings.ts';
import type { Meter } from '../model/meter.ts';
import {
  bytesOfToken,
  estimateTokens,
  type ModelAnswer,
  ModelFailed,
  type ModelRequest,
} from '../model/model.ts';
import type { Tools } from '../model/tool-set.ts';
import type { HeldTask } from '../store/held-task.store.ts';
import type { RunServices } from '../store/task-run.ts';
import { readGist, readTranscript, type Transcript } from '../store/transcript.store.ts';
import { fits, shorten } from './compaction.ts';
import { buildConversation } from './conversation.ts';
import { writeInstructions } from './instructions.ts';

/** Of the rule-based assistant. */
const ownContextTokens = 200_000;
/** Messages have members that the conversation leaves out. */
const bytesOfMessages = 1.5;

/** Reads what the model gets, and returns what asks it. */
export async function prepareAsk(
  services: RunServices,
  task: HeldTask,
  signal: AbortSignal,
  { meter, onText }: { meter: Meter; onText: ModelRequest['onText'] },
): Promise<() => Promise<ModelAnswer>> {
  const { database, model, settings, tools } = services;
  const fixed = computeFixed(task, settings, tools);
  const mostBytes = fixed.mostTokens * bytesOfToken * bytesOfMessages;
  const transcript = await readTranscript(database.read, task, mostBytes);
  const ask = async (mostTokens: number) => {
    const conversation = await fit(database.read, task, transcript, mostTokens);
    meter.prepare(() => fixed.tokens + estimateTokens(JSON.stringify(conversation)));
    const add: ModelRequest['onText'] = (piece) => {
      meter.add(piece);
      onText(piece);
    };
    const onBegin = () => meter.begin();
    const onUsage: ModelRequest['onUsage'] = (used) => meter.report(used);
    return model.ask({ ...fixed.request, conversation, signal, onBegin, onText: add, onUsage });
  };
  return () =>
    ask(fixed.mostTokens).catch((failure: unknown) => {
      // The model server counts in its own way: it gets half as much, once.
      const isTooLong = failure instanceof ModelFailed && failure.code === 'context-too-long';
      if (!isTooLong || settings.model === undefined) throw failure;
      return ask(fixed.mostTokens / 2);
    });
}

async function fit(read: Read, task: HeldTask, transcript: Transcript, mostTokens: number) {
  const conversation = buildConversation(transcript.rows);
  if (transcript.isWhole && fits(conversation, mostTokens)) return conversation;
  const gist = await readGist(read, task);
  return shorten(conversation, transcript.isWhole, gist, mostTokens);
}

/** The request without the conversation, its tokens, and how many the conversation may have. */
function computeFixed(task: HeldTask, settings: AiSettings, toolSet: Tools) {
  const instructions = writeInstructions(task.agent_config);
  const tools = toolSet.list(task.agent_config.mode ?? 'ACT');
  const tokens = estimateTokens(instructions + JSON.stringify(tools));
  const maxOutputTokens = computeOutputLimit(task, settings);
  const context = settings.model?.contextTokens ?? ownContextTokens;
  return {
    request: { instructions, tools, maxOutputTokens },
    tokens,
    mostTokens: context - maxOutputTokens - tokens,
  };
}

/** What the model may write: bounded by what is left of the budget. */
function computeOutputLimit(task: HeldTask, settings: AiSettings): number {
  const most = settings.model?.maxOutputTokens ?? 4_096;
  const left = settings.ofTask.tokens - task.input_tokens - task.output_tokens;
  return Math.max(16, Math.min(most, left));
}
