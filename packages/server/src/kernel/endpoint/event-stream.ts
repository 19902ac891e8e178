/**
 * Responses that are streams of server-sent events. A stream takes the next text from its source only when the
 * client has taken the last one. Streams count against a limit of their account and of the server.
 */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { problem, withHeaders } from '../http/problems.ts';

const mostOfAccount = 100;
const mostOfServer = 1_000;
/** A client that reads nothing for this time is disconnected. */
const stallMilliseconds = 60_000;

export interface EventStreams {
  /**
   * Sends what `open` returns. `closed` is aborted when the client is gone.
   *
   * @throws `too-many-streams`, `overloaded`, and what `open` throws
   */
  send(
    reply: FastifyReply,
    accountId: string,
    open: (closed: AbortSignal) => Promise<AsyncGenerator<string | Buffer>>,
  ): Promise<FastifyReply>;
}

export function createEventStreams(): EventStreams {
  /** The open streams of each account. */
  const counts = new Map<string, number>();
  let total = 0;

  function count(accountId: string, change: 1 | -1): void {
    total += change;
    const left = (counts.get(accountId) ?? 0) + change;
    if (left === 0) counts.delete(accountId);
    else counts.set(accountId, left);
  }

  return {
    async send(reply, accountId, open) {
      if ((counts.get(accountId) ?? 0) >= mostOfAccount)
        throw withHeaders(problem('too-many-streams', { limit: mostOfAccount }), { 'retry-after': '10' });
      if (total >= mostOfServer) throw problem('overloaded');
      const closing = new AbortController();
      // If the client has already left, there is no `close` any more, which would end the count.
      if (reply.raw.closed) closing.abort();
      else {
        count(accountId, 1);
        reply.raw.once('close', () => {
          closing.abort();
          count(accountId, -1);
        });
      }
      const source = await open(closing.signal);
      reply.headers({
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        // A server that stops waits for its connections: none may stay open after its stream.
        connection: 'close',
      });
      const paced = endStalled(source, () => reply.raw.destroy());
      return reply.send(Readable.from(paced, { objectMode: true, highWaterMark: 1 }));
    },
  };
}

/** Calls `end` if a text is not taken in time. */
async function* endStalled(
  source: AsyncGenerator<string | Buffer>,
  end: () => void,
): AsyncGenerator<string | Buffer> {
  for await (const text of source) {
    const timer = setTimeout(end, stallMilliseconds);
    try {
      yield text;
    } finally {
      clearTimeout(timer);
    }
  }
}
