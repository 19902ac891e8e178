/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { consumptionExamples } from './consumption.examples.ts';

export const consumptionGuards: SliceGuards = {
  examples: consumptionExamples,
};
