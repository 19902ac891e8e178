/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { budgetExamples } from './budget.examples.ts';

export const budgetGuards: SliceGuards = {
  examples: budgetExamples,
};
