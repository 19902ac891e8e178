/** Reads the result of a query by the names of its columns, in any case. */
import { ParameterError } from '../../expressions/parameters.ts';
import type { Scalar } from '../../expressions/variables.ts';
import type { QueryResult } from './component.ts';

/** The position of a column, in any case; -1 if there is none. */
export function indexOfColumn(columns: readonly string[], expected: string): number {
  for (const fold of [(name: string) => name, (name: string) => name.toLowerCase(), foldExpression]) {
    const found = columns.findIndex((column) => fold(column) === fold(expected));
    if (found >= 0) return found;
  }
  return -1;
}

/** A column without an alias has the expression as its name. DuckDB calls COUNT(*) `count_star()`. */
function foldExpression(name: string): string {
  return name.toLowerCase().replaceAll(/\s+/g, '').replaceAll('count_star()', 'count(*)');
}

/** The position of a column. @throws ParameterError if there is none */
export function findResultColumn({ columns }: QueryResult, expected: string): number {
  const found = indexOfColumn(columns, expected);
  if (found < 0)
    throw new ParameterError(`the query returned no column "${expected}": use one of ${columns.join(', ')}`);
  return found;
}

/** A cell as the value of a variable. */
export function toScalar(cell: unknown): Scalar {
  if (cell === null || cell === undefined) return null;
  return typeof cell === 'number' ? cell : String(cell);
}
