/** Generates load on a server in a separate process. */
import { type Child, startChild } from './child.ts';
import type { LoadOrder, LoadReply, LoadResult } from './load-process.ts';

export interface LoadGenerator {
  /** @throws when a response is not a success */
  run(order: Omit<LoadOrder, 'firstNumber'>): Promise<LoadResult>;
  stop(): Promise<void>;
}

export async function startLoadGenerator(): Promise<LoadGenerator> {
  const child: Child = await startChild(new URL('./load-process.ts', import.meta.url));
  let firstNumber = 1;
  return {
    async run(order) {
      const reply = (await child.ask({ ...order, firstNumber })) as LoadReply;
      if ('failure' in reply) throw new Error(reply.failure);
      const { result } = reply;
      firstNumber = result.nextNumber;
      if (Object.keys(result.refused).length > 0) {
        throw new Error(
          `Some requests failed: ${JSON.stringify(result.refused)}. One response: ${result.example}`,
        );
      }
      return result;
    },
    stop: () => child.stop(),
  };
}
