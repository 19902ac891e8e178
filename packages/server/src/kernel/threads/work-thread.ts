/**
 * Work that a caller can make long runs in a thread, with limited time and memory, so that it delays no other
 * request (docs/adr/0076). Owners take turns. The thread starts when it is needed, is replaced when it passes a limit,
 * and ends after it was idle for a while.
 */
import { Worker } from 'node:worker_threads';
import { createFairQueue, type QueueOwner } from './fair-queue.ts';

/** A message of the thread: that it has started, a result, or why there is none. */
export type ThreadMessage<Result> = { ready: true } | { result: Result } | { failure: Error };

/** The work passed a limit. The message continues "reading it": `takes longer than 10 s`. */
export class TooCostly extends Error {
  readonly limit: 'time' | 'memory';

  constructor(limit: 'time' | 'memory', message: string) {
    super(message);
    this.limit = limit;
  }
}

interface WorkLimits {
  milliseconds: number;
  megabytes?: number | undefined;
  transfer?: readonly ArrayBuffer[];
}

export interface WorkThread<Order, Result> {
  /**
   * `milliseconds` is for the work alone: the time that it waits and that the thread needs to start does not count.
   * With `megabytes` above those of the thread, it runs in another thread with that limit. Throws TooCostly.
   *
   * The memory of `transfer` goes to the thread without a copy, and is empty here from then on.
   */
  run(owner: QueueOwner, order: Order, limits: WorkLimits): Promise<Result>;
}

export interface WorkThreadOptions {
  /** A module that calls `serveThread`. */
  module: URL;
  megabytes: number;
  youngMegabytes?: number;
  idleMilliseconds?: number;
  /** How many orders may wait, of one owner and in all, and what is thrown if more do. */
  waiting: { ofOne: number; inAll: number };
  refuse: () => Error;
}

interface Thread {
  worker: Worker;
  megabytes: number;
  isReady: boolean;
}

export function createWorkThread<Order, Result>(options: WorkThreadOptions): WorkThread<Order, Result> {
  const { megabytes: usualMegabytes, idleMilliseconds = 10_000 } = options;
  const queue = createFairQueue(options.waiting, options.refuse);
  let thread: Thread | undefined;
  let idle: NodeJS.Timeout | undefined;

  function stopThread(): void {
    const ending = thread;
    thread = undefined;
    void ending?.worker.terminate();
  }

  function getThread(megabytes: number): Thread {
    clearTimeout(idle);
    if (thread !== undefined && thread.megabytes !== megabytes) stopThread();
    thread ??= openThread(megabytes);
    return thread;
  }

  function openThread(megabytes: number): Thread {
    const opened = { worker: startThread(options, megabytes), megabytes, isReady: false };
    // One that ends by itself while it is idle gets no further orders.
    opened.worker.on('exit', () => {
      if (thread === opened) thread = undefined;
    });
    return opened;
  }

  async function runInThread(
    order: Order,
    { milliseconds, megabytes = usualMegabytes, transfer = [] }: WorkLimits,
  ): Promise<Result> {
    const used = getThread(megabytes);
    const { worker } = used;
    const end = Promise.withResolvers<Result>();
    let late: NodeJS.Timeout | undefined;
    let mustReplace = megabytes !== usualMegabytes;
    function startTime(): void {
      used.isReady = true;
      const passed = new TooCostly('time', `takes longer than ${milliseconds / 1_000} s`);
      late = setTimeout(() => failWith(passed), milliseconds);
    }
    function failWith(failure: unknown): void {
      mustReplace = true;
      end.reject(failure);
    }
    function acceptMessage(message: ThreadMessage<Result>): void {
      if ('ready' in message) startTime();
      else if ('result' in message) end.resolve(message.result);
      else failWith(message.failure);
    }
    function handleError(failure: NodeJS.ErrnoException): void {
      const isMemory = failure.code === 'ERR_WORKER_OUT_OF_MEMORY';
      failWith(isMemory ? new TooCostly('memory', `takes more than ${megabytes} MB of memory`) : failure);
    }
    const handleExit = (code: number) =>
      failWith(new Error(`The thread ended with the code ${code} before it answered.`));
    if (used.isReady) startTime();
    worker.on('message', acceptMessage).on('error', handleError).on('exit', handleExit);
    worker.ref();
    worker.postMessage(order, transfer);
    try {
      return await end.promise;
    } finally {
      clearTimeout(late);
      worker.off('message', acceptMessage).off('error', handleError).off('exit', handleExit);
      worker.unref();
      if (mustReplace) stopThread();
      else idle = setTimeout(stopThread, idleMilliseconds).unref();
    }
  }

  return { run: (owner, order, limits) => queue.run(owner, () => runInThread(order, limits)) };
}

function startThread({ module, youngMegabytes = 16 }: WorkThreadOptions, megabytes: number): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: megabytes, maxYoungGenerationSizeMb: youngMegabytes };
  const worker = new Worker(module, { resourceLimits });
  // An idle thread may end; without a listener its error would end the process.
  return worker.on('error', () => undefined);
}
