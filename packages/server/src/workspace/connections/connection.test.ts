import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectionOverride, IdentifiedConnection, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const basic = {
  name: 'Warehouse reader',
  platformConnectionType: 'COMPONENT_BASIC',
  authProvider: 'NONE',
  authType: 'GENERIC_SECRET',
  connectionDetails: {
    connectionProperties: { secretName: 'reader', secretKey: 'password' },
    secretsLocation: { type: 'AWS_SECRET_MANAGER', region: 'eu-west-1' },
  },
};

async function createProject() {
  const account = await server.account();
  const made = await account.project();
  return { admin: account.admin, path: `${made.path}/connections` };
}

test('a connection is created, listed and found by name; the vault is returned as it was written', async () => {
  const { admin, path } = await createProject();
  const created = await admin.post<IdentifiedConnection>(path, basic);
  assert.equal(created.status, 201);
  assert.deepEqual(created.body.connectionDetails, basic.connectionDetails);
  const listed = await admin.get<Page<IdentifiedConnection>>(
    `${path}?connectionNames=Warehouse reader,other`,
  );
  assert.deepEqual(listed.body.results, [created.body]);
  requireProblem(await admin.post(path, basic), 409, 'connection-name-taken');
});

const vaults = [
  { type: 'CLOUD_A_SECRET_MANAGER', region: 'eu-west-1' },
  { type: 'AWS_SECRET_MANAGER', region: 'eu-west-1' },
  { type: 'CLOUD_B_SECRET_MANAGER', vaultName: 'keys' },
  { type: 'AZURE_SECRET_MANAGER', vaultName: 'keys' },
  { type: 'CLOUD_C_SECRET_MANAGER', gcpProjectId: 'keys-1' },
  { type: 'GCP_SECRET_MANAGER', gcpProjectId: 'keys-1' },
  { type: 'HEADGATE_CUSTOMER_VAULT' },
  { type: 'MATILLION_CUSTOMER_VAULT' },
  { type: 'DEFAULT_SECRET_VAULT' },
  { type: 'AWS_SECRET_MANAGER' },
];

test('every spelling of a vault is returned as it was written, in connections and overrides', async () => {
  const { admin, path } = await createProject();
  for (const [index, secretsLocation] of vaults.entries()) {
    const connectionDetails = { connectionProperties: { secretName: 's' }, secretsLocation };
    const name = `connection ${index}`;
    const created = await admin.post<IdentifiedConnection>(path, { ...basic, name, connectionDetails });
    assert.deepEqual(created.body.connectionDetails, connectionDetails);
    const listed = await admin.get<Page<IdentifiedConnection>>(`${path}?connectionNames=${name}`);
    assert.deepEqual(listed.body.results, [created.body]);
    const connectionOverrides = { connectionProperties: { secretName: 'o' }, secretsLocation };
    const override = { environmentName: 'dev', connectionName: name, authType: basic.authType };
    const written = await admin.post<ConnectionOverride>(`${path}/environment-overrides`, {
      ...override,
      connectionOverrides,
    });
    assert.deepEqual(written.body.connectionOverrides, connectionOverrides);
  }
});

test('only the members of the kind of vault are stored', async () => {
  const { admin, path } = await createProject();
  const more = { region: 'eu-west-1', vaultName: 'keys', gcpProjectId: 'keys-1' };
  for (const [type, own] of [
    ['GCP_SECRET_MANAGER', { gcpProjectId: 'keys-1' }],
    ['AZURE_SECRET_MANAGER', { vaultName: 'keys' }],
    ['MATILLION_CUSTOMER_VAULT', {}],
  ] as const) {
    const connectionDetails = { secretsLocation: { type, ...more } };
    const created = await admin.post<IdentifiedConnection>(path, { ...basic, name: type, connectionDetails });
    assert.deepEqual(created.body.connectionDetails, { secretsLocation: { type, ...own } });
  }
});

