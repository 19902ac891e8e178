/** The thread that reads large pipeline files: one order, one result. */
import { parentPort } from 'node:worker_threads';
import { type ReadingOrder, readPipeline } from './pipeline-reading.ts';

parentPort?.on('message', (order: ReadingOrder) => parentPort?.postMessage(readPipeline(order)));
