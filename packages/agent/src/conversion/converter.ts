/**
 * Converts files that the warehouse does not read to lines of JSON, in a thread of its own for each: what a file says
 * cannot hold up the agent, and its memory and time are bounded.
 */
import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { type Converted, type FileConversion, PermanentFault } from '@headgate/pipelines';
import type { Turns } from '../turns.ts';

export interface ConversionRequest {
  /** Absolute. */
  path: string;
  target: string;
  conversion: FileConversion;
  /** Of what is written. */
  fileBytes: number;
}

export type ConversionAnswer = { converted: Converted } | { fault: string; isPermanent: boolean };

export interface ConverterBounds {
  milliseconds: number;
  heapMegabytes: number;
}

const standardBounds: ConverterBounds = { milliseconds: 30 * 60_000, heapMegabytes: 512 };

export type ConvertFile = (
  request: ConversionRequest,
  project: string,
  signal: AbortSignal,
) => Promise<Converted>;

/** @returns throws PermanentFault about the file */
export function createConverter(turns: Turns, bounds: ConverterBounds = standardBounds): ConvertFile {
  return (request, project, signal) =>
    turns.take(project, signal, async () => {
      const { size } = await stat(request.path);
      if (size === 0) throw new PermanentFault('the file is empty');
      const answer = await askThread(request, bounds, signal);
      if ('converted' in answer) return answer.converted;
      throw answer.isPermanent ? new PermanentFault(answer.fault) : new Error(answer.fault);
    });
}

function askThread(
  request: ConversionRequest,
  { milliseconds, heapMegabytes }: ConverterBounds,
  signal: AbortSignal,
): Promise<ConversionAnswer> {
  const worker = new Worker(new URL('./conversion-thread.ts', import.meta.url), {
    env: {},
    workerData: request,
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
  });
  const { promise, resolve, reject } = Promise.withResolvers<ConversionAnswer>();
  const late = new PermanentFault(`it was not read after ${milliseconds / 60_000} minutes: divide it`);
  const timer = setTimeout(() => reject(late), milliseconds);
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  worker.once('message', resolve);
  worker.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, heapMegabytes)));
  worker.once('exit', () => reject(new Error('the conversion of the file has ended')));
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    return worker.terminate();
  });
}

function explain(error: NodeJS.ErrnoException, heapMegabytes: number): Error {
  if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') return error;
  return new PermanentFault(`it needs more than ${heapMegabytes} MiB of memory to be read: divide it`);
}
