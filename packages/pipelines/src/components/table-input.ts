/** Reads the rows of a table. */

import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { namesParameter, placeParameters, textParameter } from './definition/declared-parameters.ts';
import { readTableReference } from './definition/plan-parts.ts';

const historyParameters = {
  timeOffset: textParameter('Must be empty: the warehouse keeps no earlier state of a table.'),
  offsetType: textParameter('Must be empty or `None`.'),
};

export const tableInput: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Reads the rows of a table.',
  group: 'read',
  parameters: {
    targetTable: textParameter('The table.', { required: true, otherNames: ['table'] }),
    ...placeParameters,
    columnNames: namesParameter('The columns. None: all.'),
    ...historyParameters,
  },
  noEffect: ['catalog'],
  example: `type: table-input
parameters:
  targetTable: orders
  columnNames: [customer, amount]`,
  sources: [0, 0],
  plan({ parameters, dialect }) {
    refuseHistory(parameters);
    const columns = parameters.names('columnNames');
    const list = columns.length === 0 ? '*' : columns.map(dialect.name).join(', ');
    return {
      select: `SELECT ${list} FROM ${dialect.table(readTableReference(parameters, 'targetTable'))}`,
      columns: columns.length === 0 ? undefined : columns,
    };
  },
};

/** Rows of an earlier time cannot be had, and the rows of now would be wrong. */
function refuseHistory(parameters: Parameters): void {
  for (const name of Object.keys(historyParameters)) {
    const input = parameters.optionalText(name)?.trim() ?? '';
    if (['', 'none'].includes(input.toLowerCase())) continue;
    throw new ParameterError(
      `"${name}" is "${input}", but the warehouse keeps no earlier state of a table: leave it empty`,
    );
  }
}
