/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../testing/slice-guards.ts';
import { directoryExamples } from './directory.examples.ts';

const own = ['getDirectorySettings', 'updateDirectorySettings'];

export const directoryGuards: SliceGuards = {
  examples: directoryExamples,
  permissions: {
    SCIM: Object.keys(directoryExamples).filter((id) => !own.includes(id)),
    'settings of the directory': own,
  },
};
