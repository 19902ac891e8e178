/**
 * A request body in the pieces in which it arrives. A large one goes to a thread as it is: joining it, or copying it to
 * the thread, takes time on the event loop, and twice the memory makes the garbage collector run for every few bodies.
 */
import type { Readable } from 'node:stream';

/** Each piece has memory of its own: Node.js copies it from the buffer of the connection. */
export type BodyPieces = readonly Buffer[];

/** A handler of `addContentTypeParser` may take one result only. */
export function receivePieces(
  payload: Readable,
  limit: { bytes: number; exceeded: () => Error },
  done: (failure: Error | null, pieces: BodyPieces) => void,
): void {
  const pieces: Buffer[] = [];
  let length = 0;
  function end(failure: Error | null): void {
    payload.off('data', add).off('end', finish).off('error', end);
    done(failure, pieces);
  }
  function add(piece: Buffer): void {
    length += piece.length;
    pieces.push(piece);
    // The rest is discarded after the response (unread-bodies.ts).
    if (length > limit.bytes) end(limit.exceeded());
  }
  const finish = () => end(null);
  payload.on('data', add).on('end', finish).on('error', end);
}

export function measurePieces(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

export function joinPieces(pieces: BodyPieces): Buffer {
  const [first, ...others] = pieces;
  return first !== undefined && others.length === 0 ? first : Buffer.concat(pieces);
}

/**
 * The memory that can be moved to a thread. A small part of a larger buffer, such as of the pool of Node.js, is
 * copied.
 */
export function listOwnMemory(pieces: BodyPieces): ArrayBuffer[] {
  return pieces.flatMap(({ buffer, length }) =>
    buffer instanceof ArrayBuffer && buffer.byteLength === length ? [buffer] : [],
  );
}

/** For a body that may hold a secret. What was moved to a thread is wiped there. */
export function wipePieces(pieces: Iterable<Uint8Array>): void {
  for (const piece of pieces) if (piece.length > 0) piece.fill(0);
}
