import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Environment, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

test('an environment is created, found at its Location, and read again', async () => {
  const account = await server.account();
  const { path } = await account.project();
  const agent = await account.agent('loader');
  const expected = {
    name: 'test (EU) - 1',
    displayName: 'Test',
    description: 'For trials',
    defaultAgentId: agent.agentId,
  };
  const created = await account.admin.post<Environment>(`${path}/environments`, expected);
  assert.equal(created.status, 201);
  assert.deepEqual(created.body, { ...expected, defaultAgentName: 'loader' });
  assert.ok(created.headers.location?.endsWith(`/dpc/v1${path}/environments/test%20(EU)%20-%201`));
  const read = await account.admin.get<Environment>(`${path}/environments/test%20(EU)%20-%201`);
  assert.deepEqual(read.body, created.body);
  assert.equal(read.etag, created.etag);
});

test('environments are listed by name', async () => {
  const account = await server.account();
  const { path } = await account.project();
  for (const name of ['b', 'a', 'Z', '1']) await account.admin.post(`${path}/environments`, { name });
  const { body } = await account.admin.get<Page<Environment>>(`${path}/environments`);
  assert.deepEqual(
    body.results.map((environment) => environment.name),
    ['1', 'Z', 'a', 'b', 'dev', 'prod'],
  );
  assert.equal(body.total, 6);
});

test('a name with a space at an end is refused on creation, and one that exists keeps working', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  for (const name of [' uat', 'uat ', ' ']) {
    const refused = await account.admin.post(`${path}/environments`, { name });
    requireProblem(refused, 422, 'environment-name-spaces');
  }
  await account.admin.post(`${path}/environments`, { name: 'old' });
  await server.database.query("update environment set name = 'old ' where name = 'old' and project_id = $1", [
    projectId,
  ]);
  assert.equal((await account.admin.get<Environment>(`${path}/environments/old%20`)).body.name, 'old ');
});

test('environment names are unique in a project', async () => {
  const account = await server.account();
  const [one, other] = [await account.project(), await account.project()];
  requireProblem(
    await account.admin.post(`${one.path}/environments`, { name: 'dev' }),
    409,
    'environment-name-taken',
  );
  assert.equal((await account.admin.post(`${other.path}/environments`, { name: 'uat' })).status, 201);
});

test('a name that does not match the pattern is refused', async () => {
  const account = await server.account();
  const { path } = await account.project();
  for (const name of ['', '-a', 'a-', 'a/b', 'a.b', 'é', 'x'.repeat(256)]) {
    requireProblem(await account.admin.post(`${path}/environments`, { name }), 400, 'invalid-request');
  }
  assert.equal((await account.admin.post(`${path}/environments`, { name: 'x'.repeat(255) })).status, 201);
});

test('an unknown default agent is refused', async () => {
  const [account, other] = [await server.account(), await server.account()];
  const { path } = await account.project();
  const foreign = await other.agent();
  for (const defaultAgentId of [foreign.agentId, 'nobody']) {
    const refused = await account.admin.post(`${path}/environments`, { name: 'uat', defaultAgentId });
    requireProblem(refused, 422, 'unknown-agent');
  }
});

test('an environment created without a default agent gets the only agent of the account', async () => {
  const account = await server.account();
  const { path } = await account.project();
  const create = async (name: string) =>
    (await account.admin.post<Environment>(`${path}/environments`, { name })).body;
  assert.deepEqual(await create('none'), { name: 'none' });
  const first = await account.agent('first');
  const made = await create('one');
  const retained = { name: 'one', defaultAgentId: first.agentId, defaultAgentName: 'first' };
  assert.deepEqual(made, retained);
  const second = await account.agent('second');
  assert.deepEqual(await create('two'), { name: 'two' });
  const read = async () => (await account.admin.get<Environment>(`${path}/environments/one`)).body;
  assert.deepEqual(await read(), retained, 'a second agent does not change it');
  await account.admin.patch(`${path}/environments/one`, { defaultAgentId: second.agentId });
  assert.equal((await read()).defaultAgentId, second.agentId);
  await account.admin.patch(`${path}/environments/one`, { defaultAgentId: '' });
  assert.deepEqual(await read(), { name: 'one' });
});

test('an environment that does not exist is not found', async () => {
  const account = await server.account();
  const { path } = await account.project();
  requireProblem(await account.admin.get(`${path}/environments/uat`), 404, 'environment-not-found');
});

test('the ETags of two environments differ', async () => {
  const account = await server.account();
  const { path } = await account.project();
  const [dev, prod] = [
    await account.admin.get(`${path}/environments/dev`),
    await account.admin.get(`${path}/environments/prod`),
  ];
  assert.notEqual(dev.etag, prod.etag);
});
