/** The agents of an account. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { AgentSummary, Page } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

async function createAgents() {
  const account = await server.account();
  const list = async (query = '') => (await account.admin.get<Page<AgentSummary>>(`/agents${query}`)).body;
  return { account, admin: account.admin, list };
}

test('an agent is returned with all its members', async () => {
  const { account, list } = await createAgents();
  const { agentId } = await account.agent('loader');
  assert.deepEqual((await list()).results, [
    {
      agentId,
      agentStatus: 'pending',
      agentType: 'data_productivity_cloud',
      cloudProvider: 'local',
      connected: false,
      deployment: 'local',
      description: '',
      name: 'loader',
    },
  ]);
});

test('agents are listed newest first, in pages', async () => {
  const { account, list } = await createAgents();
  for (const name of ['a', 'b', 'c']) {
    server.clock.advance(1);
    await account.agent(name);
  }
  const first = await list('?size=2');
  assert.deepEqual([first.total, first.results.map((agent) => agent.name)], [3, ['c', 'b']]);
  assert.deepEqual((await list('?size=2&page=1')).results[0]?.name, 'a');
});

test('agents are found by type, status, name and id', async () => {
  const { account, list } = await createAgents();
  const one = await account.agent('one', { agentType: 'streaming', status: 'paused' });
  await account.agent('two');
  const listNames = async (query: string) => (await list(query)).results.map((agent) => agent.name).join(' ');
  assert.equal(await listNames('?agentType=streaming'), 'one');
  assert.equal(await listNames('?agentType=data_productivity_cloud'), 'two');
  assert.equal(await listNames('?agentStatus=paused'), 'one');
  assert.equal(await listNames('?name=two'), 'two');
  assert.equal(await listNames('?name=nobody'), '');
  assert.equal(await listNames(`?agentId=${one.agentId}`), 'one');
  assert.equal(await listNames('?agentStatus=paused&name=two'), '');
});

test('an unknown agent id is 404; an agent that other filters exclude is not', async () => {
  const { account, admin, list } = await createAgents();
  const foreign = await (await server.account()).agent();
  for (const id of [randomUUID(), 'nobody', foreign.agentId]) {
    requireProblem(await admin.get(`/agents?agentId=${id}`), 404, 'agent-not-found');
  }
  const mine = await account.agent('mine');
  assert.equal((await list(`?agentId=${mine.agentId}&name=other`)).total, 0);
});

test('an unknown filter value is refused', async () => {
  const { admin } = await createAgents();
  requireProblem(await admin.get('/agents?agentType=robot'), 400, 'invalid-request');
  requireProblem(await admin.get('/agents?agentStatus=lost'), 400, 'invalid-request');
});

test('filter values are case-insensitive', async () => {
  const { account, list } = await createAgents();
  await account.agent('one', { agentType: 'streaming', status: 'paused' });
  assert.equal((await list('?agentType=STREAMING&agentStatus=Paused')).total, 1);
});

test('an agent is connected while it sends heartbeats', async () => {
  const { account, list } = await createAgents();
  const agent = createInstance(await account.agent());
  await agent.hello();
  const readAgent = async () => {
    const [found] = (await list()).results;
    return [found?.agentStatus, found?.connected];
  };
  assert.deepEqual(await readAgent(), ['running', true]);
  server.clock.advance(10);
  await agent.heartbeat();
  server.clock.advance(10);
  assert.deepEqual(await readAgent(), ['running', true]);
  server.clock.advance(6);
  assert.equal((await readAgent())[1], false);
});
