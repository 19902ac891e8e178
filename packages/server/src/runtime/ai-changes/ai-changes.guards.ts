/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../testing/slice-guards.ts';
import { aiChangesExamples, createEdited } from './ai-changes.examples.ts';

export const aiChangesGuards: SliceGuards = {
  examples: aiChangesExamples,
  permissions: {
    'read a project and what is in it': ['getAiTaskChanges'],
    'create and change variables, connections, secret references': ['mergeAiTask', 'discardAiTask'],
  },
  uniqueNames: {
    mergeAiTask: async (place, versionName) =>
      place.account.admin.post(`${await createEdited(place)}/merge`, { versionName }),
  },
};
