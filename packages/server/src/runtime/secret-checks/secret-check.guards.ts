/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { secretCheckExamples } from './secret-check.examples.ts';

export const secretCheckGuards: SliceGuards = {
  examples: secretCheckExamples,
};
