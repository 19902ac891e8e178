/** Runs its iterationTarget once for each row of a grid, with cells of the row in variables. */
import { iterationLimit } from '../bounds.ts';
import { ParameterError, type Parameters, readCellText } from '../parameters.ts';
import { readGridColumns } from '../variables.ts';
import type { OrchestrationDefinition } from './component.ts';
import { iterationParameters, rowsParameter, textParameter } from './declared-parameters.ts';

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
  example: `type: grid-iterator
iterationTarget: Load one
parameters:
  gridVariable: tables
  gridIteratorVariableMapping:
    - [name, tableName]`,
  plan({ parameters, component, scope }) {
    if (component.iterationTarget === undefined) {
      throw new ParameterError(
        'the iterator has no iterationTarget: name the component to run in it, beside type and parameters',
      );
    }
    const mapping = parameters.rows('gridIteratorVariableMapping', 2);
    const variables = mapping.map((row) => readCellText(row, 1));
    const grid = parameters.text('gridVariable');
    const rows = readGridColumns(
      scope,
      grid,
      mapping.map((row) => readCellText(row, 0)),
    );
    if (rows.length > iterationLimit) {
      throw new ParameterError(
        `the grid variable "${grid}" has ${rows.length} rows; the limit of an iterator is ${iterationLimit}: filter them`,
      );
    }
    return {
      action: 'iterate',
      target: component.iterationTarget,
      iterations: rows.map((row) =>
        variables.map((variable, index) => [variable, row[index] ?? null] as const),
      ),
      ...readMode(parameters),
    };
  },
  check({ parameters }) {
    parameters.rows('gridIteratorVariableMapping', 2);
    readMode(parameters);
  },
};

function readMode(parameters: Parameters): { concurrent: boolean; breakOnFailure: boolean } {
  return {
    concurrent: parameters.choice('concurrency', { Sequential: false, Concurrent: true }, false),
    breakOnFailure: parameters.yes('breakOnFailure', false),
  };
}
