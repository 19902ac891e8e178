/** The price list: HEADGATE_PRICES, JSON or the path of a file with JSON. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { defaultPrices, type Prices, parsePrices } from '../records/consumption/index.ts';
import type { Reader } from './setting-reader.ts';

const mostCharacters = 65_536;

export function readPrices(read: Reader): Prices {
  return read.parsed('HEADGATE_PRICES', parseSetting) ?? defaultPrices;
}

function parseSetting(given: string): Prices {
  if (given.trimStart().startsWith('{')) return parsePrices(given);
  const path = resolve(given);
  const text = readFileSync(path, 'utf8');
  if (text.length > mostCharacters) throw new Error(`${path} has more than ${mostCharacters} characters`);
  try {
    return parsePrices(text);
  } catch (failure) {
    throw new Error(`${path}: ${(failure as Error).message}`);
  }
}
