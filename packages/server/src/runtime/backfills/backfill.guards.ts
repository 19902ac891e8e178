/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { backfillExamples } from './backfill.examples.ts';

export const backfillGuards: SliceGuards = {
  examples: backfillExamples,
};
