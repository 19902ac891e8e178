/**
 * Analyzes SQL in a thread of its own, one step after the other. Runs take turns. Hostile SQL can break the parser or
 * hold it up: the thread is then replaced, and the step has no lineage by columns. The thread ends when it has had
 * nothing to do for a while. ADR 0090.
 */
import { Worker } from 'node:worker_threads';
import type { AnalysisAnswer, AnalysisRequest, FromThread } from './lineage-messages.ts';
import { createRunQueues } from './run-queues.ts';

export interface SqlAnalyzer {
  /**
   * @param signal ends the waiting
   * @throws Error with the reason why there is no answer
   */
  analyze(request: AnalysisRequest, signal?: AbortSignal): Promise<AnalysisAnswer>;
  /** A run has ended. */
  forget(run: number): void;
  close(): Promise<void>;
}

export interface AnalyzerBounds {
  /** Of one step. */
  milliseconds: number;
  /** Of all steps of a run. */
  runMilliseconds: number;
  /** Steps that wait at the same time. */
  waiting: number;
  /** How long the thread is kept without work. */
  idleMilliseconds: number;
}

const standardBounds: AnalyzerBounds = {
  milliseconds: 2_000,
  runMilliseconds: 30_000,
  waiting: 200,
  idleMilliseconds: 30_000,
};
/** To load the parser, on a busy machine. */
const startMilliseconds = 30_000;

interface Job {
  id: number;
  request: AnalysisRequest;
  resolve(answer: AnalysisAnswer): void;
  reject(error: unknown): void;
  /** Nobody waits for it any more. */
  isLeft: boolean;
}

export function createSqlAnalyzer(bounds: AnalyzerBounds = standardBounds): SqlAnalyzer {
  const waiting = createRunQueues<Job>();
  /** Milliseconds of the analyses of each run. */
  const spent = new Map<number, number>();
  let runningSince = 0;
  let thread: { worker: Worker; isReady: boolean; timer: NodeJS.Timeout | undefined } | undefined;
  let running: Job | undefined;
  let lastId = 0;
  let isClosed = false;

  function start(): void {
    const worker = new Worker(new URL('./lineage-thread.ts', import.meta.url), {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    worker.unref();
    const started = { worker, isReady: false, timer: limit(startMilliseconds, 'the analysis did not start') };
    thread = started;
    worker.on('message', (message: FromThread) => {
      if (thread === started) receive(message);
    });
    // A thread without memory ends by itself.
    const end = (reason: string) => {
      if (thread === started) replace(reason);
    };
    worker.on('error', (error) => end(error.message));
    worker.on('exit', () => end('the analysis has ended'));
  }

  function limit(milliseconds: number, reason: string): NodeJS.Timeout {
    return setTimeout(() => replace(reason), milliseconds).unref();
  }

  function receive(message: FromThread): void {
    clearTimeout(thread?.timer);
    const job = endRunning();
    if (message.type === 'ready') {
      if (thread !== undefined) thread.isReady = true;
    } else if (job === undefined || message.id !== job.id) return;
    else if (message.type === 'answer') job.resolve(message);
    else {
      job.reject(new Error(message.reason));
      if (message.isBroken) {
        replace(message.reason);
        return;
      }
    }
    advance();
  }

  /** Ends the thread. The next step starts another one. */
  function replace(reason: string): void {
    const [before, job] = [thread, endRunning()];
    thread = undefined;
    clearTimeout(before?.timer);
    void before?.worker.terminate();
    job?.reject(new Error(reason));
    // Without a start no step can be analyzed.
    if (before?.isReady === false) for (const each of waiting.clear()) each.reject(new Error(reason));
    advance();
  }

  function endRunning(): Job | undefined {
    const job = running;
    running = undefined;
    if (job === undefined || job.isLeft) return job;
    const { run } = job.request;
    spent.set(run, (spent.get(run) ?? 0) + performance.now() - runningSince);
    return job;
  }

  function advance(): void {
    if (isClosed || running !== undefined) return;
    if (waiting.size === 0) {
      if (thread?.isReady === true) thread.timer = limit(bounds.idleMilliseconds, 'nothing to do');
      return;
    }
    if (thread === undefined) start();
    if (thread === undefined || !thread.isReady) return;
    clearTimeout(thread.timer);
    const next = waiting.take();
    if (next === undefined) return;
    running = next;
    runningSince = performance.now();
    spent.set(next.request.run, spent.get(next.request.run) ?? 0);
    thread.timer = limit(bounds.milliseconds, `the analysis took more than ${bounds.milliseconds} ms`);
    thread.worker.postMessage({ type: 'analyze', id: next.id, ...next.request });
  }

  return {
    async analyze(request, signal) {
      if (isClosed) throw new Error('the agent is stopping');
      signal?.throwIfAborted();
      if ((spent.get(request.run) ?? 0) > bounds.runMilliseconds)
        throw new Error(`the analyses of the run took more than ${bounds.runMilliseconds / 1_000} s`);
      const { promise, resolve, reject } = Promise.withResolvers<AnalysisAnswer>();
      lastId += 1;
      const job: Job = { id: lastId, request, resolve, reject, isLeft: false };
      waiting.add(job);
      // The run that waits with the most steps gives way, which may be this one.
      if (waiting.size > bounds.waiting)
        waiting.dropLongest()?.reject(new Error(`${bounds.waiting} other steps wait for their analysis`));
      const abort = () => {
        job.isLeft = true;
        waiting.remove(job);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', abort);
      advance();
      return promise.finally(() => signal?.removeEventListener('abort', abort));
    },
    forget(run) {
      // The thread knows only runs with an analysis. Most runs have none.
      if (spent.delete(run)) thread?.worker.postMessage({ type: 'forget', run });
    },
    async close() {
      isClosed = true;
      const { worker } = thread ?? {};
      replace('the agent is stopping');
      for (const job of waiting.clear()) job.reject(new Error('the agent is stopping'));
      await worker?.terminate();
    },
  };
}
