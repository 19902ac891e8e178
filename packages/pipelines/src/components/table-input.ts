/** Reads the rows of a table. */
import { readTableReference, type TransformationDefinition } from './component.ts';
import { namesParameter, placeParameters, textParameter } from './declared-parameters.ts';

export const tableInput: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Reads the rows of a table.',
  group: 'read',
  parameters: {
    targetTable: textParameter('The table.', { required: true, otherNames: ['table'] }),
    ...placeParameters,
    columnNames: namesParameter('The columns. None: all.'),
  },
  noEffect: ['timeOffset', 'offsetType', 'catalog'],
  example: `type: table-input
parameters:
  targetTable: orders
  columnNames: [customer, amount]`,
  sources: [0, 0],
  plan({ parameters, dialect }) {
    const columns = parameters.names('columnNames');
    const list = columns.length === 0 ? '*' : columns.map(dialect.name).join(', ');
    return {
      select: `SELECT ${list} FROM ${dialect.table(readTableReference(parameters, 'targetTable'))}`,
      columns: columns.length === 0 ? undefined : columns,
    };
  },
};
