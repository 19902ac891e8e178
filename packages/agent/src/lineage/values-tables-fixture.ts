/** Test fixture: input tables with random values, and components that read them. */
import type { Random } from './values-random-fixture.ts';

export type Components = Record<string, { type: string; sources?: string[]; parameters: object }>;

const word = (random: Random) => random.pick(['ash', 'birch', 'cedar', 'elm', 'fir', 'oak', 'yew']);
const number = (random: Random) => (random.integer(0, 7) === 0 ? null : random.integer(0, 6));

/** The columns of each table: their type and random values. */
export const tables: Readonly<
  Record<string, Readonly<Record<string, [string, (random: Random) => unknown]>>>
> = {
  orders: {
    id: ['INTEGER', (random) => random.integer(1, 12)],
    customer: ['VARCHAR', word],
    amount: ['INTEGER', number],
    tax: ['INTEGER', number],
    day: ['DATE', (random) => `2026-01-${String(random.integer(1, 9)).padStart(2, '0')}`],
    code: ['VARCHAR', (random) => `${word(random)}-${number(random)}`],
  },
  customers: {
    name: ['VARCHAR', word],
    city: ['VARCHAR', word],
    score: ['INTEGER', number],
  },
  sizes: {
    key: ['INTEGER', (random) => random.integer(1, 12)],
    small: ['INTEGER', number],
    large: ['INTEGER', number],
  },
  target: {
    key: ['INTEGER', (random) => random.integer(1, 12)],
    name: ['VARCHAR', word],
    total: ['INTEGER', number],
  },
  bodies: {
    id: ['INTEGER', number],
    body: [
      'JSON',
      (random) =>
        JSON.stringify({
          who: { name: word(random) },
          items: Array.from({ length: random.integer(0, 3) }, () => ({ price: number(random) })),
        }),
    ],
  },
};

export const read = (targetTable: string, columnNames: string[] = []) => ({
  type: 'table-input',
  parameters: { targetTable, columnNames },
});
export const orders = read('orders', ['id', 'customer', 'amount', 'tax', 'day', 'code']);
/** One component over the orders. */
export const of = (type: string, parameters: object): Components => ({
  Orders: orders,
  Last: { type, sources: ['Orders'], parameters },
});
export const sql = (query: string, ...sources: string[]): Components => ({
  ...Object.fromEntries(sources.map((name) => [name, read(name)])),
  Last: { type: 'sql', sources, parameters: { query } },
});
