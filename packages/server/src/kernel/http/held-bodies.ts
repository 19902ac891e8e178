/**
 * Bounds the bytes of request bodies that are in memory at the same time: of one caller, of one account, and in all. A
 * body counts from its headers until its response has ended, because a sender may take minutes for it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from './problems.ts';

export interface HeldBodies {
  /**
   * Counts the body of a request, if it is a large one. The owners are from the narrowest to the widest.
   *
   * @throws `overloaded` above a bound
   */
  hold(request: FastifyRequest, reply: FastifyReply, owners: readonly string[]): void;
}

export interface HeldBounds {
  /** Bytes of each owner, in the order of the owners of `hold`. */
  ofOwners: readonly number[];
  inAll: number;
  /** What a body without Content-Length may become. */
  limitBytes: number;
}

/** Smaller bodies do not count: the rate limit bounds them. */
const smallBytes = 32_768;

export function createHeldBodies({ ofOwners, inAll, limitBytes }: HeldBounds): HeldBodies {
  const held = new Map<string, number>();
  let all = 0;

  function add(owners: readonly string[], bytes: number): void {
    all += bytes;
    for (const owner of owners) {
      const sum = (held.get(owner) ?? 0) + bytes;
      if (sum === 0) held.delete(owner);
      else held.set(owner, sum);
    }
  }

  return {
    hold(request, reply, owners) {
      const bytes = findBytes(request, limitBytes);
      // A body above the limit is refused before it is read.
      if (bytes <= smallBytes || bytes > limitBytes) return;
      const isAbove = (owner: string, index: number) =>
        (held.get(owner) ?? 0) + bytes > (ofOwners[index] ?? 0);
      if (all + bytes > inAll || owners.some(isAbove)) throw problem('overloaded');
      add(owners, bytes);
      // Also if the connection is lost.
      reply.raw.once('close', () => add(owners, -bytes));
    },
  };
}

function findBytes({ headers }: FastifyRequest, limitBytes: number): number {
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : limitBytes;
  // Of a compressed body too: what it becomes is bounded by the queue of the body reader.
  return Number(length);
}