test('an update replaces all details; omitted members are unset', async () => {
  const { admin, path } = await createProject();
  const { etag } = await admin.post(path, basic);
  const at = `${path}?connectionName=Warehouse reader`;
  const body = { authType: 'GENERIC_SECRET', platformConnectionType: 'COMPONENT_BASIC' };
  const updated = await admin.send('PUT', at, { body, headers: { 'if-match': etag ?? '' } });
  assert.equal(updated.status, 200);
  assert.equal((updated.body as IdentifiedConnection).connectionDetails, undefined);
  requireProblem(
    await admin.send('PUT', at, { body, headers: { 'if-match': etag ?? '' } }),
    412,
    'etag-mismatch',
  );
  requireProblem(
    await admin.send('PUT', `${path}?connectionName=none`, { body }),
    404,
    'connection-not-found',
  );
});

test('only allowed triples are accepted', async () => {
  const { admin, path } = await createProject();
  const createTriple = (platformConnectionType: string, authProvider: string, authType: string) =>
    admin.post(path, { name: `${authProvider} ${authType}`, platformConnectionType, authProvider, authType });
  assert.equal((await createTriple('COMPONENT_BASIC', 'salesforce', 'OAUTH_CLIENT_CRED')).status, 201);
  assert.equal((await createTriple('COMPONENT_BASIC', 'netsuite', 'COMPOSITE_TOKEN')).status, 201);
  assert.equal(
    (await createTriple('CLOUD_PLATFORM_CREDENTIALS', 'aws', 'CLOUD_PROVIDER_SECRET')).status,
    201,
  );
  for (const [type, provider, auth, allowed] of [
    ['COMPONENT_BASIC', 'NONE', 'OAUTH_CLIENT_CRED', /: its authType must be GENERIC_SECRET\.$/],
    ['COMPONENT_BASIC', 'salesforce', 'COMPOSITE_TOKEN', /: its authType must be OAUTH_CLIENT_CRED, OAUTH_/],
    ['COMPONENT_BASIC', 'netsuite', 'GENERIC_SECRET', / or COMPOSITE_TOKEN\.$/],
    ['COMPONENT_BASIC', 'Salesforce', 'OAUTH_CLIENT_CRED', /NONE or the name of a connector in lower case/],
    ['CLOUD_PLATFORM_CREDENTIALS', 'NONE', 'CLOUD_PROVIDER_SECRET', /aws, azure or gcp, in lower case\.$/],
  ] as const) {
    const { detail } = requireProblem(await createTriple(type, provider, auth), 422, 'connection-triple');
    assert.match(detail, allowed);
  }
});

test('properties must have the shape of their triple', async () => {
  const { admin, path } = await createProject();
  const wrong = { ...basic, connectionDetails: { connectionProperties: { credentialSecretName: 'x' } } };
  requireProblem(await admin.post(path, wrong), 422, 'connection-properties');
  const empty = { ...basic, connectionDetails: { connectionProperties: {} } };
  requireProblem(await admin.post(path, empty), 422, 'connection-properties');
});

test('an override needs the authType of its connection, and is deleted with it', async () => {
  const { admin, path } = await createProject();
  await admin.post(path, basic);
  const at = `${path}/environment-overrides`;
  const override = {
    environmentName: 'dev',
    connectionName: basic.name,
    authType: basic.authType,
    connectionOverrides: { connectionProperties: { secretName: 'dev-reader' } },
  };
  assert.equal((await admin.post(at, override)).status, 201);
  requireProblem(
    await admin.post(at, { ...override, authType: 'COMPOSITE_TOKEN' }),
    422,
    'connection-override',
  );
  const listed = () => admin.get<Page<unknown>>(`${at}?environmentName=dev`);
  assert.equal((await listed()).body.total, 1);
  const missing = `${at}?environmentName=dev&connectionNames=${basic.name},none`;
  requireProblem(await admin.send('DELETE', missing), 404, 'connection-override-not-found');
  assert.equal((await listed()).body.total, 1, 'all or none');
  await admin.send('DELETE', `${path}?connectionName=${basic.name}`);
  assert.equal((await listed()).body.total, 0);
});
