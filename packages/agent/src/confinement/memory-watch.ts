/**
 * Ends a process, with its group and all that it has started, when these together take more memory than its limit: resident memory and what of
 * it was swapped out. A thread looks every 25 ms, for new processes every 100 ms, so that nothing that keeps this thread busy lets a process grow. ADR 0030.
 */
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

export interface WatchedProcess {
  /** Whether it was ended for its memory; true before its exit is seen. */
  readonly exceeded: boolean;
  end(): void;
}

export type WatchMessage =
  | { type: 'watch'; pid: number; limitKilobytes: number; exceeded: Int32Array }
  | { type: 'end'; pid: number };

export class MemoryWatch {
  readonly isSupported = existsSync('/proc/self/status');
  readonly #thread: Worker | undefined;

  constructor() {
    if (!this.isSupported) return;
    // Without a listener for its errors: a thread that fails takes the agent with it, for without it nothing
    // is bounded.
    this.#thread = new Worker(new URL('./memory-watch-thread.ts', import.meta.url), { env: {} });
    this.#thread.unref();
  }

  /** @param pid the leader of a process group; undefined for a process that did not start */
  watch(pid: number | undefined, limitMegabytes: number): WatchedProcess {
    if (pid === undefined) return { exceeded: false, end: () => undefined };
    const exceeded = new Int32Array(new SharedArrayBuffer(4));
    this.#send({ type: 'watch', pid, limitKilobytes: limitMegabytes * 1024, exceeded });
    return {
      get exceeded() {
        return Atomics.load(exceeded, 0) === 1;
      },
      end: () => this.#send({ type: 'end', pid }),
    };
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #send(message: WatchMessage): void {
    this.#thread?.postMessage(message);
  }
}
