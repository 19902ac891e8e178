/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { aiChangesExamples, createEdited, readDigest } from './ai-changes.examples.ts';

export const aiChangesGuards: SliceGuards = {
  examples: aiChangesExamples,
  uniqueNames: {
    async mergeAiTask(place, versionName) {
      const path = await createEdited(place);
      return place.account.admin.post(`${path}/merge`, {
        digest: await readDigest(place, path),
        versionName,
      });
    },
  },
};
