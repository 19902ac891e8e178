/** Managing the agents of an account. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Agent, AgentCredentials, Environment } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

const fargate = {
  name: 'loader',
  agentType: 'data_productivity_cloud',
  cloudProvider: 'aws',
  deployment: 'fargate',
};

async function createAgent(input: object = {}) {
  const account = await server.account();
  const answer = await account.admin.post<Agent>('/agents', { ...fargate, ...input });
  assert.equal(answer.status, 201, answer.text);
  const path = `/agents/${answer.body.agentId}`;
  const get = async () => (await account.admin.get<Agent>(path)).body;
  return { account, admin: account.admin, agent: answer.body, answer, path, get };
}

/** Simulates the agent program with these credentials. */
async function connectAgent(input: AgentCredentials) {
  const { access_token: accessToken } = (await requestToken(input)).body;
  const client = createClient(server.transport, '/agent/v1', async () => accessToken ?? '');
  return { client, instance: createInstance({ client }) };
}

async function requestToken({ clientId, clientSecret }: AgentCredentials) {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const anybody = createClient(server.transport, '', async () => undefined);
  const body = new URLSearchParams(form).toString();
  return anybody.post<{ access_token: string }>('/oauth/dpc/token', body, { headers });
}

test('a registered agent is pending and returned with all its members', async () => {
  const { agent, answer, get } = await createAgent({ enableAutoUpdates: true });
  assert.match(agent.agentId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(agent, {
    ...fargate,
    agentId: agent.agentId,
    agentStatus: 'pending',
    connected: false,
    description: '',
    enableAutoUpdates: true,
    restrictedAccess: false,
    environmentShare: 50,
    weights: [],
    versionDetails: {
      agentVersion: '',
      agentUpdateAvailable: false,
      support: 'unknown',
      trackName: 'current',
      trackVersion: server.deps.version,
    },
    vaultAccess: { projects: {} },
  });
  assert.ok(answer.headers.location?.endsWith(`/v1/agents/${agent.agentId}`));
  assert.deepEqual(await get(), agent);
});

test('enumerated values are case-insensitive, and unknown ones are refused with the value', async () => {
  const { agent, account } = await createAgent({
    ...{ agentType: 'Streaming', cloudProvider: 'AZURE' },
    ...{ deployment: 'Container App', trackName: 'STABLE' },
  });
  assert.deepEqual(
    [agent.agentType, agent.cloudProvider, agent.deployment, agent.versionDetails.trackName],
    ['streaming', 'azure', 'container app', 'stable'],
  );
  for (const word of ['agentType', 'cloudProvider', 'deployment', 'trackName']) {
    const refused = await account.admin.post('/agents', { ...fargate, name: 'b', [word]: 'robot' });
    assert.match(requireProblem(refused, 422, 'unknown-word').detail, new RegExp(`body.${word} is "robot"`));
  }
});

test('a mistyped value is refused with the nearest known one', async () => {
  const { account } = await createAgent();
  const refused = await account.admin.post('/agents', { ...fargate, name: 'b', deployment: 'fragate' });
  const { detail } = requireProblem(refused, 422, 'unknown-word');
  assert.match(detail, /body\.deployment is "fragate"; .*\. Did you mean fargate\?$/);
});

test('a name has 1 to 30 characters and is unique', async () => {
  const { admin, path } = await createAgent();
  requireProblem(await admin.post('/agents', fargate), 409, 'agent-name-taken');
  for (const name of ['', 'x'.repeat(31)])
    requireProblem(await admin.post('/agents', { ...fargate, name }), 400, 'invalid-request');
  await admin.post('/agents', { ...fargate, name: 'x'.repeat(30) });
  requireProblem(await admin.patch(path, { name: 'x'.repeat(30) }), 409, 'agent-name-taken');
});

test('an update keeps omitted members, and is refused if the agent has changed', async () => {
  const { admin, path, get } = await createAgent({ description: 'old' });
  const { etag } = await admin.get(path);
  const changed = await admin.patch<Agent>(path, { restrictedAccess: true, trackName: 'Stable' });
  assert.equal(changed.status, 202);
  assert.deepEqual(changed.body, await get());
  assert.deepEqual(
    [changed.body.name, changed.body.description, changed.body.restrictedAccess],
    ['loader', 'old', true],
  );
  const late = await admin.patch(path, { description: 'new' }, { headers: { 'if-match': etag } });
  requireProblem(late, 412, 'etag-mismatch');
  const headers = { 'if-match': changed.etag };
  assert.equal((await admin.patch(path, { description: '' }, { headers })).status, 202);
  assert.equal((await get()).description, '');
});

test('an agent that does not exist or belongs to another account is 404 for every operation', async () => {
  const { agent } = await createAgent();
  const { admin } = await server.account();
  for (const id of [agent.agentId, randomUUID(), 'nobody']) {
    const path = `/agents/${id}`;
    const command = { command: 'PAUSE' };
    for (const answer of [
      ...[await admin.get(path), await admin.patch(path, {}), await admin.delete(path)],
      ...[await admin.get(`${path}/credentials`), await admin.post(`${path}/commands`, command)],
      await admin.post(`${path}/credentials`, { action: 'SECRET_REFRESH' }),
      await admin.send('PUT', `${path}/allowlist`, { body: { projects: {} } }),
      await admin.patch(`${path}/allowlist`, { projects: {} }),
      await admin.delete(`${path}/allowlist`),
    ]) {
      requireProblem(answer, 404, 'agent-not-found');
    }
  }
});

test('the agent program connects with the credentials, and each read of them records an event', async () => {
  const { account, admin, path, get } = await createAgent();
  const { body } = await admin.get<AgentCredentials>(`${path}/credentials`);
  assert.deepEqual((await admin.get(`${path}/credentials`)).body, body);
  const { instance } = await connectAgent(body);
  assert.equal((await instance.hello({ agentVersion: '0.0.1' })).status, 200);
  const { agentStatus, connected, versionDetails } = await get();
  assert.deepEqual([agentStatus, connected], ['running', true]);
  const { agentVersion, agentUpdateAvailable, support } = versionDetails;
  assert.deepEqual([agentVersion, agentUpdateAvailable, support], ['0.0.1', true, 'supported']);
  const [read] = await server.database.query<{ count: number; told: string }>(
    `select count(*)::integer as count, string_agg(state_after::text, '') as told from event
     where account_id = $1 and name = 'agent-credentials-read' and actor_id = $2`,
    [account.accountId, admin.actorId],
  );
  assert.equal(read?.count, 2);
  assert.ok(!read?.told.includes(body.clientSecret));
});

test('after a refresh, the previous secret and its tokens are refused at once', async () => {
  const { admin, path } = await createAgent();
  const before = (await admin.get<AgentCredentials>(`${path}/credentials`)).body;
  const { client, instance } = await connectAgent(before);
  await instance.hello();
  const refreshed = await admin.post<AgentCredentials>(`${path}/credentials`, { action: 'secret_refresh' });
  assert.equal(refreshed.status, 200, refreshed.text);
  const after = refreshed.body;
  assert.equal(after.clientId, before.clientId);
  assert.deepEqual((await admin.get(`${path}/credentials`)).body, after);
  assert.equal((await requestToken(before)).status, 401);
  const { instanceId } = instance;
  requireProblem(await client.post('/heartbeats', { instanceId, held: [] }), 401, 'token-invalid');
  const renewed = await connectAgent(after);
  assert.equal((await renewed.instance.hello()).status, 200);
  requireProblem(await admin.post(`${path}/credentials`, { action: 'LOOK' }), 422, 'unknown-word');
});

test('a server that missed the notification of a refresh gives no work to a token of the previous secret', async () => {
  const { account, admin, agent, path } = await createAgent();
  const project = await account.project();
  const credentials = (await admin.get<AgentCredentials>(`${path}/credentials`)).body;
  const { instance } = await connectAgent(credentials);
  await instance.hello();
  await upload(admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }]);
  await server.database.query(
    'update agent set secret_generation = secret_generation + 1 where agent_id = $1',
    [agent.agentId],
  );
  const start = { pipelineName: 'main', environmentName: 'dev', agentId: agent.agentId };
  assert.equal((await admin.post(`${project.path}/pipeline-executions`, start)).status, 201);
  assert.deepEqual((await instance.claim()).work, []);
  const renewed = await connectAgent(credentials);
  assert.equal((await renewed.instance.claim()).work.length, 1);
});

