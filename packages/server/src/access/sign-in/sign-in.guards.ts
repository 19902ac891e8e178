/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { signInExamples } from './sign-in.examples.ts';

export const signInGuards: SliceGuards = {
  examples: signInExamples,
};
