/** Load on a server, made by a process of its own. */
import { type Child, startChild } from './child.ts';
import type { LoadOrder, LoadReply, LoadResult } from './load-process.ts';

export interface LoadGenerator {
  /** Answers what came of it; throws when not all answers were successes. */
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
          `Not all was answered with success: ${JSON.stringify(result.refused)}. One answer: ${result.example}`,
        );
      }
      return result;
    },
    stop: () => child.stop(),
  };
}
