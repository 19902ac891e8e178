/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { aiTaskExamples } from './ai-task.examples.ts';

export const aiTaskGuards: SliceGuards = {
  examples: aiTaskExamples,
};
