/** Sets scalar variables in order. Each expression sees the values set before it. */
import { readCellText } from '../parameters.ts';
import type { OrchestrationDefinition } from './component.ts';

export const updateScalar: OrchestrationDefinition = {
  kind: 'orchestration',
  required: ['scalarsToUpdate'],
  optional: [],
  raw: ['scalarsToUpdate'],
  plan: ({ parameters }) => ({
    action: 'update-scalars',
    updates: parameters
      .rows('scalarsToUpdate', 2)
      .map((row) => [readCellText(row, 0), readCellText(row, 1)] as const),
  }),
};
