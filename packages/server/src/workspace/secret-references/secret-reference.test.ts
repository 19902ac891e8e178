import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, SecretReference } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const password = { secretReferenceType: 'PASSWORD', secretName: 'prod/reader' };

async function createProject() {
  const account = await server.account();
  const made = await account.project();
  return { account, admin: account.admin, path: `${made.path}/secret-references`, project: made };
}

const listNames = ({ body }: { body: Page<SecretReference> }) => body.results.map(({ name }) => name);

test('a reference is returned as it was created, with the spelling of its vault', async () => {
  const { account, admin, path } = await createProject();
  const { agentId } = await account.agent();
  const request = {
    secretName: 's',
    secretKey: 'k',
    vaultName: 'v',
    vaultType: 'AZURE_SECRET_MANAGER',
    agentId,
  };
  const words = { provider: 'azure', agentType: 'headgate HOSTED', description: 'of the lake' };
  const made = await admin.post<SecretReference>(`${path}/lake(1)-key`, {
    ...{ type: 'PASSWORD', unknown: 1 },
    ...request,
    ...words,
  });
  const expected = { name: 'lake(1)-key', type: 'PASSWORD', ...request, description: 'of the lake' };
  assert.deepEqual(made.body, { ...expected, provider: 'AZURE', agentType: 'Headgate hosted' });
  assert.equal(made.status, 201);
  const vaults = [
    'CLOUD_A_SECRET_MANAGER',
    'AWS_SECRET_MANAGER',
    'GCP_SECRET_MANAGER',
    'HEADGATE_CUSTOMER_VAULT',
    'MATILLION_CUSTOMER_VAULT',
  ];
  for (const vaultType of vaults) await admin.post(`${path}/${vaultType}`, { ...password, vaultType });
  const { results } = (await admin.get<Page<SecretReference>>(path)).body;
  assert.deepEqual(
    results.map((each) => each.vaultType),
    [...vaults.toSorted(), 'AZURE_SECRET_MANAGER'],
  );
  assert.deepEqual(results.at(-1), made.body);
  assert.deepEqual(results[0], {
    name: 'AWS_SECRET_MANAGER',
    type: 'PASSWORD',
    secretName: 'prod/reader',
    vaultType: 'AWS_SECRET_MANAGER',
  });
});

test('names are unique in a project; invalid names and a body without a type are refused', async () => {
  const { admin, path } = await createProject();
  assert.equal((await admin.post(`${path}/reader`, password)).status, 201);
  requireProblem(await admin.post(`${path}/reader`, password), 409, 'secret-reference-taken');
  const other = await createProject();
  assert.equal((await other.admin.post(`${other.path}/reader`, password)).status, 201);
  for (const name of ['a%20b', 'a.b', 'x'.repeat(129), '%C3%A9'])
    requireProblem(await admin.post(`${path}/${name}`, password), 400, 'invalid-request');
  requireProblem(await admin.post(`${path}/none`, { secretName: 's' }), 400, 'invalid-request');
  const wrong = { secretReferenceType: 'KEY', type: 'PASSWORD', secretName: 's' };
  requireProblem(await admin.post(`${path}/none`, wrong), 400, 'invalid-request');
  requireProblem(await admin.post(`${path}/none`, { ...password, provider: 'ORACLE' }), 422, 'unknown-word');
});

test('agent types are case-insensitive, and each name of the hosted type is returned as it was written', async () => {
  const { admin, path } = await createProject();
  for (const [written, shown] of [
    ['aws', 'AWS'],
    ['Azure', 'Azure'],
    ['GCP', 'GCP'],
    ['Headgate hosted', 'Headgate hosted'],
    ['Matillion hosted', 'Matillion hosted'],
    ['matillion hosted', 'Matillion hosted'],
  ]) {
    const name = written?.replace(' ', '_');
    const made = await admin.post<SecretReference>(`${path}/${name}`, { ...password, agentType: written });
    assert.equal(made.body.agentType, shown);
    const { results } = (await admin.get<Page<SecretReference>>(path)).body;
    assert.equal(results.find((each) => each.name === name)?.agentType, shown);
  }
});

test('the agent of a reference must exist in the account', async () => {
  const { admin, path } = await createProject();
  const { agentId } = await (await server.account()).agent();
  for (const id of [agentId, 'nobody'])
    requireProblem(await admin.post(`${path}/r`, { ...password, agentId: id }), 422, 'unknown-agent');
});

