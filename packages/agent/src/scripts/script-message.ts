/** The messages of a script, one JSON object each. A script can write anything, so each is checked. */
import type { ScriptRequest, SentRequest } from './script-job.ts';

export type ScriptMessage =
  | { type: 'started' }
  | { type: 'failed'; error: string; line: number | null }
  | { type: 'result'; text: string }
  | ScriptRequest;

/** Characters that a message quotes. Of a longer text nothing: cut, it might end with a part of a secret. */
const quoteLimit = 80;

export function describeForeign(line: string): string {
  const quote = line.length > quoteLimit ? `${line.length} characters` : JSON.stringify(line);
  return `the script wrote to descriptor 3, which belongs to the agent: ${quote}; write to another descriptor`;
}

/** @throws Error if it is none */
export function readRequest(sent: SentRequest): ScriptRequest {
  if (sent.type !== 'unread') return sent;
  const message = readMessage(sent.text);
  if (message?.type === 'sql' || message?.type === 'update-scalar' || message?.type === 'update-grid')
    return message;
  throw new Error(describeForeign(sent.text));
}

/** Undefined if it is none. */
export function readMessage(line: string): ScriptMessage | undefined {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, name, rows, sql, error, text } = value;
  switch (type) {
    case 'started':
      return { type };
    case 'failed':
      return typeof error === 'string'
        ? { type, error, line: typeof value.line === 'number' ? value.line : null }
        : undefined;
    case 'result':
      return typeof text === 'string' ? { type, text } : undefined;
    case 'sql':
      return typeof sql === 'string' ? { type, sql } : undefined;
    case 'update-scalar':
      return typeof name === 'string' && (typeof value.value === 'string' || value.value === null)
        ? { type, name, value: value.value }
        : undefined;
    case 'update-grid':
      return typeof name === 'string' && Array.isArray(rows) ? { type, name, rows } : undefined;
    default:
      return undefined;
  }
}
