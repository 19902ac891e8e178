/**
 * Reads the JSON bodies of requests: a small one in its turn, a large one in a thread, so that no body holds
 * up other requests, however it is made (docs/adr/0037). The thread starts when it is first needed and ends
 * when it has had nothing to do for a while.
 */
import { Worker } from 'node:worker_threads';
import type { Operation } from '@headgate/contract';
import { type BodyReading, createBodyReading, type ReadBody } from './body-reading.ts';
import { createFairQueue } from './fair-queue.ts';
import { Problem, problem } from './problems.ts';

/** What the thread is asked. */
export interface ReadingOrder {
  operationId: string;
  content: Uint8Array;
}

/** What it answers: the body, or the words of an `invalid-json`. */
export type Reading =
  | { faulty: Pick<ReadBody, 'unknown' | 'faults'> }
  /** As JSON: parsing it takes this side a fraction of what receiving the objects would. */
  | { unknown: ReadBody['unknown']; json: string }
  | { invalid: string };

export interface BodyReader {
  /** Throws `invalid-json`, and `overloaded` when too many large bodies wait, of the account or in all. */
  read(operation: Operation, content: Buffer, accountId: string): ReadBody | Promise<ReadBody>;
}

/** Read at once, in at most some milliseconds. */
const smallBytes = 65_536;
/** Of large bodies; each waits with its bytes in memory. */
const waitingBounds = { ofOne: 8, inAll: 64 };
const idleMilliseconds = 60_000;
const startMegabytes = 128;
/** An empty object or array of two or three bytes takes tens of bytes in memory. */
const heapPerByte = 48;
const timePerMegabyte = 1_000;
const startMilliseconds = 10_000;

/** `limitBytes`: no body is larger; `megabytes`: of memory that the thread may take. */
export function createBodyReader({
  limitBytes,
  megabytes = startMegabytes + Math.ceil(limitBytes / 1_048_576) * heapPerByte,
}: {
  limitBytes: number;
  megabytes?: number;
}): BodyReader {
  const readings = new Map<Operation, BodyReading>();
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  const queue = createFairQueue(waitingBounds, () => problem('overloaded'));

  function endThread(): void {
    const ending = thread;
    thread = undefined;
    void ending?.terminate();
  }

  function readInThread({ id }: Operation, content: Buffer): Promise<ReadBody> {
    clearTimeout(idle);
    thread ??= startThread(megabytes);
    const asked = thread;
    return new Promise<ReadBody>((resolve, reject) => {
      function settle(): void {
        clearTimeout(late);
        asked.off('message', onMessage).off('error', onError);
        asked.unref();
        idle = setTimeout(endThread, idleMilliseconds).unref();
      }
      function onMessage(reading: Reading): void {
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
      const milliseconds = startMilliseconds + (content.length / 1_048_576) * timePerMegabyte;
      const late = setTimeout(() => {
        settle();
        endThread();
        reject(refuseCostly('takes too long'));
      }, milliseconds);
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
  // Between two bodies its end is of no interest; without a listener an error would end the process.
  return thread.on('error', () => undefined);
}

function refuseCostly(why: string): Problem {
  return problem('invalid-json', { reason: `reading it ${why}; send less data in one request` });
}
