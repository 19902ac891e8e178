/** A request that succeeds for each operation on shared pipelines. */
import type { Examples, Place } from '../../../testing/place.ts';
import { buildMultipart, multipartBoundary, sharedPipeline } from '../../../testing/project.ts';

const checks = { name: 'Table is filled.orch.yaml', content: sharedPipeline };

async function publishChecks({ account, named }: Place) {
  const headers = {
    'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
    sharedPipelineIdPrefix: named('Checks'),
    versionName: '1.0.0',
  };
  await account.admin.post('/shared-pipelines/artifacts', buildMultipart([checks]), { headers });
  return headers;
}

export const sharedPipelineExamples: Examples = {
  async listSharedPipelines(place) {
    await publishChecks(place);
    return { path: '/shared-pipelines' };
  },
  createSharedPipelines: ({ named }) => ({
    path: '/shared-pipelines/artifacts',
    body: buildMultipart([checks]),
    parts: [checks],
    headers: {
      'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
      sharedPipelineIdPrefix: 'Checks',
      versionName: named('1.1.0'),
      branch: 'main',
    },
  }),
  async listSharedArtifacts(place) {
    const { sharedPipelineIdPrefix } = await publishChecks(place);
    return { path: `/shared-pipelines/artifacts?sharedPipelineIdPrefix=${sharedPipelineIdPrefix}` };
  },
  async getSharedArtifact(place) {
    const { sharedPipelineIdPrefix } = await publishChecks(place);
    return { path: `/shared-pipelines/artifacts/details?sharedPipelineIdPrefix=${sharedPipelineIdPrefix}` };
  },
  async updateSharedArtifact(place) {
    const { sharedPipelineIdPrefix, versionName } = await publishChecks(place);
    return {
      path: '/shared-pipelines/artifacts',
      body: { enabled: false, sharedPipelineIdPrefix, versionName },
    };
  },
};
