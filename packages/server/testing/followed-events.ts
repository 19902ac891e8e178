/** A client of streams of server-sent events, for tests and benchmarks. */
import type { AccountEventItem } from '@headgate/contract';

type LogData = AccountEventItem & { reason?: string };

export interface StreamedEvent<Data = LogData> {
  /** `message` for an event of the log, `end` for the last one. */
  event: string;
  /** Its cursor. */
  id: string | undefined;
  data: Data;
}

export interface FollowedEvents<Data = LogData> {
  answer: Response;
  /** The next event, without comments; undefined when the stream has ended. */
  next(): Promise<StreamedEvent<Data> | undefined>;
  cancel(): Promise<void>;
}

export interface Following {
  token: string;
  /** Another stream than that of the events. */
  path?: string;
  /** Such as `after=oldest&seconds=0`. */
  query?: string;
  lastEventId?: string | undefined;
}

/** @param address of the server, without a path */
export async function followEvents<Data = LogData>(
  address: string,
  { token, path = '/events/stream', query = '', lastEventId }: Following,
): Promise<FollowedEvents<Data>> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
  const closing = new AbortController();
  const answer = await fetch(`${address}/dpc/v1${path}?${query}`, { headers, signal: closing.signal });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    answer,
    async cancel() {
      closing.abort();
      await reader?.cancel().catch(() => undefined);
    },
    async next() {
      for (;;) {
        const end = text.indexOf('\n\n');
        if (end >= 0) {
          const found = parseBlock<Data>(text.slice(0, end));
          text = text.slice(end + 2);
          if (found !== undefined) return found;
          continue;
        }
        const chunk = await reader?.read();
        if (chunk === undefined || chunk.done) return undefined;
        text += chunk.value;
      }
    },
  };
}

function parseBlock<Data>(block: string): StreamedEvent<Data> | undefined {
  const find = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  const data = find('data');
  return data === undefined
    ? undefined
    : { event: find('event') ?? 'message', id: find('id'), data: JSON.parse(data) };
}
