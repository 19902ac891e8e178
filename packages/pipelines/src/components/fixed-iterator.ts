/** Runs its iterationTarget once for each given row of values. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { Scalar } from '../expressions/variables.ts';
import type { Iteration, OrchestrationDefinition } from './definition/component.ts';
import { namesParameter, rowsParameter } from './definition/declared-parameters.ts';
import {
  checkIterationCount,
  checkIterationMode,
  iterationNoEffect,
  iterationParameters,
  readIterationMode,
} from './iteration-mode.ts';

export const fixedIterator: OrchestrationDefinition = {
  kind: 'orchestration',
  iterates: true,
  about: 'Runs its `iterationTarget` once for each row of values that you write here.',
  group: 'iterators',
  parameters: {
    variablesToIterate: namesParameter('The variables that each row sets.', {
      required: true,
      variable: { as: 'scalar' },
    }),
    iterationValues: rowsParameter('The rows: one value for each variable.', ['value', '…?'], {
      required: true,
    }),
    ...iterationParameters,
  },
  noEffect: iterationNoEffect,
  example: `type: fixed-iterator
iterationTarget: Load one
parameters:
  variablesToIterate: [fileName, tableName]
  iterationValues:
    - [orders.csv, orders]
    - [customers.csv, customers]`,
  plan({ parameters, component }) {
    const mode = readIterationMode(parameters, component);
    const iterations = readIterations(parameters);
    checkIterationCount(iterations.length, '"iterationValues"');
    return { action: 'iterate', iterations, ...mode };
  },
  check({ parameters }) {
    readIterations(parameters);
    checkIterationMode(parameters);
  },
};

function readIterations(parameters: Parameters): Iteration[] {
  const variables = parameters.names('variablesToIterate');
  if (variables.length === 0) throw new ParameterError('"variablesToIterate" is empty: name a variable');
  return parameters.rows('iterationValues', 1).map((row, index) => {
    if (row.length !== variables.length) {
      throw new ParameterError(
        `row ${index + 1} of "iterationValues" has ${row.length} values, but "variablesToIterate" names ${variables.length} variables: give each row one value for each variable`,
      );
    }
    return variables.map((variable, cell) => [variable, readValue(row[cell], index + 1)] as const);
  });
}

function readValue(cell: Resolved | undefined, row: number): Scalar {
  if (typeof cell === 'object' && cell !== null)
    throw new ParameterError(
      `row ${row} of "iterationValues" has a list or a map as a value: use a single value`,
    );
  return typeof cell === 'boolean' ? String(cell) : (cell ?? null);
}
