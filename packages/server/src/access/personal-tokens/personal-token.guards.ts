/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { personalTokenExamples } from './personal-token.examples.ts';

export const personalTokenGuards: SliceGuards = {
  examples: personalTokenExamples,
};
