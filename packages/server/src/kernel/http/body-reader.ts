/**
 * Reads JSON request bodies: small ones at once, large ones in a thread, so that no body blocks other
 * requests (docs/adr/0037). The thread starts on first use and ends after a minute without work.
 */
import { Worker } from 'node:worker_threads';
import type { Operation } from '@headgate/contract';
import { type BodyReading, createBodyReading, type ReadBody } from './body-reading.ts';
import { createFairQueue } from './fair-queue.ts';
import { Problem, problem } from './problems.ts';

/** A message to the thread. */
export interface ReadingOrder {
  operationId: string;
  content: Uint8Array;
}

/** A message from the thread: the body, its faults, or the reason of an `invalid-json`. */
export type Reading =
  /** The first message of a thread: it has loaded its code. */
  | { ready: true }
  | { faulty: Pick<ReadBody, 'unknown' | 'faults'> }
  /** As JSON: parsing it here costs a fraction of receiving the objects. */
  | { unknown: ReadBody['unknown']; json: string }
  | { invalid: string };

export interface BodyReader {
  /** Throws `invalid-json`, and `overloaded` if too many large bodies wait, for the account or in total. */
  read(operation: Operation, content: Buffer, accountId: string): ReadBody | Promise<ReadBody>;
}

/** Bodies up to this size are read at once, which takes a few milliseconds at most. */
const smallBytes = 65_536;
/** For large bodies that wait; each takes its size in memory. */
const waitingBounds = { ofOne: 8, inAll: 64 };
const idleMilliseconds = 60_000;
const startMegabytes = 128;
/** An empty object or array of two or three bytes takes tens of bytes of heap. */
const heapPerByte = 48;
const timePerMegabyte = 1_000;

/**
 * `limitBytes` is the maximum body size; `megabytes` is the memory limit of the thread, and `milliseconds` its
 * time for a body without that for its megabytes. The time that the thread needs to start does not count.
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
  let thread: Worker | undefined;
  let isReady = false;
  let idle: NodeJS.Timeout | undefined;
  const queue = createFairQueue(waitingBounds, () => problem('overloaded'));

  function endThread(): void {
    const ending = thread;
    thread = undefined;
    isReady = false;
    void ending?.terminate();
  }

  function readInThread({ id }: Operation, content: Buffer): Promise<ReadBody> {
    clearTimeout(idle);
    thread ??= startThread(megabytes);
    const asked = thread;
    return new Promise<ReadBody>((resolve, reject) => {
      let late: NodeJS.Timeout | undefined;
      function startTime(): void {
        const allowed = milliseconds + (content.length / 1_048_576) * timePerMegabyte;
        late = setTimeout(() => {
          settle();
          endThread();
          reject(refuseCostly('takes too long'));
        }, allowed);
      }
      function settle(): void {
        clearTimeout(late);
        asked.off('message', onMessage).off('error', onError);
        asked.unref();
        idle = setTimeout(endThread, idleMilliseconds).unref();
      }
      function onMessage(reading: Reading): void {
        if ('ready' in reading) {
          isReady = true;
          startTime();
          return;
        }
        settle();
        if ('faulty' in reading) resolve({ value: undefined, ...reading.faulty });
        else if ('json' in reading)
          resolve({ value: JSON.parse(reading.json), unknown: reading.unknown, faults: [] });
        else reject(new Problem('invalid-json', reading.invalid));
      }
      function onError(failure: NodeJS.ErrnoException): void {
        settle();
        endThread();
        const isOutOfMemory = failure.code === 'ERR_WORKER_OUT_OF_MEMORY';
        reject(isOutOfMemory ? refuseCostly('takes too much memory') : failure);
      }
      if (isReady) startTime();
      asked.on('message', onMessage).on('error', onError);
      asked.ref();
      const order: ReadingOrder = { operationId: id, content };
      asked.postMessage(order);
    });
  }

  return {
    read(operation, content, accountId) {
      if (content.length <= smallBytes) {
        let reading = readings.get(operation);
        if (reading === undefined) {
          reading = createBodyReading(operation);
          readings.set(operation, reading);
        }
        return reading(content);
      }
      return queue.run(accountId, () => readInThread(operation, content));
    },
  };
}

function startThread(megabytes: number): Worker {
  const thread = new Worker(new URL('./body-reader.thread.ts', import.meta.url), {
    resourceLimits: {
      maxOldGenerationSizeMb: megabytes,
      maxYoungGenerationSizeMb: 64,
    },
  });
  // Errors between two bodies are irrelevant, but without a listener they would end the process.
  return thread.on('error', () => undefined);
}

function refuseCostly(why: string): Problem {
  return problem('invalid-json', { reason: `reading it ${why}; send less data in one request` });
}
