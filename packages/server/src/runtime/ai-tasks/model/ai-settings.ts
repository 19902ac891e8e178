/** The operator's settings of AI tasks: the model, and what tasks may use. */
import type { Secret } from '../../../kernel/security/sealed.ts';

export interface ModelSettings {
  /** `openai`: any server that has `/chat/completions`. */
  provider: 'openai' | 'anthropic';
  baseUrl: string;
  model: string;
  apiKey: Secret | undefined;
  maxOutputTokens: number;
  /** What one request may hold, the answer included. */
  contextTokens: number;
  /** For the whole of one answer. */
  timeoutSeconds: number;
  /** Without a byte from the model server, before an answer or in it. */
  silenceSeconds: number;
  /** Prices of a million tokens, in hundredths. */
  inputPrice: number;
  outputPrice: number;
}

export interface Budget {
  turns: number;
  tokens: number;
  minutes: number;
  /** In hundredths of the unit of the prices; undefined for no limit. */
  cost: number | undefined;
}

export interface AiSettings {
  /** Undefined: the rule-based assistant answers. */
  model: ModelSettings | undefined;
  /** Tasks that one server works on at the same time. */
  concurrency: number;
  /** Tasks of one account that run or wait for decisions. */
  accountTasks: number;
  ofTask: Budget;
  /** For each UTC day. */
  ofAccount: Budget;
  /** For a decision. */
  decisionHours: number;
  callSeconds: number;
  /** How long a turn or a call goes on after a stop was requested. */
  stopSeconds: number;
}

export const ruleBasedAssistant = 'rule-based assistant';

export function nameAssistant({ model }: AiSettings): string {
  return model?.model ?? ruleBasedAssistant;
}

/** Of one task. */
export const mostMessages = 10_000;
