/** The thread in which large pipeline files are read: one order, one answer. */
import { parentPort } from 'node:worker_threads';
import { type ReadingOrder, readPipeline } from './pipeline-reading.ts';

parentPort?.on('message', (order: ReadingOrder) => parentPort?.postMessage(readPipeline(order)));
