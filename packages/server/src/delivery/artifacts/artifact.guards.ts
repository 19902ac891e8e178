/** What this slice tells the tests over all operations. */

import { smallPipeline, upload } from '../../testing/project.ts';
import type { SliceGuards } from '../../testing/slice-guards.ts';
import { artifactExamples } from './artifact.examples.ts';

export const artifactGuards: SliceGuards = {
  examples: artifactExamples,
  permissions: {
    'read a project and what is in it': [
      'listArtifacts',
      'getArtifact',
      'listPublishedPipelines',
      'compareArtifacts',
      'getAsset',
    ],
    'write and delete overrides in an environment; upload, promote, enable artifacts there': [
      'createArtifact',
      'promoteArtifact',
      'enableArtifact',
    ],
  },
  uniqueNames: {
    createArtifact: ({ account, project }, versionName) =>
      upload(account.admin, project, parts, { versionName }),
    async promoteArtifact({ account, project }, versionName) {
      // Of those at once one makes it, and the others know by their 409 that it is there.
      await upload(account.admin, project, parts, { versionName, environmentName: 'prod' });
      const environments = { sourceEnvironmentName: 'prod', targetEnvironmentName: 'dev' };
      return account.admin.post(`${project.path}/artifacts/promotions`, { versionName, ...environments });
    },
  },
  // Of a version only a yes or no can change.
  countedElsewhere: { enableArtifact: 'delivery/artifacts/version-state.test.ts' },
};

const parts = [{ name: 'main.orch.yaml', content: smallPipeline }];
