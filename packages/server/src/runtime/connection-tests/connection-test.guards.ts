/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { connectionTestExamples } from './connection-test.examples.ts';

export const connectionTestGuards: SliceGuards = {
  examples: connectionTestExamples,
};