test('the list has one type, PASSWORD by default; the provider filter applies to the others only', async () => {
  const { admin, path } = await createProject();
  const make = (name: string, type: string, more = {}) =>
    admin.post(`${path}/${name}`, { type, secretName: 's', ...more });
  await make('b', 'PASSWORD', { provider: 'AWS' });
  await make('a', 'PASSWORD');
  await make('aws', 'COMPOSITE_TOKEN', { provider: 'AWS' });
  await make('gcp', 'COMPOSITE_TOKEN', { vaultType: 'CLOUD_C_SECRET_MANAGER' });
  const list = async (query: string) => listNames(await admin.get<Page<SecretReference>>(`${path}?${query}`));
  assert.deepEqual(await list(''), ['a', 'b']);
  assert.deepEqual(await list('provider=GCP'), ['a', 'b'], 'the provider filter does not apply to passwords');
  assert.deepEqual(await list('secretReferenceType=COMPOSITE_TOKEN'), ['aws', 'gcp']);
  assert.deepEqual(await list('type=COMPOSITE_TOKEN&provider=AWS'), ['aws']);
  assert.deepEqual(await list('type=COMPOSITE_TOKEN&provider=GCP'), ['gcp'], 'the provider of its vault');
  assert.deepEqual(await list('page=1&size=1'), ['b']);
  const { total, size } = (await admin.get<Page<SecretReference>>(`${path}?size=1`)).body;
  assert.deepEqual({ total, size }, { total: 2, size: 1 });
  requireProblem(await admin.get(`${path}?provider=ORACLE`), 400, 'invalid-request');
});

const basic = { platformConnectionType: 'COMPONENT_BASIC', authProvider: 'NONE', authType: 'GENERIC_SECRET' };
const createConnectionNaming = (secretName: string, secretKey?: string) => ({
  connectionDetails: {
    connectionProperties: { secretName, ...(secretKey === undefined ? {} : { secretKey }) },
  },
});

test('a reference that a connection uses can only be deleted with force', async () => {
  const { admin, path, project: made } = await createProject();
  const connections = `${made.path}/connections`;
  for (const [name, secretName, secretKey] of [
    ['by reference', 'reader'],
    ['by vault', 'prod/reader'],
    ['other key', 'prod/reader', 'user'],
  ] as const) {
    await admin.post(connections, { name, ...basic, ...createConnectionNaming(secretName, secretKey) });
    await admin.post(`${path}/reader`, { ...password, secretKey: 'password' });
    const answer = await admin.delete(`${path}/reader`);
    if (name === 'other key') assert.equal(answer.status, 204);
    else {
      requireProblem(answer, 409, 'secret-reference-in-use');
      assert.match(answer.problem.detail, new RegExp(`the connection "${name}"`));
      assert.equal((await admin.delete(`${path}/reader?force=true`)).status, 204);
    }
    await admin.delete(`${connections}?connectionName=${name}`);
  }
  requireProblem(await admin.delete(`${path}/reader`), 404, 'secret-reference-not-found');
});

test('a reference that an override or an environment uses can only be deleted with force', async () => {
  const { admin, path, project: made } = await createProject();
  await admin.post(`${made.path}/connections`, { name: 'lake', ...basic });
  const secret = { secretName: 'reader' };
  await admin.post(`${made.path}/connections/environment-overrides`, {
    environmentName: 'dev',
    connectionName: 'lake',
    authType: basic.authType,
    connectionOverrides: { connectionProperties: secret },
  });
  const connectionOverrides = [{ connectionName: 'lake', connectionProperties: { password: secret } }];
  await admin.post(`${made.path}/environments`, { name: 'uat', connectionOverrides });
  await admin.post(`${path}/reader`, password);
  const { detail } = (await admin.delete(`${path}/reader`)).problem;
  assert.match(
    detail,
    /the connection "lake" in the environment "uat", the override of the connection "lake" in the environment "dev"/,
  );
  await admin.delete(`${made.path}/environments/uat?confirm=true`);
  await admin.delete(
    `${made.path}/connections/environment-overrides?environmentName=dev&connectionNames=lake`,
  );
  assert.equal((await admin.delete(`${path}/reader`)).status, 204);
});
