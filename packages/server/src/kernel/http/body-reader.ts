/**
 * Reads JSON request bodies: small ones at once, large ones in a thread, so that no body blocks other
 * requests (docs/adr/0037).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Operation } from '@headgate/contract';
import { createWorkThread, TooCostly } from '../threads/work-thread.ts';
import { type BodyPieces, joinPieces, listOwnMemory, measurePieces, wipePieces } from './body-pieces.ts';
import { type BodyReading, createBodyReading, type ReadBody } from './body-reading.ts';
import { Problem, problem } from './problems.ts';

/** An order to the thread. */
export interface ReadingOrder {
  operationId: string;
  pieces: readonly Uint8Array[];
}

/** A result of the thread: the body, its faults, or the reason of an `invalid-json`. */
export type Reading =
  | { faulty: Pick<ReadBody, 'unknown' | 'faults'> }
  /** As JSON: parsing it here costs a fraction of receiving the objects. */
  | { unknown: ReadBody['unknown']; json: string }
  | { invalid: string };

export interface BodyReader {
  /**
   * Throws `invalid-json`, and `overloaded` if too many large bodies wait, for the account or in total. The pieces of a
   * large one are moved to the thread, and empty from then on.
   */
  read(operation: Operation, pieces: BodyPieces, accountId: string): ReadBody | Promise<ReadBody>;
}

/** Bodies up to this size are read at once, which takes a few milliseconds at most. */
const smallBytes = 32_768;
/** For large bodies that wait; each takes its size in memory. */
const waiting = { ofOne: 8, inAll: 64 };
const idleMilliseconds = 60_000;
const startMegabytes = 128;
/** An empty object or array of two or three bytes takes tens of bytes of heap. */
const heapPerByte = 48;
const timePerMegabyte = 1_000;

/**
 * `limitBytes` is the maximum body size; `megabytes` is the memory limit of the thread, and `milliseconds` its
 * time for a body without that for its megabytes.
 */
export function createBodyReader({
  limitBytes,
  megabytes = startMegabytes + Math.ceil(limitBytes / 1_048_576) * heapPerByte,
  milliseconds = 10_000,
}: {
  limitBytes: number;
  megabytes?: number;
  milliseconds?: number;
}): BodyReader {
  const readings = new Map<Operation, BodyReading>();
  const thread = createWorkThread<ReadingOrder, Reading>({
    module: new URL('./body-reader.thread.ts', import.meta.url),
    megabytes,
    youngMegabytes: 64,
    idleMilliseconds,
    waiting,
    refuse: () => problem('overloaded'),
  });

  async function readInThread({ id }: Operation, pieces: BodyPieces, accountId: string): Promise<ReadBody> {
    const allowed = milliseconds + (measurePieces(pieces) / 1_048_576) * timePerMegabyte;
    const limits = { milliseconds: allowed, transfer: listOwnMemory(pieces) };
    const order = { operationId: id, pieces };
    const reading = await thread.run(accountId, order, limits).catch((failure) => {
      throw failure instanceof TooCostly ? refuseCostly(failure) : failure;
    });
    if ('faulty' in reading) return { value: undefined, ...reading.faulty };
    if ('invalid' in reading) throw new Problem('invalid-json', reading.invalid);
    const value: unknown = JSON.parse(reading.json);
    // Parsing a large body and handling it are two slices of work.
    await nextTurn();
    return { value, unknown: reading.unknown, faults: [] };
  }

  return {
    read(operation, pieces, accountId) {
      if (measurePieces(pieces) > smallBytes) return readInThread(operation, pieces, accountId);
      let reading = readings.get(operation);
      if (reading === undefined) {
        reading = createBodyReading(operation);
        readings.set(operation, reading);
      }
      const content = joinPieces(pieces);
      try {
        return reading(content);
      } finally {
        // A copy of several pieces is not wiped by the caller.
        if (pieces.length > 1) wipePieces([content]);
      }
    },
  };
}

function refuseCostly({ limit }: TooCostly): Problem {
  const why = limit === 'time' ? 'takes too long' : 'takes too much memory';
  return problem('invalid-json', { reason: `reading it ${why}; send less data in one request` });
}
