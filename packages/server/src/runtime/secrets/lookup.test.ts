/** What an instance can read of the secret references of its runs. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { SecretCoordinates } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { createExecution } from '../../../testing/executions.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const password = { type: 'PASSWORD', secretName: 'prod/reader' };

async function running() {
  const place = await createPlace(await server.account());
  const { account, agent, project } = place;
  const instance = createInstance(agent);
  await instance.hello();
  await createExecution(place);
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  const { workId, epoch } = work;
  const lookUp = (name: string, input: object = {}, by = agent) =>
    by.client.post<SecretCoordinates>('/secret-references', {
      ...{ instanceId: instance.instanceId, workId, epoch, name },
      ...input,
    });
  const create = async (name: string, more: object = {}) => {
    const path = `${project.path}/secret-references/${name}`;
    const answer = await account.admin.post(path, { ...password, ...more });
    assert.equal(answer.status, 201, answer.text);
  };
  return { ...place, instance, work, lookUp, create };
}

test('it gets the place of the secret: the vault of the reference, or else the agent’s default', async () => {
  const { lookUp, create } = await running();
  const cases: [object, object][] = [
    [{}, {}],
    [
      { secretKey: 'user', vaultName: 'main' },
      { secretKey: 'user', vaultName: 'main' },
    ],
    [{ secretKey: '' }, {}],
    [{ vaultType: 'GCP_SECRET_MANAGER' }, { provider: 'GCP' }],
    [{ vaultType: 'CLOUD_A_SECRET_MANAGER', provider: 'azure' }, { provider: 'AZURE' }],
    [{ vaultType: 'HEADGATE_CUSTOMER_VAULT' }, { provider: 'HEADGATE' }],
    [{ vaultType: 'MATILLION_CUSTOMER_VAULT' }, { provider: 'HEADGATE' }],
    [{ vaultType: 'DEFAULT_SECRET_VAULT' }, {}],
  ];
  for (const [index, [input, expected]] of cases.entries()) {
    await create(`r${index}`, input);
    const { status, body } = await lookUp(`r${index}`);
    assert.deepEqual([status, body], [200, { secretName: 'prod/reader', ...expected }]);
  }
});

test('only for the project of work that it holds, with the current epoch, until the work ends', async () => {
  const { account, instance, work, lookUp, create } = await running();
  await create('reader');
  requireProblem(await lookUp('other'), 404, 'secret-reference-not-found');
  const elsewhere = await account.project();
  await account.admin.post(`${elsewhere.path}/secret-references/other`, password);
  requireProblem(await lookUp('other'), 404, 'secret-reference-not-found');
  const wrong = [{ epoch: work.epoch + 1 }, { instanceId: randomUUID() }, { workId: randomUUID() }];
  for (const input of wrong) requireProblem(await lookUp('reader', input), 409, 'work-not-held');
  requireProblem(await lookUp('reader', {}, await account.agent()), 409, 'work-not-held');
  requireProblem(await lookUp('reader', {}, (await running()).agent), 409, 'work-not-held');
  requireProblem(await lookUp('no name'), 400, 'invalid-request');
  await instance.report(work, { type: 'started' });
  assert.equal((await lookUp('reader')).status, 200);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  requireProblem(await lookUp('reader'), 409, 'work-not-held');
});

test('only the agent of a reference can read it', async () => {
  const { account, agent, lookUp, create } = await running();
  const other = await account.agent('lisbon');
  await create('mine', { agentId: agent.agentId });
  await create('theirs', { agentId: other.agentId });
  assert.equal((await lookUp('mine')).status, 200);
  const refused = await lookUp('theirs');
  requireProblem(refused, 409, 'secret-reference-of-another-agent');
  assert.match(refused.problem.detail, /"theirs" is for the agent "lisbon" only/);
});

test('a name that was taken from the project, or is granted for another agent only, is not given away', async () => {
  const { account, agent, project, lookUp, create } = await running();
  const { projectId } = project;
  const other = await account.agent('lisbon');
  await create('reader');
  await create('own', { secretName: `${projectId}/own` });
  const setAccess = (agentId: string, names: string[]) =>
    account.admin.patch(`/agents/${agentId}`, { vaultAccess: { projects: { [projectId]: { names } } } });
  await setAccess(agent.agentId, []);
  const refused = await lookUp('reader');
  requireProblem(refused, 409, 'vault-name-not-granted-to-run');
  assert.match(refused.problem.detail, /"reader".*"prod\/reader".*vaultAccess/);
  await setAccess(other.agentId, ['prod/reader']);
  requireProblem(await lookUp('reader'), 409, 'vault-name-not-granted-to-run');
  assert.equal((await lookUp('own')).status, 200);
  await setAccess(agent.agentId, ['prod/reader']);
  assert.equal((await lookUp('reader')).status, 200);
});

test('it gets the secret of the connection to a cloud, if there is one only', async () => {
  const { account, project, agent, work, lookUp } = await running();
  const ask = (cloud: string, input: object = {}) => lookUp(cloud, { cloud, ...input });
  requireProblem(await ask('aws'), 404, 'cloud-connection-not-found');
  const create = async (name: string, authProvider: string, connectionDetails?: object) => {
    const answer = await account.admin.post(`${project.path}/connections`, {
      ...{ name, authProvider, platformConnectionType: 'CLOUD_PLATFORM_CREDENTIALS' },
      ...{ authType: 'CLOUD_PROVIDER_SECRET', connectionDetails },
    });
    assert.equal(answer.status, 201, answer.text);
  };
  await create('lake', 'aws', {
    connectionProperties: { credentialSecretName: 'prod/lake' },
    secretsLocation: { type: 'CLOUD_B_SECRET_MANAGER', vaultName: 'main' },
  });
  const found = await ask('aws');
  assert.deepEqual(
    [found.status, found.body],
    [200, { secretName: 'prod/lake', vaultName: 'main', provider: 'AZURE' }],
  );
  requireProblem(await ask('gcp'), 404, 'cloud-connection-not-found');
  await create('empty', 'gcp');
  requireProblem(await ask('gcp'), 404, 'cloud-connection-not-found');
  requireProblem(await ask('aws', { epoch: work.epoch + 1 }), 409, 'work-not-held');
  await create('other', 'aws', { connectionProperties: { credentialSecretName: 'prod/other' } });
  const several = await ask('aws');
  requireProblem(several, 409, 'several-cloud-connections');
  await account.admin.patch(`/agents/${agent.agentId}`, {
    vaultAccess: { projects: { [project.projectId]: { names: [] } } },
  });
  await account.admin.delete(`${project.path}/connections?connectionName=other`);
  requireProblem(await ask('aws'), 409, 'vault-name-not-granted-to-run');
});
