/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { connectorTestExamples } from './connector-test.examples.ts';

export const connectorTestGuards: SliceGuards = {
  examples: connectorTestExamples,
};
