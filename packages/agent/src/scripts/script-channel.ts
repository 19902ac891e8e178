/**
 * The agent's end of descriptor 3: requests of a script and their answers, one JSON object a line. A script
 * can write anything there, so every message is checked, and one is answered at a time: a script that does
 * not read its answers waits, and the agent's memory stays bounded.
 */
import type { Duplex } from 'node:stream';
import { getReason } from '../log.ts';
import type { ScriptEvents, ScriptRequest } from './script-job.ts';

/** Bytes of one message. */
const messageLimit = 64 * 1_048_576;

type Message =
  | { type: 'started' }
  | { type: 'failed'; error: string; line: number | null }
  | { type: 'result'; text: string }
  | ScriptRequest;

export interface ChannelReport {
  /** The sandbox was built and the script began. */
  hasStarted: boolean;
  failure: { error: string; line: number | undefined } | undefined;
  result: string | undefined;
}

/** @param onFault called once, with why the script must end */
export function serveChannel(
  channel: Duplex,
  answer: ScriptEvents['answer'],
  onFault: (reason: string) => void,
): ChannelReport {
  const report: ChannelReport = { hasStarted: false, failure: undefined, result: undefined };
  let parts: Buffer[] = [];
  let length = 0;
  let isFaulty = false;
  const fail = (reason: string) => {
    if (isFaulty) return;
    isFaulty = true;
    channel.destroy();
    onFault(reason);
  };

  async function handle(line: string): Promise<void> {
    const message = readMessage(line);
    if (message === undefined)
      return fail(
        `the script wrote to descriptor 3, which belongs to the agent: ${JSON.stringify(line.slice(0, 80))}; write to another descriptor`,
      );
    if (message.type === 'started') report.hasStarted = true;
    else if (message.type === 'failed')
      report.failure = { error: message.error, line: message.line ?? undefined };
    else if (message.type === 'result') report.result = message.text;
    else await write(channel, await answerRequest(message, answer));
  }

  async function handleLines(lines: readonly string[]): Promise<void> {
    for (const line of lines) if (!isFaulty) await handle(line);
  }

  channel.on('data', (bytes: Buffer) => {
    const end = bytes.lastIndexOf(0x0a);
    if (end < 0) {
      parts.push(bytes);
      length += bytes.length;
      if (length > messageLimit)
        fail(`the script sent more than ${messageLimit / 1_048_576} MiB in one message: send fewer rows`);
      return;
    }
    const lines = Buffer.concat([...parts, bytes.subarray(0, end)])
      .toString('utf8')
      .split('\n');
    const rest = bytes.subarray(end + 1);
    parts = [rest];
    length = rest.length;
    channel.pause();
    void handleLines(lines).finally(() => channel.resume());
  });
  return report;
}

async function answerRequest(request: ScriptRequest, answer: ScriptEvents['answer']): Promise<string> {
  try {
    return JSON.stringify({ value: (await answer(request)) ?? null });
  } catch (error) {
    return JSON.stringify({ error: getReason(error) });
  }
}

/** Waits until the script has room for more. */
function write(channel: Duplex, line: string): Promise<void> {
  if (channel.destroyed || channel.write(`${line}\n`)) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = () => {
      channel.off('drain', settle).off('close', settle);
      resolve();
    };
    channel.on('drain', settle).on('close', settle);
  });
}

/** Undefined if it is none. */
function readMessage(line: string): Message | undefined {
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
