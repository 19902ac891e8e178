/** Fills a grid variable with the rows of a query. */
import { ParameterError } from '../expressions/parameters.ts';
import { type Grid, type GridRows, VariableError } from '../expressions/variables.ts';
import type { OrchestrationDefinition, QueryResult } from './definition/component.ts';
import { rowsParameter, textParameter } from './definition/declared-parameters.ts';
import { readMapping } from './definition/plan-parts.ts';
import { findResultColumn, toScalar } from './definition/query-result.ts';
import { readTableQuery, tableQueryParameters } from './definition/table-query.ts';

export const gridParameter = textParameter('The grid variable.', {
  required: true,
  variable: { as: 'grid' },
});

export const queryToGrid: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about:
    'Fills a grid variable with the rows of a query. The rows that it had are replaced. Columns of the grid without a column of the query are empty.',
  group: 'variables',
  parameters: {
    ...tableQueryParameters,
    gridVariable: gridParameter,
    gridVariableMapping: rowsParameter(
      'Which column of the query goes to which column of the grid. A name alone stands for both.',
      ['query column', 'grid column?'],
      { required: true },
    ),
  },
  example: `type: query-to-grid
parameters:
  mode: Advanced
  query: SELECT table_name FROM information_schema.tables
  gridVariable: tables
  gridVariableMapping:
    - [table_name, name]`,
  plan({ parameters, dialect }) {
    const query = readTableQuery(parameters, dialect);
    const grid = parameters.text('gridVariable');
    const mapping = readMapping(parameters, 'gridVariableMapping');
    return {
      action: 'query-grid',
      query,
      grid,
      select: (result, { columns }) => selectRows(result, mapping, { name: grid, columns }),
    };
  },
};

function selectRows(
  result: QueryResult,
  mapping: readonly (readonly [string, string])[],
  grid: Pick<Grid, 'columns'> & { name: string },
): GridRows {
  const sources = new Map(
    mapping.map(([column, into]) => [findGridColumn(grid, into), findResultColumn(result, column)]),
  );
  return result.rows.map((row) =>
    grid.columns.map((_, index) => {
      const source = sources.get(index);
      return source === undefined ? null : toScalar(row[source]);
    }),
  );
}

/** The position of a grid's column, in any case. @throws VariableError if there is none */
export function findGridColumn(
  { name, columns }: Pick<Grid, 'columns'> & { name: string },
  expected: string,
): number {
  if (columns.length === 0)
    throw new ParameterError(`the grid variable "${name}" declares no columns: add the column "${expected}"`);
  const exact = columns.findIndex((column) => column.name === expected);
  if (exact >= 0) return exact;
  // A warehouse may return its columns in upper case.
  const found = columns.findIndex((column) => column.name.toLowerCase() === expected.toLowerCase());
  if (found >= 0) return found;
  const names = columns.map((column) => column.name).join(', ');
  throw new VariableError(`the grid variable "${name}" has no column "${expected}": use one of ${names}`);
}
