/** Reads the result of a query by the names of its columns, in any case. */
import { ParameterError, type Parameters, readCellText } from '../parameters.ts';
import type { Scalar } from '../variables.ts';
import type { QueryResult } from './component.ts';

/** Pairs of a column and a name; a single name stands for both. @throws ParameterError */
export function readMapping(parameters: Parameters, name: string): (readonly [string, string])[] {
  return parameters.rows(name, 1).map((row) => {
    const column = readCellText(row, 0);
    return [column, readCellText(row, 1) || column] as const;
  });
}

/** The position of a column. @throws ParameterError if there is none */
export function findResultColumn({ columns }: QueryResult, wanted: string): number {
  const exact = columns.indexOf(wanted);
  if (exact >= 0) return exact;
  const found = columns.findIndex((column) => column.toLowerCase() === wanted.toLowerCase());
  if (found < 0)
    throw new ParameterError(`the query returned no column "${wanted}": use one of ${columns.join(', ')}`);
  return found;
}

/** A cell as the value of a variable. */
export function toScalar(cell: unknown): Scalar {
  if (cell === null || cell === undefined) return null;
  return typeof cell === 'number' ? cell : String(cell);
}
