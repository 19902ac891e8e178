/** The price list, which turns what was used into credits. */
import { type ConsumptionType, consumptionTypes, nearestName } from '@headgate/contract';

/** In credits. */
const priceNames = [
  'perHour',
  'perRun',
  'perMillionRows',
  'perGigabyte',
  'perMillionInputTokens',
  'perMillionOutputTokens',
] as const;
type PriceName = (typeof priceNames)[number];

export interface Prices {
  /** Of a month's bill: for each user who used the account. */
  perUser: number;
  ofTypes: Readonly<Record<ConsumptionType, Readonly<Partial<Record<PriceName, number>>>>>;
}

const anHour = { perHour: 1 };
export const defaultPrices: Prices = {
  perUser: 0,
  ofTypes: {
    orchestration: anHour,
    transformation: anHour,
    script: anHour,
    streaming: anHour,
    test: anHour,
    ai: { perMillionInputTokens: 1, perMillionOutputTokens: 4 },
  },
};

const mostCredits = 1_000_000;
const example = '{"transformation": {"perHour": 2}, "perUser": 0}';

/** Prices that the text leaves out are the defaults of their type, or 0 of a type that it names. */
export function parsePrices(text: string): Prices {
  const members = Object.entries(requireObject(parseJson(text), 'the price list'));
  const ofTypes: Record<string, Partial<Record<PriceName, number>>> = { ...defaultPrices.ofTypes };
  let { perUser } = defaultPrices;
  for (const [name, value] of members) {
    if (name === 'perUser') perUser = requirePrice(value, name);
    else {
      requireWord(name, [...consumptionTypes, 'perUser'], 'the price list');
      ofTypes[name] = parseType(name, value);
    }
  }
  return { perUser, ofTypes: ofTypes as Prices['ofTypes'] };
}

function parseType(type: string, value: unknown): Partial<Record<PriceName, number>> {
  const prices: Partial<Record<PriceName, number>> = {};
  for (const [name, price] of Object.entries(requireObject(value, type))) {
    requireWord(name, priceNames, type);
    prices[name as PriceName] = requirePrice(price, `${type}.${name}`);
  }
  return prices;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (failure) {
    throw new Error(`${(failure as Error).message}; write JSON such as ${example}`);
  }
}

function requireObject(value: unknown, where: string): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new Error(`${where} must be an object; write JSON such as ${example}`);
}

function requireWord(name: string, known: readonly string[], where: string): void {
  if (known.includes(name)) return;
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
  throw new Error(
    `${where} has the member ${JSON.stringify(name)}, which is none of ${known.join(', ')}${hint}`,
  );
}

function requirePrice(value: unknown, where: string): number {
  if (typeof value === 'number' && value >= 0 && value <= mostCredits) return value;
  throw new Error(
    `${where} must be a number of credits from 0 to ${mostCredits}; it is ${JSON.stringify(value)}`,
  );
}
