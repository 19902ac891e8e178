/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { sessionExamples } from './session.examples.ts';

export const sessionGuards: SliceGuards = {
  examples: sessionExamples,
};
