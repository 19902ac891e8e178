/** What this slice contributes to the tests over all operations. */

import { smallPipeline, upload } from '../../../testing/project.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { artifactExamples } from './artifact.examples.ts';

export const artifactGuards: SliceGuards = {
  examples: artifactExamples,
  uniqueNames: {
    createArtifact: ({ account, project }, versionName) =>
      upload(account.admin, project, parts, { versionName }),
    async promoteArtifact({ account, project }, versionName) {
      // Of concurrent promotions one succeeds; the others get 409.
      await upload(account.admin, project, parts, { versionName, environmentName: 'prod' });
      const environments = { sourceEnvironmentName: 'prod', targetEnvironmentName: 'dev' };
      return account.admin.post(`${project.path}/artifacts/promotions`, { versionName, ...environments });
    },
  },
  // The only member of a version that can change is a boolean.
  countedElsewhere: { enableArtifact: 'delivery/artifacts/version-state.test.ts' },
};

const parts = [{ name: 'main.orch.yaml', content: smallPipeline }];
