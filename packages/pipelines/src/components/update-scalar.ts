/** Gives scalar variables new values, one after the other; each expression sees those before it. */
import { cellText } from '../parameters.ts';
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
      .map((row) => [cellText(row, 0), cellText(row, 1)] as const),
  }),
};
