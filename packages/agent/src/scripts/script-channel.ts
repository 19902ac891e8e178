/**
 * The agent's end of descriptor 3: requests of a script and their answers, one JSON object a line. A script
 * can write anything there, so every message is checked, and one is answered at a time: a script that does
 * not read its answers waits, and the agent's memory stays bounded.
 */
import type { Duplex } from 'node:stream';
import { getReason } from '../log.ts';
import type { ScriptEvents, SentRequest } from './script-job.ts';
import { describeForeign, readMessage } from './script-message.ts';

/** Bytes of one message. */
const messageLimit = 64 * 1_048_576;
/** Characters of a message that is read here. Reading a longer one could hold up the agent for seconds. */
const readLimit = 256 * 1_024;

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
    const message = line.length > readLimit ? ({ type: 'unread', text: line } as const) : readMessage(line);
    if (message === undefined) return fail(describeForeign(line));
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

async function answerRequest(request: SentRequest, answer: ScriptEvents['answer']): Promise<string> {
  try {
    return `{"value":${await answer(request)}}`;
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
