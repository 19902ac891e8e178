import type { GroupEnds } from './dialect.ts';

/**
 * By GROUP BY, where an aggregate takes an order.
 *
 * @param render the aggregate. `order`: an ORDER BY clause, or ''; `filter`: a FILTER clause, or ''
 */
export function renderGroupEnds(
  { from, keys, order, columns, ignoresNulls }: GroupEnds,
  render: (side: 'first' | 'last', column: string, order: string, filter: string) => string,
): string {
  const clause = order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`;
  const values = columns.map(({ side, column, name }) => {
    const filter = ignoresNulls ? ` FILTER (WHERE ${column} IS NOT NULL)` : '';
    return `${render(side, column, clause, filter)} AS ${name}`;
  });
  const groups = keys.length === 0 ? '' : `\nGROUP BY ${keys.join(', ')}`;
  return `SELECT ${[...keys, ...values].join(', ')}\nFROM ${from}${groups}`;
}
