/** Of several requests for one name at once one succeeds and the others are told; whatever has a unique name is here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Operation, operations } from '@headgate/contract';
import type { Answer } from '../../testing/client.ts';
import { createPlace, type Place } from '../../testing/examples.ts';
import { smallPipeline, upload } from '../../testing/project.ts';
import { startTestServer } from '../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_DATABASE_CONNECTIONS: '16' } });
const rounds = 12;
const atOnce = 6;

/** By the operation's id: a request for a name; `turn` tells apart those that are sent at once. */
const claims: Record<string, (place: Place, name: string, turn: number) => Promise<Answer>> = {
  createProject: ({ account }, name) =>
    account.admin.post('/projects', { name, warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' }),
  async updateProject({ account }, name) {
    const { path } = await account.project();
    return account.admin.patch(path, { name });
  },
  createAgent: ({ account }, name) => account.admin.post('/agents', agentNamed(name)),
  async updateAgent({ account }, name) {
    const { agentId } = await account.agent();
    return account.admin.patch(`/agents/${agentId}`, { name });
  },
  createEnvironment: ({ account, project }, name) =>
    account.admin.post(`${project.path}/environments`, { name }),
  createVariable: ({ account, project }, name) =>
    account.admin.post(`${project.path}/variables`, { name, type: 'TEXT', behaviour: 'SHARED' }),
  createConnection: (place, name) =>
    place.account.admin.post(`${place.project.path}/connections`, basic(name)),
  // The two kinds of connections share their names.
  createDataPlatformConnection: ({ account, project }, name, turn) =>
    turn % 2 === 0
      ? account.admin.post(`${project.path}/connections`, basic(name))
      : account.admin.post(`${project.path}/data-platform-connections`, warehouse(name)),
  createSecretReference: ({ account, project }, name) =>
    account.admin.post(`${project.path}/secret-references/${name}`, { type: 'PASSWORD', secretName: 'key' }),
  createArtifact: ({ account, project }, versionName) =>
    upload(account.admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }], { versionName }),
  async promoteArtifact({ account, project }, versionName) {
    // Of those at once one makes it, and the others know by their 409 that it is there.
    const parts = [{ name: 'main.orch.yaml', content: smallPipeline }];
    await upload(account.admin, project, parts, { versionName, environmentName: 'prod' });
    const environments = { sourceEnvironmentName: 'prod', targetEnvironmentName: 'dev' };
    return account.admin.post(`${project.path}/artifacts/promotions`, { versionName, ...environments });
  },
  startPipelineExecution: ({ account, project, agent }, executionTag) =>
    account.admin.post(`${project.path}/pipeline-executions`, {
      pipelineName: 'main',
      environmentName: 'dev',
      agentId: agent.agentId,
      executionTag,
    }),
};

const agentNamed = (name: string) => ({
  name,
  agentType: 'streaming',
  cloudProvider: 'gcp',
  deployment: 'gke',
});
const basic = (name: string) => ({
  name,
  platformConnectionType: 'COMPONENT_BASIC',
  authProvider: 'NONE',
  authType: 'GENERIC_SECRET',
});
const warehouse = (name: string) => ({
  name,
  platformConnectionType: 'DWH',
  authProvider: 'DUCKDB',
  authType: 'NONE',
});

const takesName = ({ problems }: Operation) =>
  problems.some((code) => /-taken$|^version-exists$|^execution-tag-running$/.test(code));

test('every operation that documents a taken name is tried here', () => {
  assert.deepEqual(new Set(Object.keys(claims)), new Set(operations.filter(takesName).map(({ id }) => id)));
});

for (const [id, claim] of Object.entries(claims)) {
  test(`${id}: of ${atOnce} requests for one name one succeeds, and the others are 409`, async () => {
    const place = await createPlace(await server.account());
    for (let round = 0; round < rounds; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: atOnce }, (_, turn) => claim(place, `name_${round}`, turn)),
      );
      const statuses = answers.map((answer) => answer.status).sort();
      const winner = { updateProject: 200, updateAgent: 202 }[id] ?? 201;
      assert.deepEqual(
        statuses,
        [winner, ...Array(atOnce - 1).fill(409)],
        answers.map((answer) => answer.text).join('\n'),
      );
    }
  });
}