test('only a stopped, pending or unknown agent can be deleted', async () => {
  const account = await server.account();
  for (const status of ['running', 'stopping', 'pausing', 'paused']) {
    const { agentId } = await account.agent(status, { status });
    requireProblem(await account.admin.delete(`/agents/${agentId}`), 409, 'agent-not-stopped');
  }
  for (const status of ['stopped', 'pending', 'unknown']) {
    const { agentId, client } = await account.agent(status, { status });
    assert.equal((await account.admin.delete(`/agents/${agentId}`)).status, 202);
    requireProblem(await account.admin.get(`/agents/${agentId}`), 404, 'agent-not-found');
    requireProblem(await account.admin.get(`/agents?agentId=${agentId}`), 404, 'agent-not-found');
    requireProblem(await createInstance({ client }).hello(), 401, 'token-invalid');
  }
});

test('deleting an agent ends its work and removes it as the default of environments', async () => {
  const account = await server.account();
  const { admin } = account;
  const agent = await account.agent();
  const project = await account.project();
  await upload(admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }]);
  await admin.patch(`${project.path}/environments/dev`, { defaultAgentId: agent.agentId });
  const start = async () => {
    const body = { pipelineName: 'main', environmentName: 'dev' };
    const path = `${project.path}/pipeline-executions`;
    const { pipelineExecutionId } = (await admin.post<{ pipelineExecutionId: string }>(path, body)).body;
    return `${path}/${pipelineExecutionId}`;
  };
  const [held, waiting] = [await start(), await start()];
  const instance = createInstance(agent);
  await instance.hello();
  assert.equal((await instance.claim(1)).work.length, 1);
  server.clock.advance(14);
  await server.sweep();
  assert.equal((await admin.delete(`/agents/${agent.agentId}`)).status, 202);
  for (const path of [held, waiting]) {
    const { body } = await admin.get<{ status: string; message: string }>(path);
    assert.deepEqual([body.status, body.message], ['CANCELLED', 'The agent was deleted.']);
  }
  const { body } = await admin.get<Environment>(`${project.path}/environments/dev`);
  assert.equal(body.defaultAgentId, undefined);
});
