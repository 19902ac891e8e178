/** Sets scalar variables in order. Each expression sees the values set before it. */
import { readCellText } from '../expressions/parameters.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { rowsParameter } from './definition/declared-parameters.ts';

export const updateScalar: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Sets scalar variables in order. Each value sees the values set before it.',
  group: 'variables',
  parameters: {
    scalarsToUpdate: rowsParameter('The variables and their values.', ['variable', 'value'], {
      required: true,
      raw: true,
      variable: { as: 'scalar', cell: 0 },
    }),
  },
  example: `type: update-scalar
parameters:
  scalarsToUpdate:
    - [total, "\${first + second}"]`,
  plan: ({ parameters }) => ({
    action: 'update-scalars',
    updates: parameters
      .rows('scalarsToUpdate', 2)
      .map((row) => [readCellText(row, 0), readCellText(row, 1)] as const),
  }),
};
