/** Runs its iteration target once for each row of a grid, with columns of the row in variables. */
import { iterationLimit } from '../bounds.ts';
import { cellText, ParameterError, type Parameters } from '../parameters.ts';
import { gridColumns } from '../variables.ts';
import type { OrchestrationDefinition } from './component.ts';

export const gridIterator: OrchestrationDefinition = {
  kind: 'orchestration',
  iterates: true,
  required: ['gridVariable', 'gridIteratorVariableMapping'],
  optional: ['concurrency', 'breakOnFailure'],
  plan({ parameters, component, scope }) {
    if (component.iterationTarget === undefined) {
      throw new ParameterError(
        'the iterator has no "iterationTarget": connect the component that it shall run',
      );
    }
    const mapping = parameters.rows('gridIteratorVariableMapping', 2);
    const variables = mapping.map((row) => cellText(row, 1));
    const grid = parameters.text('gridVariable');
    const rows = gridColumns(
      scope,
      grid,
      mapping.map((row) => cellText(row, 0)),
    );
    if (rows.length > iterationLimit) {
      throw new ParameterError(
        `"${grid}" has ${rows.length} rows; an iterator takes at most ${iterationLimit}: filter them`,
      );
    }
    return {
      action: 'iterate',
      target: component.iterationTarget,
      iterations: rows.map((row) =>
        variables.map((variable, index) => [variable, row[index] ?? null] as const),
      ),
      ...manner(parameters),
    };
  },
  check({ parameters }) {
    parameters.rows('gridIteratorVariableMapping', 2);
    manner(parameters);
  },
};

function manner(parameters: Parameters): { concurrent: boolean; breakOnFailure: boolean } {
  return {
    concurrent: parameters.choice('concurrency', { Sequential: false, Concurrent: true }, false),
    breakOnFailure: parameters.yes('breakOnFailure', false),
  };
}
