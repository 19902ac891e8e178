/** Reads the rows of a table. */
import { readTableReference, type TransformationDefinition } from './component.ts';

export const tableInput: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  required: ['targetTable'],
  optional: ['columnNames', 'database', 'schema'],
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
