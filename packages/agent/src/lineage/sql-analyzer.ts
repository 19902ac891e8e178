/**
 * Analyzes SQL in a thread of its own, one step after the other. Hostile SQL can break the parser or hold it up: the
 * thread is then replaced, and the step has no lineage by columns. The thread ends when it has had nothing to do for
 * a while. ADR 0090.
 */
import { Worker } from 'node:worker_threads';
import type { AnalysisAnswer, AnalysisRequest, FromThread } from './lineage-messages.ts';

export interface SqlAnalyzer {
  /** @throws Error with the reason why there is no answer */
  analyze(request: AnalysisRequest): Promise<AnalysisAnswer>;
  /** A run has ended. */
  forget(run: number): void;
  close(): Promise<void>;
}

export interface AnalyzerBounds {
  /** Of one step. */
  milliseconds: number;
  /** Steps that wait at the same time. */
  waiting: number;
  /** How long the thread is kept without work. */
  idleMilliseconds: number;
}

const standardBounds: AnalyzerBounds = { milliseconds: 2_000, waiting: 200, idleMilliseconds: 30_000 };
/** To load the parser, on a busy machine. */
const startMilliseconds = 30_000;

interface Job {
  id: number;
  request: AnalysisRequest;
  resolve(answer: AnalysisAnswer): void;
  reject(error: Error): void;
}

export function createSqlAnalyzer(bounds: AnalyzerBounds = standardBounds): SqlAnalyzer {
  const waiting: Job[] = [];
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
    const job = running;
    running = undefined;
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
    const [before, job] = [thread, running];
    thread = undefined;
    running = undefined;
    clearTimeout(before?.timer);
    void before?.worker.terminate();
    job?.reject(new Error(reason));
    // Without a start no step can be analyzed.
    if (before?.isReady === false) for (const each of waiting.splice(0)) each.reject(new Error(reason));
    advance();
  }

  function advance(): void {
    if (isClosed || running !== undefined) return;
    const [next] = waiting;
    if (next === undefined) {
      if (thread?.isReady === true) thread.timer = limit(bounds.idleMilliseconds, 'nothing to do');
      return;
    }
    if (thread === undefined) start();
    if (thread === undefined || !thread.isReady) return;
    clearTimeout(thread.timer);
    waiting.shift();
    running = next;
    thread.timer = limit(bounds.milliseconds, `the analysis took more than ${bounds.milliseconds} ms`);
    thread.worker.postMessage({ type: 'analyze', id: next.id, ...next.request });
  }

  return {
    analyze(request) {
      if (isClosed) return Promise.reject(new Error('the agent is stopping'));
      if (waiting.length >= bounds.waiting)
        return Promise.reject(new Error(`${bounds.waiting} other steps wait for their analysis`));
      return new Promise((resolve, reject) => {
        lastId += 1;
        waiting.push({ id: lastId, request, resolve, reject });
        advance();
      });
    },
    forget(run) {
      thread?.worker.postMessage({ type: 'forget', run });
    },
    async close() {
      isClosed = true;
      const { worker } = thread ?? {};
      replace('the agent is stopping');
      for (const job of waiting.splice(0)) job.reject(new Error('the agent is stopping'));
      await worker?.terminate();
    },
  };
}
