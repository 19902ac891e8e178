/** The windows of rank, lead-lag and window-calculation. */
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import {
  namesParameter,
  type ParameterTable,
  rowsParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import { renderOrderTerm } from './definition/plan-parts.ts';

/** Files write the order's name in two ways. */
export const windowParameters = (isOrderRequired: boolean): ParameterTable => ({
  partitionData: namesParameter('The columns of the partitions. None: one partition.'),
  orderingWithinPartitions: rowsParameter(
    'The order in a partition. NULL is the largest value unless Nulls First or Nulls Last says otherwise.',
    ['column', 'Ascending or Descending?', 'Nulls First or Nulls Last?'],
    { ...(isOrderRequired ? { required: true as const } : {}), otherNames: ['orderingsWithinPartitions'] },
  ),
  includeInputColumns: yesNoParameter('Whether the columns of the source are kept.', 'Yes'),
});

/** What stands in the brackets of OVER, without a frame. */
export function renderWindow(parameters: Parameters, dialect: Dialect): { text: string; isOrdered: boolean } {
  const partitions = parameters.names('partitionData').map(dialect.name);
  const order = parameters.rows('orderingWithinPartitions', 1).map((row) => renderOrderTerm(row, dialect));
  const text = [
    ...(partitions.length === 0 ? [] : [`PARTITION BY ${partitions.join(', ')}`]),
    ...(order.length === 0 ? [] : [`ORDER BY ${order.join(', ')}`]),
  ].join(' ');
  return { text, isOrdered: order.length > 0 };
}

/** The rows of `functions`, of which there must be one. */
export function readFunctions(parameters: Parameters, width: number): Resolved[][] {
  const rows = parameters.rows('functions', width);
  if (rows.length === 0) throw new ParameterError('"functions" is empty: add a function');
  return rows;
}

/** A cell with a whole number; `otherwise` if it is empty. */
export function readCellInteger(
  row: readonly Resolved[],
  index: number,
  what: string,
  otherwise: number,
): number {
  const text = readCellText(row, index).trim();
  if (text === '') return otherwise;
  if (!/^\d{1,9}$/.test(text))
    throw new ParameterError(`${what} is "${text}": use a whole number, such as 1`);
  return Number(text);
}
