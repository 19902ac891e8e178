/**
 * Responses that are streams of server-sent events. A stream takes the next text from its source only when the
 * client has taken the last one. All kinds of streams count together: a caller has a share of its account's, and an
 * account a share of the server's.
 */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { problem, withHeaders } from '../http/problems.ts';

const mostOfAccount = 100;
const mostOfServer = 1_000;
/**
 * An owner may have this share of what the others leave free: a caller alone 20 streams, an account alone 100. Many
 * owners get less each, so one that has no stream yet finds a place.
 */
const shareOfCaller = 1 / 4;
const shareOfAccount = 1 / 9;
/** A client that reads nothing for this time is disconnected. */
const stallMilliseconds = 60_000;

export interface StreamOwner {
  accountId: string;
  /** The credential or the user. */
  actorId: string;
}

export interface EventStreams {
  /**
   * Sends what `open` returns, or 204 for nothing: an `EventSource` then connects no more. `closed` is aborted when the
   * client is gone.
   *
   * @throws `too-many-streams`, `overloaded`, and what `open` throws
   */
  send(
    reply: FastifyReply,
    of: StreamOwner,
    open: (closed: AbortSignal) => Promise<AsyncGenerator<string | Buffer> | undefined>,
  ): Promise<FastifyReply>;
}

export function createEventStreams(): EventStreams {
  /** The open streams of each account and each caller. */
  const counts = new Map<string, number>();
  let total = 0;

  function count({ accountId, actorId }: StreamOwner, change: 1 | -1): void {
    total += change;
    for (const id of [accountId, actorId]) {
      const left = (counts.get(id) ?? 0) + change;
      if (left === 0) counts.delete(id);
      else counts.set(id, left);
    }
  }

  /** Throws `too-many-streams` and `overloaded`. */
  function requirePlace({ accountId, actorId }: StreamOwner): void {
    if (total >= mostOfServer) throw problem('overloaded');
    const ofAccount = counts.get(accountId) ?? 0;
    const share = Math.min(mostOfAccount, shareOfAccount * (mostOfServer - total));
    requireShare('account', ofAccount, share);
    requireShare('caller', counts.get(actorId) ?? 0, shareOfCaller * (mostOfAccount - ofAccount));
  }

  return {
    async send(reply, owner, open) {
      requirePlace(owner);
      const closing = new AbortController();
      // If the client has already left, there is no `close` any more, which would end the count.
      if (reply.raw.closed) closing.abort();
      else {
        count(owner, 1);
        reply.raw.once('close', () => {
          closing.abort();
          count(owner, -1);
        });
      }
      const source = await open(closing.signal);
      if (source === undefined) return reply.code(204).send();
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

/** Throws `too-many-streams`. */
function requireShare(of: 'caller' | 'account', open: number, share: number): void {
  if (open >= share)
    throw withHeaders(problem('too-many-streams', { limit: open, of }), { 'retry-after': '10' });
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
