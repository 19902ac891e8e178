/** Stores columns of a query’s first row in scalar variables. */
import { readCellText } from '../expressions/parameters.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { rowsParameter } from './definition/declared-parameters.ts';
import { readTableQuery, tableQueryParameters } from './definition/table-query.ts';

export const queryToScalar: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Stores columns of a query’s first row in scalar variables.',
  group: 'variables',
  parameters: {
    ...tableQueryParameters,
    scalarVariableMapping: rowsParameter('Which column goes to which variable.', ['variable', 'column'], {
      required: true,
      variable: { as: 'scalar', cell: 0 },
    }),
  },
  example: `type: query-to-scalar
parameters:
  mode: Advanced
  query: SELECT count(*) AS n FROM orders
  scalarVariableMapping:
    - [customers, n]`,
  plan({ parameters, dialect }) {
    const query = readTableQuery(parameters, dialect);
    const mapping = parameters
      .rows('scalarVariableMapping', 2)
      .map((row) => [readCellText(row, 0), readCellText(row, 1)] as const);
    // Only the first row is used.
    return { action: 'query-scalars', query: `SELECT * FROM (\n${query}\n) AS "query" LIMIT 1`, mapping };
  },
};
