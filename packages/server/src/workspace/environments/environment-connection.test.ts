/** An environment has default warehouse connections and overrides of connections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountEventItem, Environment, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

async function createProjectWithConnections() {
  const account = await server.account();
  const { admin } = account;
  const { path, projectId } = await account.project();
  const createWarehouse = (name: string, authProvider: string) =>
    admin.post(`${path}/data-platform-connections`, {
      name,
      platformConnectionType: 'DWH',
      authProvider,
      authType: 'NONE',
    });
  await createWarehouse('lake', 'DUCKDB');
  await createWarehouse('flakes', 'SNOWFLAKE');
  const readStored = (table: string) =>
    server.database.query(`select * from ${table} where project_id = $1 order by connection_name`, [
      projectId,
    ]);
  const create = (body: object) => admin.post<Environment>(`${path}/environments`, { name: 'uat', ...body });
  return { admin, path, projectId, readStored, create };
}

const overrides = [
  {
    connectionName: 'flakes',
    connectionProperties: { role: { value: 'TESTER' }, password: { secretName: 'flakes', secretKey: 'uat' } },
  },
];

test('default connections and overrides are stored and included in the event', async () => {
  const { admin, readStored, create } = await createProjectWithConnections();
  const defaultConnections = { dwh: { duckdb: 'lake', Snowflake: 'flakes' } };
  const created = await create({ defaultConnections, connectionOverrides: overrides });
  assert.equal(created.status, 201);
  assert.deepEqual(created.body, { name: 'uat' });
  const retained = (await readStored('environment_default_connection')).map((row) => [
    row.auth_provider,
    row.connection_name,
  ]);
  assert.deepEqual(retained, [
    ['SNOWFLAKE', 'flakes'],
    ['DUCKDB', 'lake'],
  ]);
  assert.deepEqual(
    (await readStored('environment_connection_override'))[0]?.properties,
    overrides[0]?.connectionProperties,
  );
  const range = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
  const { body } = await admin.get<Page<AccountEventItem>>(
    `/events?${range}&eventName=environment-created&subjectId=uat`,
  );
  assert.deepEqual(body.results[0]?.additionalInfo.after, {
    name: 'uat',
    defaultConnections,
    connectionOverrides: overrides,
  });
});

test('default connections and overrides may be empty', async () => {
  const { create } = await createProjectWithConnections();
  assert.equal((await create({ defaultConnections: {}, connectionOverrides: [] })).status, 201);
});

test('unknown connections are refused, and no environment is created', async () => {
  const { admin, path, create } = await createProjectWithConnections();
  const requireRefusal = async (
    body: object,
    code: 'unknown-connection' | 'unknown-word' | 'duplicate-connection',
  ) => requireProblem(await create(body), 422, code);
  await requireRefusal({ defaultConnections: { DWH: { DUCKDB: 'nothing' } } }, 'unknown-connection');
  const other = await requireRefusal(
    { defaultConnections: { DWH: { DUCKDB: 'flakes' } } },
    'unknown-connection',
  );
  assert.match(other.detail, /^body\.defaultConnections\.DWH\.DUCKDB: .*"flakes"/);
  await requireRefusal({ defaultConnections: { LAKE: { DUCKDB: 'lake' } } }, 'unknown-word');
  await requireRefusal({ defaultConnections: { DWH: { ORACLE: 'lake' } } }, 'unknown-word');
  await requireRefusal(
    { defaultConnections: { DWH: { DUCKDB: 'lake', duckdb: 'lake' } } },
    'duplicate-connection',
  );
  await requireRefusal(
    { connectionOverrides: [{ connectionName: 'nothing', connectionProperties: {} }] },
    'unknown-connection',
  );
  await requireRefusal({ connectionOverrides: [...overrides, ...overrides] }, 'duplicate-connection');
  const bare = await create({
    connectionOverrides: [{ connectionName: 'lake', connectionProperties: { a: {} } }],
  });
  requireProblem(bare, 400, 'invalid-request');
  requireProblem(await admin.get(`${path}/environments/uat`), 404, 'environment-not-found');
});

test('an update replaces the connections that it contains and keeps the others', async () => {
  const { admin, path, readStored, create } = await createProjectWithConnections();
  await create({ defaultConnections: { DWH: { DUCKDB: 'lake' } }, connectionOverrides: overrides });
  const uat = `${path}/environments/uat`;
  const listDefaults = async () =>
    (await readStored('environment_default_connection')).map((row) => row.connection_name);
  const listOverridden = async () =>
    (await readStored('environment_connection_override')).map((row) => row.connection_name);
  const { etag } = await admin.get(uat);
  const changed = await admin.patch<Environment>(uat, {
    defaultConnections: { dwh: { snowflake: 'flakes' } },
  });
  assert.deepEqual([changed.status, changed.body], [200, { name: 'uat' }]);
  assert.notEqual(changed.etag, etag);
  assert.deepEqual([await listDefaults(), await listOverridden()], [['flakes'], ['flakes']]);
  const connectionOverrides = [{ connectionName: 'lake', connectionProperties: { path: { value: '/a' } } }];
  await admin.patch(uat, { connectionOverrides });
  assert.deepEqual([await listDefaults(), await listOverridden()], [['flakes'], ['lake']]);
  await admin.patch(uat, { description: 'For users' });
  assert.deepEqual([await listDefaults(), await listOverridden()], [['flakes'], ['lake']]);
  const wrong = await admin.patch(uat, {
    defaultConnections: {},
    connectionOverrides: [...overrides, ...overrides],
  });
  requireProblem(wrong, 422, 'duplicate-connection');
  assert.deepEqual(await listDefaults(), ['flakes'], 'a refused update changes nothing');
  await admin.patch(uat, { defaultConnections: {}, connectionOverrides: [] });
  assert.deepEqual([await listDefaults(), await listOverridden()], [[], []]);
});

test('a property has a value or the name of a secret, never a secret value', async () => {
  const { create } = await createProjectWithConnections();
  const writeOverride = (properties: object) =>
    create({ connectionOverrides: [{ connectionName: 'flakes', connectionProperties: properties }] });
  const plain = requireProblem(
    await writeOverride({ password: { value: 'x' } }),
    422,
    'connection-properties',
  );
  assert.match(plain.detail, /^body\.connectionOverrides\[0\]\.connectionProperties\.password: is a secret/);
  requireProblem(
    await writeOverride({ role: { value: 'x', secretName: 's' } }),
    422,
    'connection-properties',
  );
});

test('a connection of another project is refused', async () => {
  const [mine, theirs] = [await createProjectWithConnections(), await createProjectWithConnections()];
  await theirs.admin.post(`${theirs.path}/data-platform-connections`, {
    name: 'theirs',
    platformConnectionType: 'DWH',
    authProvider: 'DUCKDB',
    authType: 'NONE',
  });
  const refused = await mine.create({ defaultConnections: { DWH: { DUCKDB: 'theirs' } } });
  requireProblem(refused, 422, 'unknown-connection');
});

test('providers of warehouse connections are case-insensitive and returned in capitals', async () => {
  const { admin, path } = await createProjectWithConnections();
  const at = `${path}/data-platform-connections`;
  const made = await admin.post(at, {
    name: 'a',
    platformConnectionType: 'dwh',
    authProvider: 'RedShift',
    authType: 'key-pair',
  });
  assert.deepEqual(made.body, {
    name: 'a',
    platformConnectionType: 'DWH',
    authProvider: 'REDSHIFT',
    authType: 'KEY_PAIR',
  });
  const { body } = await admin.get<Page<{ name: string }>>(at);
  assert.deepEqual(
    body.results.map((each) => each.name),
    ['a', 'flakes', 'lake'],
  );
  for (const wrong of [
    { platformConnectionType: 'COMPONENT_BASIC' },
    { authProvider: 'ORACLE' },
    { authType: 'OAUTH' },
  ]) {
    const body = {
      name: 'b',
      platformConnectionType: 'DWH',
      authProvider: 'DUCKDB',
      authType: 'NONE',
      ...wrong,
    };
    const { detail } = requireProblem(await admin.post(at, body), 422, 'unknown-word');
    assert.match(detail, new RegExp(`^body\\.${Object.keys(wrong)[0]} is `));
  }
  const listed = await admin.get<Page<unknown>>(`${path}/connections`);
  assert.equal(listed.body.total, 0, 'the list of connections omits them');
});
