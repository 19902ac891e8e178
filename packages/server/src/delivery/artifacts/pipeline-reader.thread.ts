/** The thread that reads large pipeline files: a message when it has started, then one order, one result. */
import { parentPort } from 'node:worker_threads';
import type { Reading } from './pipeline-reader.ts';
import { type ReadingOrder, readPipeline } from './pipeline-reading.ts';

function post(reading: Reading): void {
  parentPort?.postMessage(reading);
}

parentPort?.on('message', (order: ReadingOrder) => post(readPipeline(order)));
post({ ready: true });
