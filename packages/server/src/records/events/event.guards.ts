/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { eventExamples } from './event.examples.ts';

export const eventGuards: SliceGuards = {
  examples: eventExamples,
};
