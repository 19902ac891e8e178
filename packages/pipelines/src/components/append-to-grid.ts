/** Adds rows to a grid variable, or replaces its rows. */
import type { OrchestrationDefinition } from './definition/component.ts';
import { choiceParameter, rowsParameter, textParameter } from './definition/declared-parameters.ts';

const operations = { Append: 'append', Prepend: 'prepend', Overwrite: 'overwrite' } as const;

export const appendToGrid: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Adds rows to a grid variable, or replaces its rows.',
  group: 'variables',
  parameters: {
    targetGridVariable: textParameter('The grid variable.', { required: true, variable: { as: 'grid' } }),
    operation: choiceParameter(
      'Append: after its rows. Prepend: before its rows. Overwrite: instead of its rows.',
      Object.keys(operations),
      { standard: 'Append' },
    ),
    valuesGrid: rowsParameter('The rows, in the order of the grid’s columns.', ['value', '…?'], {
      required: true,
    }),
  },
  example: `type: append-to-grid
parameters:
  targetGridVariable: tables
  operation: Append
  valuesGrid:
    - [orders, "\${String(new Date().getFullYear())}"]`,
  plan({ parameters }) {
    const operation = parameters.choice('operation', operations, operations.Append);
    const rows = parameters.rows('valuesGrid', 1);
    return {
      action: 'change-grid',
      grid: parameters.text('targetGridVariable'),
      change({ rows: before }) {
        if (operation === 'overwrite') return rows;
        return operation === 'append' ? [...before, ...rows] : [...rows, ...before];
      },
    };
  },
};
