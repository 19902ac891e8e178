/**
 * Kills a process, its group and its descendants if their resident and swapped memory and page tables together
 * exceed a limit. A separate thread checks every 25 ms, and looks for new processes every 100 ms, so that a busy main
 * thread does not delay it. ADR 0030.
 */
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

export interface WatchedProcess {
  /** Whether it exceeded the limit. Set before its exit is seen. */
  readonly exceeded: boolean;
  end(): void;
}

export type WatchMessage =
  | { type: 'watch'; pid: number; limitKilobytes: number; hasOwnNetwork: boolean; exceeded: Int32Array }
  | { type: 'end'; pid: number };

export class MemoryWatch {
  readonly isSupported = existsSync('/proc/self/status');
  readonly #thread: Worker | undefined;

  constructor() {
    if (!this.isSupported) return;
    // No error listener: if the thread fails, the agent ends too, because nothing would limit memory.
    this.#thread = new Worker(new URL('./memory-watch-thread.mjs', import.meta.url), { env: {} });
    this.#thread.unref();
  }

  /**
   * @param pid the leader of a process group; undefined if the process did not start
   * @param hasOwnNetwork whether its descendants have a network namespace, whose sockets then count
   */
  watch(pid: number | undefined, limitMegabytes: number, hasOwnNetwork = false): WatchedProcess {
    if (pid === undefined) return { exceeded: false, end: () => undefined };
    const exceeded = new Int32Array(new SharedArrayBuffer(4));
    this.#send({ type: 'watch', pid, limitKilobytes: limitMegabytes * 1024, hasOwnNetwork, exceeded });
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
