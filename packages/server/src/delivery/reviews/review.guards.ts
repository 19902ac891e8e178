/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { reviewExamples } from './review.examples.ts';

export const reviewGuards: SliceGuards = {
  examples: reviewExamples,
};
