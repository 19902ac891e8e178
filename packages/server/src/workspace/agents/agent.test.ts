/** E18: the agents of an account. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { AgentSummary, Page } from '@headgate/contract';
import { createInstance } from '../../testing/agent.ts';
import { requireProblem } from '../../testing/client.ts';
import { startTestServer } from '../../testing/server.ts';

const server = await startTestServer();

async function agents() {
  const account = await server.account();
  const list = async (query = '') => (await account.admin.get<Page<AgentSummary>>(`/agents${query}`)).body;
  return { account, admin: account.admin, list };
}

test('an agent is shown with all that describes it', async () => {
  const { account, list } = await agents();
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
  const { account, list } = await agents();
  for (const name of ['a', 'b', 'c']) {
    server.clock.advance(1);
    await account.agent(name);
  }
  const first = await list('?size=2');
  assert.deepEqual([first.total, first.results.map((agent) => agent.name)], [3, ['c', 'b']]);
  assert.deepEqual((await list('?size=2&page=1')).results[0]?.name, 'a');
});

test('agents are found by type, status, name and id', async () => {
  const { account, list } = await agents();
  const one = await account.agent('one', { agentType: 'streaming', status: 'paused' });
  await account.agent('two');
  const names = async (query: string) => (await list(query)).results.map((agent) => agent.name).join(' ');
  assert.equal(await names('?agentType=streaming'), 'one');
  assert.equal(await names('?agentType=data_productivity_cloud'), 'two');
  assert.equal(await names('?agentStatus=paused'), 'one');
  assert.equal(await names('?name=two'), 'two');
  assert.equal(await names('?name=nobody'), '');
  assert.equal(await names(`?agentId=${one.agentId}`), 'one');
  assert.equal(await names('?agentStatus=paused&name=two'), '');
});

test('an agent that does not exist is 404; one that other filters leave out is not', async () => {
  const { account, admin, list } = await agents();
  const foreign = await (await server.account()).agent();
  for (const id of [randomUUID(), 'nobody', foreign.agentId]) {
    requireProblem(await admin.get(`/agents?agentId=${id}`), 404, 'agent-not-found');
  }
  const mine = await account.agent('mine');
  assert.equal((await list(`?agentId=${mine.agentId}&name=other`)).total, 0);
});

test('a filter that no agent can match is refused', async () => {
  const { admin } = await agents();
  requireProblem(await admin.get('/agents?agentType=robot'), 400, 'invalid-request');
  requireProblem(await admin.get('/agents?agentStatus=lost'), 400, 'invalid-request');
});

test('the words of the filters are read in any case', async () => {
  const { account, list } = await agents();
  await account.agent('one', { agentType: 'streaming', status: 'paused' });
  assert.equal((await list('?agentType=STREAMING&agentStatus=Paused')).total, 1);
});

test('an agent is connected while it gives signs of life', async () => {
  const { account, list } = await agents();
  const agent = createInstance(await account.agent());
  await agent.hello();
  const shown = async () => {
    const [found] = (await list()).results;
    return [found?.agentStatus, found?.connected];
  };
  assert.deepEqual(await shown(), ['running', true]);
  server.clock.advance(10);
  await agent.heartbeat();
  server.clock.advance(10);
  assert.deepEqual(await shown(), ['running', true]);
  server.clock.advance(6);
  assert.equal((await shown())[1], false);
});
