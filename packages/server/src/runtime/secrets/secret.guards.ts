/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { secretExamples, secretMessageExamples } from './secret.examples.ts';

export const secretGuards: SliceGuards = {
  examples: secretExamples,
  protocolExamples: secretMessageExamples,
};
