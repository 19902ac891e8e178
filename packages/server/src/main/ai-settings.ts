/** Reads the settings of AI tasks: HEADGATE_AI_…. */
import { Secret } from '../kernel/security/sealed.ts';
import type { AiSettings, ModelSettings } from '../runtime/ai-tasks/index.ts';
import type { Reader } from './setting-reader.ts';

const defaultAddresses = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
} as const;

const mostTurns = 1_000_000_000;
const mostTokens = 1_000_000_000_000;
const mostMinutes = 1_000_000_000;

export function readAiSettings(read: Reader, faults: string[]): AiSettings {
  return {
    model: readModel(read, faults),
    concurrency: read.integer('HEADGATE_AI_TASKS', 200, 1, 1_000),
    accountTasks: read.integer('HEADGATE_AI_ACCOUNT_TASKS', 200, 1, 100_000),
    ofTask: {
      turns: read.integer('HEADGATE_AI_TASK_TURNS', 100, 1, mostTurns),
      tokens: read.integer('HEADGATE_AI_TASK_TOKENS', 2_000_000, 1, mostTokens),
      minutes: read.integer('HEADGATE_AI_TASK_MINUTES', 120, 1, mostMinutes),
      cost: readCost(read, 'HEADGATE_AI_TASK_COST'),
    },
    ofAccount: {
      turns: read.integer('HEADGATE_AI_ACCOUNT_TURNS', 10_000, 1, mostTurns),
      tokens: read.integer('HEADGATE_AI_ACCOUNT_TOKENS', 100_000_000, 1, mostTokens),
      minutes: read.integer('HEADGATE_AI_ACCOUNT_MINUTES', 10_000, 1, mostMinutes),
      cost: readCost(read, 'HEADGATE_AI_ACCOUNT_COST'),
    },
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
    silenceSeconds: read.integer('HEADGATE_AI_SILENCE_SECONDS', 120, 1, 300),
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

/** Undefined, for no limit, unless it is set. */
function readCost(read: Reader, name: string): number | undefined {
  return read.text(name) === undefined ? undefined : read.integerOrOff(name, 1, 1, 1_000_000_000);
}
