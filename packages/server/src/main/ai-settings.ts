/** Reads the settings of AI tasks: HEADGATE_AI_…. */
import { Secret } from '../kernel/security/sealed.ts';
import type { AiSettings, Budget, ModelSettings } from '../runtime/ai-tasks/index.ts';
import type { Reader } from './setting-reader.ts';

const defaultAddresses = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
} as const;

export function readAiSettings(read: Reader, faults: string[]): AiSettings {
  return {
    model: readModel(read, faults),
    concurrency: read.integer('HEADGATE_AI_TASKS', 200, 1, 1_000),
    ofTask: readBudget(read, 'TASK', { turns: 100, tokens: 2_000_000, minutes: 120 }),
    ofAccount: readBudget(read, 'ACCOUNT', { turns: 10_000, tokens: 100_000_000, minutes: 10_000 }),
    decisionHours: read.integer('HEADGATE_AI_DECISION_HOURS', 168, 1, 8_760),
    callSeconds: read.integer('HEADGATE_AI_CALL_SECONDS', 600, 1, 3_600),
    stopSeconds: read.integer('HEADGATE_AI_STOP_SECONDS', 20, 0, 600),
  };
}

function readModel(read: Reader, faults: string[]): ModelSettings | undefined {
  const provider = read.text('HEADGATE_AI_PROVIDER');
  const model = read.matching('HEADGATE_AI_MODEL', /^[\x21-\x7e]{1,200}$/, 'the name of a model');
  const baseUrl = read.address('HEADGATE_AI_BASE_URL', ['http:', 'https:']);
  const apiKey = read.text('HEADGATE_AI_API_KEY');
  const settings = {
    maxOutputTokens: read.integer('HEADGATE_AI_MAX_OUTPUT_TOKENS', 4_096, 16, 1_000_000),
    contextTokens: read.integer('HEADGATE_AI_CONTEXT_TOKENS', 128_000, 4_096, 10_000_000),
    timeoutSeconds: read.integer('HEADGATE_AI_TIMEOUT_SECONDS', 300, 1, 3_600),
    inputPrice: read.integer('HEADGATE_AI_INPUT_PRICE', 0, 0, 100_000_000),
    outputPrice: read.integer('HEADGATE_AI_OUTPUT_PRICE', 0, 0, 100_000_000),
  };
  if (provider === undefined) {
    if (model !== undefined || baseUrl !== undefined || apiKey !== undefined)
      faults.push(
        'HEADGATE_AI_MODEL, HEADGATE_AI_BASE_URL and HEADGATE_AI_API_KEY need HEADGATE_AI_PROVIDER: openai or anthropic',
      );
    return undefined;
  }
  const known = read.oneOf('HEADGATE_AI_PROVIDER', ['openai', 'anthropic'], 'openai');
  if (model === undefined && read.text('HEADGATE_AI_MODEL') === undefined)
    faults.push('HEADGATE_AI_PROVIDER needs HEADGATE_AI_MODEL, the name of a model of that provider');
  if (settings.maxOutputTokens * 2 > settings.contextTokens)
    faults.push('HEADGATE_AI_MAX_OUTPUT_TOKENS must be at most half of HEADGATE_AI_CONTEXT_TOKENS');
  return {
    provider: known,
    model: model ?? '',
    baseUrl: baseUrl ?? defaultAddresses[known],
    apiKey: apiKey === undefined ? undefined : new Secret(apiKey),
    ...settings,
  };
}

function readBudget(
  read: Reader,
  of: 'TASK' | 'ACCOUNT',
  preset: { turns: number; tokens: number; minutes: number },
): Budget {
  return {
    turns: read.integer(`HEADGATE_AI_${of}_TURNS`, preset.turns, 1, 1_000_000_000),
    tokens: read.integer(`HEADGATE_AI_${of}_TOKENS`, preset.tokens, 1, 1_000_000_000_000),
    minutes: read.integer(`HEADGATE_AI_${of}_MINUTES`, preset.minutes, 1, 1_000_000_000),
    cost:
      read.text(`HEADGATE_AI_${of}_COST`) === undefined
        ? undefined
        : read.integerOrOff(`HEADGATE_AI_${of}_COST`, 1, 1, 1_000_000_000),
  };
}
