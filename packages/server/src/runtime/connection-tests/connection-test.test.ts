import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectionTestResult } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createTestingAgent } from '../../../testing/testing-agent.ts';

const server = await startTestServer();

async function createScene() {
  const account = await server.account();
  const project = await account.project();
  const path = `${project.path}/data-platform-connections`;
  const connectionProperties = {
    host: { value: 'warehouse.example.com' },
    username: { value: 'loader' },
    password: { secretName: 'warehouse-password' },
    database: { value: 'shop' },
  };
  const created = await account.admin.post(path, {
    name: 'shop',
    platformConnectionType: 'DWH',
    authProvider: 'POSTGRES',
    authType: 'PASSWORD',
    connectionProperties,
  });
  assert.equal(created.status, 201);
  const ask = (body: object) => account.admin.post<ConnectionTestResult>(`${path}/shop/test`, body);
  return { account, project, path, connectionProperties, ask };
}

test('an agent tests a connection, with the overrides of the environment', async () => {
  const { account, project, ask, connectionProperties } = await createScene();
  await account.admin.post(`${project.path}/environments`, {
    name: 'uat',
    connectionOverrides: [
      { connectionName: 'shop', connectionProperties: { database: { value: 'shop_uat' } } },
    ],
  });
  const agent = await createTestingAgent(account);
  const tested = { status: 'OK', serverVersion: '18.0', durationMs: 12 } as const;
  const answered = agent.answerNext(tested);
  const plain = await ask({});
  assert.deepEqual([plain.status, plain.body], [200, tested]);
  const { authProvider, connection, seconds } = await answered;
  assert.deepEqual([authProvider, seconds], ['POSTGRES', 30]);
  assert.deepEqual(connection, { name: 'shop', properties: connectionProperties });
  const overridden = agent.answerNext({ status: 'FAILED', message: 'no', durationMs: 1 });
  assert.equal((await ask({ environmentName: 'uat' })).body.status, 'FAILED');
  assert.deepEqual((await overridden).connection.properties.database, { value: 'shop_uat' });
});

test('a test that no agent can do is refused with the reason', async () => {
  const { account, path, ask } = await createScene();
  const withoutAgent = requireProblem(await ask({}), 409, 'connection-test-agent-unavailable');
  assert.match(withoutAgent.detail, /pass agentId/);
  await account.agent();
  const away = requireProblem(await ask({}), 409, 'connection-test-agent-unavailable');
  assert.match(away.detail, /is not connected: start it/);
  requireProblem(await ask({ environmentName: 'none' }), 422, 'unknown-environment');
  requireProblem(await ask({ agentId: 'none' }), 422, 'unknown-agent');
  requireProblem(await account.admin.post(`${path}/none/test`, {}), 404, 'connection-not-found');
});

test('a test that the agent cannot do ends with its reason', async () => {
  const { account, ask } = await createScene();
  const agent = await createTestingAgent(account);
  void agent.answerNext({ failure: 'the agent is stopping' });
  const { detail } = requireProblem(await ask({}), 409, 'connection-test-agent-unavailable');
  assert.match(detail, /the agent is stopping/);
});
