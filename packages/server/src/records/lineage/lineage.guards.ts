/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { lineageExamples } from './lineage.examples.ts';

export const lineageGuards: SliceGuards = {
  examples: lineageExamples,
};
