/**
 * What answers the messages of a task: a model, or the rule-based assistant.
 *
 * Terminology
 *   conversation   what was said, in the order that models want: the results of calls follow the calls
 *   ask            one request for an answer: text, calls of tools, or both
 */
import type { Tool } from '../../ai-tools/index.ts';

export interface ModelCall {
  /** The id of the call, as the model gets it in the conversation. */
  id: string;
  toolName: string;
  /** JSON, as the model wrote it. */
  input: string;
}

export type ModelMessage =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; calls: readonly (Omit<ModelCall, 'input'> & { input: object })[] }
  | { role: 'results'; results: readonly { id: string; toolName: string; text: string; isData: boolean }[] };

export interface ModelRequest {
  instructions: string;
  conversation: readonly ModelMessage[];
  tools: readonly Tool[];
  maxOutputTokens: number;
  signal: AbortSignal;
  /** Called when the model server begins to answer an attempt. */
  onBegin: () => void;
  /** Called with each piece of text as it is made. After a retry the text begins again: `undefined` first. */
  onText: (piece: string | undefined) => void;
  /** Called with what the model server says that an attempt used which gave no answer. */
  onUsage: (used: { input: number; output: number }) => void;
}

export interface ModelAnswer {
  text: string;
  calls: ModelCall[];
  /** Undefined: not said by the model server. */
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  /** Why the answer ended, if not as the model wanted. */
  end: 'complete' | 'cut' | 'refused';
}

export interface Model {
  ask(request: ModelRequest): Promise<ModelAnswer>;
}

export type ModelFailureCode =
  | 'model-unavailable'
  | 'model-too-slow'
  | 'model-does-not-stream'
  | 'model-answered-wrongly'
  | 'model-refused-request'
  | 'context-too-long'
  | 'answer-too-long';

/** The model gave no answer. The message is for people, and names neither addresses nor keys. */
export class ModelFailed extends Error {
  readonly code: ModelFailureCode;
  /** For the log of the operator: the words of the model server or of the network, shortened. */
  readonly reason: string | undefined;
  constructor(code: ModelFailureCode, message: string, reason?: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** Bytes a token, on the safe side. */
export const bytesOfToken = 2.5;

/** @param text or its bytes */
export function estimateTokens(text: string | number): number {
  const bytes = typeof text === 'number' ? text : Buffer.byteLength(text);
  return Math.ceil(bytes / bytesOfToken);
}
