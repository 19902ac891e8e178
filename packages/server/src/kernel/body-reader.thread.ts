/** The thread in which large bodies are read: one order, one answer. */
import { parentPort } from 'node:worker_threads';
import { operations } from '@headgate/contract';
import type { Reading, ReadingOrder } from './body-reader.ts';
import { type BodyReading, bodyReading } from './body-reading.ts';
import { Problem } from './problems.ts';

const readings = new Map<string, BodyReading>();

function readingOf(id: string): BodyReading {
  const known = readings.get(id);
  if (known !== undefined) return known;
  const operation = operations.find((each) => each.id === id);
  if (operation === undefined) throw new Error(`There is no operation ${id}.`);
  const made = bodyReading(operation);
  readings.set(id, made);
  return made;
}

function read({ operationId, content }: ReadingOrder): Reading {
  try {
    const body = readingOf(operationId)(content);
    // Of an invalid body nobody needs the value.
    return { body: body.faults.length === 0 ? body : { ...body, value: undefined } };
  } catch (failure) {
    if (failure instanceof Problem && failure.code === 'invalid-json') return { invalid: failure.message };
    throw failure;
  }
}

parentPort?.on('message', (order: ReadingOrder) => parentPort?.postMessage(read(order)));
