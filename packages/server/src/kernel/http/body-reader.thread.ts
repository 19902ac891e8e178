/** The thread that parses large bodies. */
import { operations } from '@headgate/contract';
import { serveThread } from '../threads/serve-thread.ts';
import { wipePieces } from './body-pieces.ts';
import type { Reading, ReadingOrder } from './body-reader.ts';
import { type BodyReading, createBodyReading } from './body-reading.ts';
import { Problem } from './problems.ts';

const readings = new Map<string, BodyReading>();

function findReading(id: string): BodyReading {
  const known = readings.get(id);
  if (known !== undefined) return known;
  const operation = operations.find((each) => each.id === id);
  if (operation === undefined) throw new Error(`Unknown operation ${id}.`);
  const made = createBodyReading(operation);
  readings.set(id, made);
  return made;
}

function read({ operationId, pieces }: ReadingOrder): Reading {
  const content = Buffer.concat(pieces);
  try {
    const { value, unknown, faults } = findReading(operationId)(content);
    return faults.length > 0 ? { faulty: { unknown, faults } } : { unknown, json: JSON.stringify(value) };
  } catch (failure) {
    if (failure instanceof Problem && failure.code === 'invalid-json') return { invalid: failure.message };
    throw failure;
  } finally {
    // The content may hold a secret.
    wipePieces([content, ...pieces]);
  }
}

serveThread(read);
