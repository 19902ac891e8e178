/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { credentialExamples } from './credential.examples.ts';

export const credentialGuards: SliceGuards = {
  examples: credentialExamples,
};
