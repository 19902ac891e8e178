/** The other side of `createWorkThread`: a message when the thread has started, then one order in, one result out. */
import { parentPort } from 'node:worker_threads';
import { lowerPriority } from './thread-priority.ts';
import type { ThreadMessage } from './work-thread.ts';

export function serveThread<Order, Result>(work: (order: Order) => Result | Promise<Result>): void {
  lowerPriority();
  const post = (message: ThreadMessage<Result>) => parentPort?.postMessage(message);
  parentPort?.on('message', async (order: Order) => {
    try {
      post({ result: await work(order) });
    } catch (failure) {
      post({ failure: failure instanceof Error ? failure : new Error(String(failure)) });
    }
  });
  post({ ready: true });
}
