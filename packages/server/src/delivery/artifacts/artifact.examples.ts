/** A request that succeeds for each operation on artifacts. */
import { type Examples, mainPipeline } from '../../../testing/place.ts';
import { buildMultipart, multipartBoundary, upload } from '../../../testing/project.ts';

export const artifactExamples: Examples = {
  createArtifact: ({ project, named }) => ({
    path: `${project.path}/artifacts`,
    body: buildMultipart([mainPipeline]),
    parts: [mainPipeline],
    headers: {
      'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
      environmentName: 'dev',
      versionName: named('1.1.0'),
    },
  }),
  listArtifacts: ({ project }) => ({ path: `${project.path}/artifacts?environmentName=dev` }),
  getArtifact: ({ project }) => ({ path: `${project.path}/artifacts/details?environmentName=dev` }),
  listPublishedPipelines: ({ project }) => ({
    path: `${project.path}/published-pipelines?environmentName=dev`,
  }),
  enableArtifact: ({ project }) => ({
    path: `${project.path}/artifacts`,
    body: { environmentName: 'dev', versionName: 'v1', enabled: true },
  }),
  async promoteArtifact({ account, project, named }) {
    const versionName = named('1.2.0');
    await upload(account.admin, project, [mainPipeline], { environmentName: 'prod', versionName });
    return {
      path: `${project.path}/artifacts/promotions`,
      body: { versionName, sourceEnvironmentName: 'prod', targetEnvironmentName: 'dev' },
    };
  },
  async compareArtifacts({ account, project, named }) {
    const versionName = named('1.3.0');
    const parts = [mainPipeline, { name: 'README.md', content: '# Weather' }];
    await upload(account.admin, project, parts, { versionName });
    const against = 'againstEnvironmentName=dev&againstVersionName=v1';
    return {
      path: `${project.path}/artifacts/compare?environmentName=dev&versionName=${versionName}&${against}`,
    };
  },
  getAsset: ({ project }) => ({
    path: `${project.path}/artifacts/assets?environmentName=dev&versionName=v1&path=main.orch.yaml`,
  }),
};
