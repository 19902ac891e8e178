/** Runs its iterationTarget once for each row of a grid, with cells of the row in variables. */
import { readCellText } from '../expressions/parameters.ts';
import { readGridColumns } from '../expressions/variables.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { rowsParameter, textParameter } from './definition/declared-parameters.ts';
import {
  checkIterationCount,
  checkIterationMode,
  iterationNoEffect,
  iterationParameters,
  readIterationMode,
} from './iteration-mode.ts';

export const gridIterator: OrchestrationDefinition = {
  kind: 'orchestration',
  iterates: true,
  about: 'Runs its `iterationTarget` once for each row of a grid, with cells of the row in variables.',
  group: 'iterators',
  parameters: {
    gridVariable: textParameter('The grid variable.', { required: true, variable: { as: 'grid' } }),
    gridIteratorVariableMapping: rowsParameter(
      'Which column goes to which variable.',
      ['column', 'variable'],
      { required: true, variable: { as: 'scalar', cell: 1 } },
    ),
    ...iterationParameters,
  },
  noEffect: iterationNoEffect,
  example: `type: grid-iterator
iterationTarget: Load one
parameters:
  gridVariable: tables
  gridIteratorVariableMapping:
    - [name, tableName]`,
  plan({ parameters, component, scope }) {
    const mode = readIterationMode(parameters, component);
    const mapping = parameters.rows('gridIteratorVariableMapping', 2);
    const variables = mapping.map((row) => readCellText(row, 1));
    const grid = parameters.text('gridVariable');
    const rows = readGridColumns(
      scope,
      grid,
      mapping.map((row) => readCellText(row, 0)),
    );
    checkIterationCount(rows.length, `the grid variable "${grid}"`);
    return {
      action: 'iterate',
      iterations: rows.map((row) =>
        variables.map((variable, index) => [variable, row[index] ?? null] as const),
      ),
      ...mode,
    };
  },
  check({ parameters }) {
    parameters.rows('gridIteratorVariableMapping', 2);
    checkIterationMode(parameters);
  },
};
