/** The price list: HEADGATE_PRICES, JSON or the path of a file with JSON. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { defaultPrices, type Prices, parsePrices } from '../records/consumption/index.ts';
import type { Reader } from './setting-reader.ts';

const mostCharacters = 65_536;

export function readPrices(read: Reader): Prices {
  return read.parsed('HEADGATE_PRICES', parseSetting) ?? defaultPrices;
}

function parseSetting(input: string): Prices {
  if (input.trimStart().startsWith('{')) return parsePrices(input);
  const path = resolve(input);
  const text = readFileSync(path, 'utf8');
  if (text.length > mostCharacters) throw new Error(`${path} has more than ${mostCharacters} characters`);
  try {
    return parsePrices(text);
  } catch (failure) {
    throw new Error(`${path}: ${(failure as Error).message}`);
  }
}
