/**
 * What became of a request to a model server that brought no answer: what people read, what the log gets, and whether
 * the request is repeated. A server that answers in a wrong form would do so again, and charge for each answer.
 */
import { hideSecrets } from '../../ai-tools/index.ts';
import { ModelFailed } from './model.ts';
import { mostOfReason } from './model-fetch.ts';

export const longestPauseMilliseconds = 60_000;
/** Enough for what is shown, and for a secret at its end. */
const mostReadOfReason = 65_536;

/** The answer came to its end, and the model server did not say why it ended. */
export class NoFinishReason extends Error {}

/** The fields of an error event: of OpenAI, Anthropic, and servers that follow them. */
interface ErrorEvent {
  type?: unknown;
  code?: unknown;
  statusCode?: unknown;
  message?: unknown;
}

/** How the adapters name an event that they cannot read. */
const unreadable = ['AI_JSONParseError', 'AI_TypeValidationError', 'AI_InvalidResponseDataError'];

/** An event of the answer that is an error, is not JSON, or has not the form of the interface. */
export class WrongEvent extends Error {
  /** The error that the event tells of, or the adapter's about the event. */
  readonly event: ErrorEvent & { name?: string; text?: string; value?: unknown };

  constructor(event: unknown) {
    super('The model server sent a wrong event.');
    this.event = Object(event);
  }

  get isErrorEvent(): boolean {
    return !isUnreadable(this.event);
  }
}

const isUnreadable = ({ name }: { name?: string }) => name !== undefined && unreadable.includes(name);

function judgeWrongEvent({ event }: WrongEvent): Judged {
  const { name, text, value, message } = event;
  if (!isUnreadable(event)) return judgeErrorEvent(event);
  if (name === 'AI_JSONParseError') return judgeWrongly('an event that is not JSON', text);
  if (name === 'AI_InvalidResponseDataError')
    return String(message).includes('without a finish reason')
      ? judgeNoFinish()
      : judgeWrongly(unknownForm, String(message));
  const inner = Object(value).error;
  if (inner != null) return judgeErrorEvent(typeof inner === 'object' ? inner : { message: inner });
  return judgeWrongly(describeForm(value), JSON.stringify(value));
}

const unknownForm = 'an event that has not the form of its interface';
const passingTypes = new Set([
  ...['overloaded_error', 'api_error', 'rate_limit_error', 'timeout_error'],
  ...['server_error', 'internal_server_error', 'rate_limit_exceeded', 'unavailable_error'],
]);
const passingCode = /^(408|409|429|5\d\d)$/;

function judgeErrorEvent({ type, code, statusCode, message }: ErrorEvent): Judged {
  const words = [type, code].filter((word) => typeof word === 'string' || typeof word === 'number');
  const named = words.map(String).filter((word) => /^[\w.-]{1,64}$/.test(word));
  const name = named.length === 0 ? '' : ` (${named.join(', ')})`;
  const reason = shortenReason(typeof message === 'string' ? message : JSON.stringify(message));
  if (isAboutLength(reason)) return judgeTooLong(reason);
  const isPassing =
    named.some((word) => passingTypes.has(word) || passingCode.test(word)) ||
    passingCode.test(String(statusCode));
  const text = isPassing
    ? `The model server ended each answer with an error${name}.`
    : `The model server ended its answer with an error${name}.`;
  const known = new ModelFailed(
    isPassing ? 'model-unavailable' : 'model-answered-wrongly',
    `${text} The operator finds its words in the log.`,
    reason,
  );
  return { failure: known, isPassing };
}

/** Names what is wrong where it can be said in a few words. */
function describeForm(value: unknown): string {
  if (typeof value !== 'object' || value === null)
    return `an event that is ${nameKind(value)}, not an object`;
  if ('choices' in value && !Array.isArray(value.choices))
    return `an event whose \`choices\` is ${nameKind(value.choices)}, not a list`;
  return unknownForm;
}

function nameKind(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `of the type ${typeof value}`;
}

function judgeWrongly(what: string, words: string | undefined): Judged {
  const text = `The model server answered with ${what}. The operator finds it in the log.`;
  return {
    failure: new ModelFailed('model-answered-wrongly', text, shortenReason(words)),
    isPassing: false,
  };
}

function judgeNoFinish(): Judged {
  const text =
    'The model server ended its answer without a finish reason, so it cannot be known whether the answer is whole.';
  return { failure: new ModelFailed('model-answered-wrongly', text), isPassing: false };
}

function judgeTooLong(reason: string): Judged {
  const text = 'The conversation is longer than the model takes.';
  return { failure: new ModelFailed('context-too-long', text, reason), isPassing: false };
}

const shortenReason = (words: string | undefined) =>
  hideSecrets((words ?? '').slice(0, mostReadOfReason)).slice(0, mostOfReason);

export interface Judged {
  failure: ModelFailed;
  isPassing: boolean;
  pause?: number | undefined;
}

export function judgeFailure(failure: unknown): Judged {
  // The adapters wrap what a body fails with.
  const { cause } = failure as { cause?: unknown };
  const own = [failure, cause].find((each) => each instanceof ModelFailed);
  if (own !== undefined) return { failure: own, isPassing: own.code === 'model-unavailable' };
  const {
    statusCode: status,
    responseHeaders: headers,
    responseBody: body,
    message,
  } = failure as {
    statusCode?: number;
    responseHeaders?: Record<string, string>;
    responseBody?: string;
    message?: string;
  };
  if (failure instanceof WrongEvent) return judgeWrongEvent(failure);
  if (isUnreadable(failure as Error)) return judgeWrongEvent(new WrongEvent(failure));
  // Of the adapter of Anthropic, about a first event that it cannot read.
  if (message?.startsWith('Expected a normalized')) return judgeWrongly(unknownForm, undefined);
  if (failure instanceof NoFinishReason) return judgeNoFinish();
  const reason = shortenReason(body || message || String(failure));
  // With 200, the connection was lost while the answer came.
  if (status === undefined || status < 300) {
    const what =
      status !== undefined
        ? 'The answer of the model server was cut off.'
        : 'The model server cannot be reached.';
    return { failure: new ModelFailed('model-unavailable', what, reason), isPassing: true };
  }
  if (status === 429 || status === 408 || status === 409 || status >= 500) {
    const known = new ModelFailed(
      'model-unavailable',
      `The model server answered ${status} to each attempt.`,
      reason,
    );
    return { failure: known, isPassing: true, pause: readRetryAfter(headers?.['retry-after']) };
  }
  if (status === 413 || (status === 400 && isAboutLength(body ?? ''))) return judgeTooLong(reason);
  const text = `The model server refused the request with ${status}. The operator finds the reason in the log.`;
  return { failure: new ModelFailed('model-refused-request', text, reason), isPassing: false };
}

function isAboutLength(body: string): boolean {
  return /context[_ ](length|window)|too (long|many tokens)|maximum context|prompt is too long/i.test(body);
}

function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,6}$/.test(text)) return undefined;
  return Math.min(longestPauseMilliseconds, Number(text) * 1_000);
}
