/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { backfillExamples } from './backfill.examples.ts';

export const backfillGuards: SliceGuards = {
  examples: backfillExamples,
  permissions: {
    'read a project and what is in it': ['listBackfills', 'getBackfill'],
    'start and stop executions in an environment': ['createBackfill', 'cancelBackfill'],
  },
};
