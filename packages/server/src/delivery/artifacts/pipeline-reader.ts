/**
 * Reads pipeline files of uploads: a small one at once, a large one in a thread with limited time and
 * memory, so that no file delays other requests (docs/adr/0018). The thread starts when it is needed and
 * ends after it was idle for a while.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { fileMillisecondsLimit } from '@headgate/pipelines';
import { type ReadingOrder, type ReadPipeline, readPipeline } from './pipeline-reading.ts';
import { rememberPipelines } from './remembered-pipelines.ts';

/** A message of the thread: that it has started, or a result. */
export type Reading = { ready: true } | ReadPipeline;

export type PipelineReader = (order: ReadingOrder) => Promise<ReadPipeline>;

/** Characters of a small file, which takes some milliseconds. */
const smallLength = 16_384;
/**
 * The memory for the largest usual pipelines, and for the largest that the format allows. Reserving the
 * latter always would cost each server as much.
 */
const usualMegabytes = 72;
const mostMegabytes = 256;
const idleMilliseconds = 10_000;

/** `milliseconds` is for one file. The time that the thread needs to start does not count. */
export function createPipelineReader(limits = { milliseconds: fileMillisecondsLimit }): PipelineReader {
  let thread: Worker | undefined;
  let isReady = false;
  let idle: NodeJS.Timeout | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const remembered = rememberPipelines();

  function stopThread(): void {
    const ending = thread;
    thread = undefined;
    isReady = false;
    void ending?.terminate();
  }

  function readInThread(order: ReadingOrder, megabytes = usualMegabytes): Promise<ReadPipeline> {
    clearTimeout(idle);
    thread ??= startThread(megabytes);
    const asked = thread;
    return new Promise<ReadPipeline>((resolve, reject) => {
      let late: NodeJS.Timeout | undefined;
      function startTime(): void {
        late = setTimeout(() => {
          settle();
          stopThread();
          resolve({ fault: createTooHardFault(`takes longer than ${limits.milliseconds / 1_000} s`) });
        }, limits.milliseconds);
      }
      function settle(): void {
        clearTimeout(late);
        asked.off('message', acceptResult).off('error', handleError);
        asked.unref();
      }
      function acceptResult(read: Reading): void {
        if ('ready' in read) {
          isReady = true;
          startTime();
          return;
        }
        settle();
        if (megabytes > usualMegabytes) stopThread();
        else idle = setTimeout(stopThread, idleMilliseconds).unref();
        resolve(read);
      }
      function handleError(failure: NodeJS.ErrnoException): void {
        settle();
        stopThread();
        if (failure.code !== 'ERR_WORKER_OUT_OF_MEMORY') reject(failure);
        else if (megabytes < mostMegabytes) resolve(readInThread(order, mostMegabytes));
        else resolve({ fault: createTooHardFault(`takes more than ${mostMegabytes} MB of memory`) });
      }
      if (isReady) startTime();
      asked.on('message', acceptResult).on('error', handleError);
      asked.ref();
      asked.postMessage(order);
    });
  }

  return async (order) => {
    if (order.text.length <= smallLength) {
      const before = remembered.find(order);
      if (before !== undefined) return before;
      // Copies the result, because slices would keep the whole text in memory.
      const read = structuredClone(readPipeline(order));
      remembered.remember(order, read);
      await nextTurn();
      return read;
    }
    const mine = turn.then(() => readInThread(order));
    turn = mine.catch(() => undefined);
    return mine;
  };
}

function startThread(megabytes: number): Worker {
  const limits = { maxOldGenerationSizeMb: megabytes, maxYoungGenerationSizeMb: 16 };
  const thread = new Worker(new URL('./pipeline-reader.thread.ts', import.meta.url), {
    resourceLimits: limits,
  });
  // An idle thread may end; without a listener its error would end the process.
  return thread.on('error', () => undefined);
}

const createTooHardFault = (why: string) => ({
  reason: `reading it ${why}: split it into several pipelines`,
  line: 1,
});
