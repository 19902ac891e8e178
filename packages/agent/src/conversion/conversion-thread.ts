/** The entry point of the thread that converts one file. */
import { parentPort, workerData } from 'node:worker_threads';

import { getReason } from '../log.ts';
import type { ConversionAnswer, ConversionRequest } from './converter.ts';
import { FileFault } from './file-fault.ts';

const { path, target, conversion, fileBytes } = workerData as ConversionRequest;

async function convert(): Promise<ConversionAnswer> {
  try {
    if (conversion.from === 'avro') {
      const { convertAvro } = await import('./avro/avro-file.ts');
      return { converted: convertAvro(path, target, fileBytes) };
    }
    const { convertXlsx } = await import('./xlsx/xlsx-file.ts');
    return { converted: await convertXlsx(path, target, conversion, fileBytes) };
  } catch (error) {
    return { fault: getReason(error), isPermanent: error instanceof FileFault };
  }
}

parentPort?.postMessage(await convert());
