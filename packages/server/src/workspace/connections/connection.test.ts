import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IdentifiedConnection, Page } from '@headgate/contract';
import { requireProblem } from '../../testing/client.ts';
import { startTestServer } from '../../testing/server.ts';

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

async function project() {
  const account = await server.account();
  const made = await account.project();
  return { admin: account.admin, path: `${made.path}/connections` };
}

test('a connection is created, listed and found by name; the vault is given back as it was written', async () => {
  const { admin, path } = await project();
  const created = await admin.post<IdentifiedConnection>(path, basic);
  assert.equal(created.status, 201);
  assert.deepEqual(created.body.connectionDetails, basic.connectionDetails);
  const listed = await admin.get<Page<IdentifiedConnection>>(
    `${path}?connectionNames=Warehouse reader,other`,
  );
  assert.deepEqual(listed.body.results, [created.body]);
  requireProblem(await admin.post(path, basic), 409, 'connection-name-taken');
});

test('an update replaces all details: what it leaves out is unset', async () => {
  const { admin, path } = await project();
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

test('only the allowed triples exist', async () => {
  const { admin, path } = await project();
  const triple = (platformConnectionType: string, authProvider: string, authType: string) =>
    admin.post(path, { name: `${authProvider} ${authType}`, platformConnectionType, authProvider, authType });
  assert.equal((await triple('COMPONENT_BASIC', 'salesforce', 'OAUTH_CLIENT_CRED')).status, 201);
  assert.equal((await triple('COMPONENT_BASIC', 'netsuite', 'COMPOSITE_TOKEN')).status, 201);
  assert.equal((await triple('CLOUD_PLATFORM_CREDENTIALS', 'aws', 'CLOUD_PROVIDER_SECRET')).status, 201);
  for (const [type, provider, auth] of [
    ['COMPONENT_BASIC', 'NONE', 'OAUTH_CLIENT_CRED'],
    ['COMPONENT_BASIC', 'salesforce', 'COMPOSITE_TOKEN'],
    ['COMPONENT_BASIC', 'Salesforce', 'OAUTH_CLIENT_CRED'],
    ['CLOUD_PLATFORM_CREDENTIALS', 'NONE', 'CLOUD_PROVIDER_SECRET'],
  ] as const) {
    requireProblem(await triple(type, provider, auth), 422, 'connection-triple');
  }
});

test('properties must have the shape of their triple', async () => {
  const { admin, path } = await project();
  const wrong = { ...basic, connectionDetails: { connectionProperties: { credentialSecretName: 'x' } } };
  requireProblem(await admin.post(path, wrong), 422, 'connection-properties');
  const empty = { ...basic, connectionDetails: { connectionProperties: {} } };
  requireProblem(await admin.post(path, empty), 422, 'connection-properties');
});

test('an override needs the parent’s authType, and goes with its connection', async () => {
  const { admin, path } = await project();
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
