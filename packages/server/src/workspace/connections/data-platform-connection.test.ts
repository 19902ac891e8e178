import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DataPlatformConnection, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const snowflake = {
  name: 'flakes & co',
  platformConnectionType: 'DWH',
  authProvider: 'SNOWFLAKE',
  authType: 'KEY_PAIR',
  connectionProperties: {
    account: { value: 'ab12345.eu-north-1' },
    username: { value: 'LOADER' },
    privateKey: { secretName: 'flakes', secretKey: 'key' },
    passphrase: { secretName: 'flakes-passphrase' },
    warehouse: { value: 'LOADING' },
  },
};

async function createProject() {
  const account = await server.account();
  const made = await account.project();
  const path = `${made.path}/data-platform-connections`;
  const { admin } = account;
  const create = (input: object = {}) => admin.post<DataPlatformConnection>(path, { ...snowflake, ...input });
  const replace = (at: string, body: object, headers = {}) =>
    admin.send<DataPlatformConnection>('PUT', at, { body, headers });
  return { account, admin, made, path, one: `${path}/flakes%20%26%20co`, create, replace };
}

test('a warehouse connection is created, found at its Location, listed, and read as it was written', async () => {
  const { admin, path, one, create } = await createProject();
  const created = await create();
  assert.equal(created.status, 201);
  assert.deepEqual(created.body, snowflake);
  assert.ok(created.headers.location?.endsWith(`/dpc/v1${one}`));
  const read = await admin.get(one);
  assert.deepEqual([read.body, read.etag], [snowflake, created.etag]);
  assert.deepEqual((await admin.get<Page<unknown>>(path)).body.results, [snowflake]);
  requireProblem(await create(), 409, 'connection-name-taken');
  requireProblem(await admin.get(`${path}/none`), 404, 'connection-not-found');
});

test('a connection without properties is returned without them', async () => {
  const { admin, path, create } = await createProject();
  const { connectionProperties: _, ...words } = snowflake;
  assert.deepEqual((await create({ name: 'bare', connectionProperties: undefined })).body, {
    ...words,
    name: 'bare',
  });
  assert.deepEqual((await create({ name: 'empty', connectionProperties: {} })).body.connectionProperties, {});
  assert.equal((await admin.get<object>(`${path}/bare`)).text.includes('connectionProperties'), false);
});

test('an update unsets omitted properties and keeps the provider', async () => {
  const { admin, one, create, replace } = await createProject();
  const { etag } = await create();
  const connectionProperties = { username: { value: 'OTHER' } };
  const body = { authProvider: 'snowflake', authType: 'password', connectionProperties };
  const replaced = await replace(one, body, { 'if-match': etag });
  assert.equal(replaced.status, 200);
  assert.deepEqual(replaced.body, { ...snowflake, authType: 'PASSWORD', connectionProperties });
  assert.deepEqual((await admin.get(one)).body, replaced.body);
  requireProblem(await replace(one, body, { 'if-match': etag }), 412, 'etag-mismatch');
  const { detail } = requireProblem(
    await replace(one, { ...body, authProvider: 'REDSHIFT' }),
    422,
    'connection-provider-fixed',
  );
  assert.match(detail, /cannot be changed: it is SNOWFLAKE/);
  const other = await replace(one, { ...body, platformConnectionType: 'COMPONENT_BASIC' });
  requireProblem(other, 422, 'unknown-word');
});

test('secret properties must name a secret, and a property is either a value or a secret', async () => {
  const { create } = await createProject();
  for (const name of ['password', 'readPassword', 'privateKey', 'passphrase']) {
    const refused = await create({ connectionProperties: { [name]: { value: 'plain' } } });
    const { detail } = requireProblem(refused, 422, 'connection-properties');
    assert.match(detail, new RegExp(`^body\\.connectionProperties\\.${name}: is a secret`));
    assert.ok(!detail.includes('plain'));
  }
  const both = await create({ connectionProperties: { role: { value: 'R', secretName: 's' } } });
  assert.match(requireProblem(both, 422, 'connection-properties').detail, /has both/);
  requireProblem(await create({ connectionProperties: { role: 'R' } }), 400, 'invalid-request');
});

test('warehouse connections and other connections are kept apart', async () => {
  const { admin, made, path, one, create, replace } = await createProject();
  await create();
  const connection = {
    name: 'orders',
    platformConnectionType: 'COMPONENT_BASIC',
    authProvider: 'NONE',
    authType: 'GENERIC_SECRET',
  };
  await admin.post(`${made.path}/connections`, connection);
  requireProblem(await admin.get(`${path}/orders`), 404, 'connection-not-found');
  requireProblem(await admin.delete(`${path}/orders`), 404, 'connection-not-found');
  requireProblem(await replace(`${path}/orders`, snowflake), 404, 'connection-not-found');
  const deleted = await admin.delete(`${made.path}/connections?connectionName=flakes %26 co`);
  requireProblem(deleted, 404, 'connection-not-found');
  assert.equal((await admin.get(one)).status, 200);
});

test('a deleted connection is also removed as the default of an environment', async () => {
  const { admin, made, path, one, create } = await createProject();
  await create();
  const defaultConnections = { DWH: { SNOWFLAKE: snowflake.name } };
  await admin.post(`${made.path}/environments`, { name: 'uat', defaultConnections });
  assert.equal((await admin.delete(one)).status, 204);
  requireProblem(await admin.get(one), 404, 'connection-not-found');
  assert.equal((await admin.get<Page<unknown>>(path)).body.total, 0);
  const retained = await server.database.query(
    'select from environment_default_connection where project_id = $1',
    [made.projectId],
  );
  assert.deepEqual(retained, []);
});

test('a secret reference that a warehouse connection uses can only be deleted with force', async () => {
  const { admin, made, create } = await createProject();
  await create();
  const reference = `${made.path}/secret-references/flakes`;
  await admin.post(reference, { type: 'PASSWORD', secretName: 'prod/flakes' });
  const { detail } = requireProblem(await admin.delete(reference), 409, 'secret-reference-in-use');
  assert.match(detail, /the connection "flakes & co"/);
  assert.equal((await admin.delete(`${reference}?force=true`)).status, 204);
});
