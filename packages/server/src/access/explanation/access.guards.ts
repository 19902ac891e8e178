/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { accessExamples } from './access.examples.ts';

export const accessGuards: SliceGuards = {
  examples: accessExamples,
  permissions: {
    'lists of what the caller may read': ['getMe'],
    'read who may do what in a project': ['getProjectAccess', 'explainAccess'],
  },
};
