/**
 * Reads pipeline files of uploads: a small one at once, a large one in a thread with limited time and
 * memory, so that no file delays other requests (docs/adr/0018).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileMillisecondsLimit } from '@headgate/pipelines';
import { problem } from '../../../kernel/http/problems.ts';
import { createWorkThread, TooCostly } from '../../../kernel/threads/work-thread.ts';
import { type ReadingOrder, type ReadPipeline, readPipeline } from './pipeline-reading.ts';
import { rememberPipelines } from './remembered-pipelines.ts';

/** Accounts take turns. */
export type PipelineReader = (order: ReadingOrder, accountId: string) => Promise<ReadPipeline>;

/** Characters of a small file, which takes some milliseconds. */
const smallLength = 4_096;
/**
 * The memory for the largest usual pipelines, and for the largest that the format allows. Reserving the
 * latter always would cost each server as much.
 */
const usualMegabytes = 72;
const mostMegabytes = 256;
/** Files that wait. An upload reads one at a time. */
const waiting = { ofOne: 64, inAll: 1_000 };

/** `milliseconds` is for one file. */
export function createPipelineReader(limits = { milliseconds: fileMillisecondsLimit }): PipelineReader {
  const remembered = rememberPipelines();
  const { milliseconds } = limits;
  const thread = createWorkThread<ReadingOrder, ReadPipeline>({
    module: new URL('./pipeline-reader.thread.ts', import.meta.url),
    megabytes: usualMegabytes,
    waiting,
    refuse: () => problem('overloaded'),
  });

  async function readInThread(order: ReadingOrder, accountId: string): Promise<ReadPipeline> {
    const run = (megabytes: number) => thread.run(accountId, order, { milliseconds, megabytes });
    try {
      return await run(usualMegabytes).catch((failure) => {
        if (failure instanceof TooCostly && failure.limit === 'memory') return run(mostMegabytes);
        throw failure;
      });
    } catch (failure) {
      if (!(failure instanceof TooCostly)) throw failure;
      return {
        fault: { reason: `reading it ${failure.message}: split it into several pipelines`, line: 1 },
      };
    }
  }

  return async (order, accountId) => {
    if (order.text.length > smallLength) return readInThread(order, accountId);
    const before = remembered.find(order);
    if (before !== undefined) return before;
    // Copies the result, because slices would keep the whole text in memory.
    const read = structuredClone(readPipeline(order));
    remembered.remember(order, read);
    await nextTurn();
    return read;
  };
}
