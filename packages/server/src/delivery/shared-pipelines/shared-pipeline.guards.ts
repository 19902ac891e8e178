/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { sharedPipelineExamples } from './shared-pipeline.examples.ts';

export const sharedPipelineGuards: SliceGuards = {
  examples: sharedPipelineExamples,
};
