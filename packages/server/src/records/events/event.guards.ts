/** What the tests that walk all operations know of this slice. */
import type { SliceGuards } from '../../testing/slice-guards.ts';
import { eventExamples } from './event.examples.ts';

export const eventGuards: SliceGuards = {
  examples: eventExamples,
  permissions: {
    'credentials, events of the account': ['listEvents'],
  },
};
