/** Waiting claims: which are woken, and what they find without a wake-up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '@headgate/contract';
import type { Account, RegisteredAgent } from '../../../testing/account.ts';
import { createInstance, type Instance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { createExecution } from '../../../testing/executions.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { chooseTarget } from '../../kernel/work/work.ts';

const server = await startTestServer();
const url = await server.listen();
/** A claim that is not woken gets an empty response when its time is over, and fails its test. */
const waitSeconds = 25;
/** Bounds what does not happen; a busy machine may be slow. */
const boundSeconds = 120;

async function place() {
  const made = await createPlace(await server.account());
  const shown = async () => (await made.account.admin.get<Agent>(`/agents/${made.agent.agentId}`)).body;
  return { ...made, shown, enqueue: () => createExecution(made) };
}

/** Waits until one more claim of this agent waits. Claims of earlier tests end at any moment. */
async function untilOneMoreWaits({ agentId }: RegisteredAgent, begin: () => void): Promise<void> {
  const { wakes } = server.deps;
  const before = wakes.countWaiting(agentId);
  begin();
  await waitUntil('the waiting claims', boundSeconds, () => wakes.countWaiting(agentId) > before);
}

/** Opens a claim. Resolves when it waits, to an object with the promise of its response. */
async function waiting(agent: RegisteredAgent, instance: Instance, max = 10) {
  let answer: ReturnType<Instance['claim']> | undefined;
  await untilOneMoreWaits(agent, () => {
    answer = instance.claim(max, waitSeconds);
  });
  return { answer };
}

/** Opens a claim on a separate connection. */
async function standingClaim(account: Account, agent: RegisteredAgent, { instanceId }: Instance) {
  const owner = { accountId: account.accountId, actorId: agent.agentId, clientId: agent.clientId };
  const token = await server.deps.tokens.issue(owner, 'agent');
  const body = JSON.stringify({ instanceId, max: 10, waitSeconds });
  const closing = new AbortController();
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const request = { method: 'POST', headers, body, signal: closing.signal };
  let answer: Promise<void> | undefined;
  await untilOneMoreWaits(agent, () => {
    answer = assert.rejects(fetch(`${url}/agent/v1/claims`, request));
  });
  return {
    async close() {
      closing.abort();
      await answer;
    },
  };
}

async function connected(agent: RegisteredAgent, abilities = ['pipeline-execution']) {
  const instance = createInstance(agent);
  await instance.hello({ abilities });
  return instance;
}

/** An instance whose claim has found nothing. */
async function quietInstance(agent: RegisteredAgent) {
  const instance = await connected(agent);
  assert.deepEqual(await instance.claim(10, 0), { work: [], commands: [] });
  return instance;
}

test('work goes to an instance that supports it, even if another one has waited longer', async () => {
  const { agent, enqueue } = await place();
  const unfit = () => connected(agent, ['a kind of tomorrow']);
  await waiting(agent, await unfit());
  await waiting(agent, await unfit());
  const { answer } = await waiting(agent, await connected(agent, ['pipeline-execution']));
  await waiting(agent, await unfit());
  await enqueue();
  assert.equal((await answer)?.work.length, 1);
});

test('two works that arrive while one instance is woken go to both waiting instances', async () => {
  const { agent, enqueue } = await place();
  const [one, other] = [await quietInstance(agent), await quietInstance(agent)];
  const claims = [await waiting(agent, one, 1), await waiting(agent, other, 1)];
  await Promise.all([enqueue(), enqueue()]);
  const [first, second] = await Promise.all(claims.map(({ answer }) => answer));
  assert.deepEqual([first?.work.length, second?.work.length], [1, 1]);
});

test('a new run wakes no claim without places for runs; short work wakes all', async () => {
  const { wakes } = server.deps;
  const key = crypto.randomUUID();
  const woken: string[] = [];
  const wait = (name: string, takesOccasions: boolean) =>
    wakes.wait(key, { number: 0, takesOccasions, wake: () => void woken.push(name) });
  for (const takesOccasions of [false, true]) wait(takesOccasions ? 'runs' : 'short', takesOccasions);
  wakes.wake(key, chooseTarget([{ kind: 'pipeline-execution' }]));
  assert.deepEqual(woken, ['runs']);
  wait('runs again', true);
  wakes.wake(key, chooseTarget([{ kind: 'pipeline-execution' }, { kind: 'connector-test' }]));
  assert.deepEqual(woken, ['runs', 'short', 'runs again']);
  const { account, agent, enqueue } = await place();
  const short = new AbortController();
  const { instanceId } = await connected(agent);
  const owner = { accountId: account.accountId, actorId: agent.agentId, clientId: agent.clientId };
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${await server.deps.tokens.issue(owner, 'agent')}`,
  };
  const body = JSON.stringify({ instanceId, max: 0, maxShort: 1, waitSeconds });
  let closed: Promise<void> | undefined;
  await untilOneMoreWaits(agent, () => {
    closed = assert.rejects(
      fetch(`${url}/agent/v1/claims`, { method: 'POST', headers, body, signal: short.signal }),
    );
  });
  // The claim for runs has waited for less time, and gets the run at once.
  const { answer } = await waiting(agent, { ...createInstance(agent), instanceId });
  await enqueue();
  assert.equal((await answer)?.work.length, 1);
  short.abort();
  await closed;
});

test('a claim whose connection closes passes its wake-up on', async () => {
  const { account, agent, enqueue } = await place();
  const lost = await standingClaim(account, agent, await connected(agent));
  await lost.close();
  await waitUntil(
    'the end of its wait',
    boundSeconds,
    () => server.deps.wakes.countWaiting(agent.agentId) === 0,
  );
  const { answer } = await waiting(agent, await connected(agent));
  await enqueue();
  assert.equal((await answer)?.work.length, 1);
});

test('an agent that dies during a claim becomes unknown, whether its connection closes or not', async () => {
  for (const isClosed of [true, false]) {
    const { account, agent, shown } = await place();
    const dying = await standingClaim(account, agent, await quietInstance(agent));
    await waitUntil('the connection', boundSeconds, async () => (await shown()).connected);
    if (isClosed) await dying.close();
    server.clock.advance(14);
    await server.sweep();
    assert.deepEqual([(await shown()).agentStatus, (await shown()).connected], ['unknown', false]);
    if (!isClosed) await dying.close();
  }
});

test('a claim gets an empty response when its time is over, and at once when the server stops', async () => {
  const { agent } = await place();
  const nothing = { work: [], commands: [] };
  for (const instance of [await connected(agent), await quietInstance(agent)])
    assert.deepEqual(await instance.claim(10, 1), nothing);
  const other = await startTestServer();
  const stopped = await createPlace(await other.account());
  const instance = createInstance(stopped.agent);
  await instance.hello();
  const answer = instance.claim(10, waitSeconds);
  await waitUntil('a waiting claim', boundSeconds, () => other.deps.wakes.countWaiting() > 0);
  await other.close();
  assert.deepEqual(await answer, nothing);
});

test('an instance with two concurrent claims, as after a lost response, gets each work once', async () => {
  const { agent, enqueue } = await place();
  const instance = await quietInstance(agent);
  const claims = [await waiting(agent, instance, 1), await waiting(agent, instance, 1)];
  const executions = [await enqueue(), await enqueue()];
  const inputs = await Promise.all(claims.map(({ answer }) => answer));
  assert.equal(new Set(inputs.map((claim) => claim?.work[0]?.workId)).size, executions.length);
});

test('a waiting claim finds work that became claimable without a wake-up', async () => {
  const { account, agent, enqueue } = await place();
  const instance = await quietInstance(agent);
  await account.admin.post(`/agents/${agent.agentId}/commands`, { command: 'PAUSE' });
  await enqueue();
  assert.deepEqual((await instance.claim(10, 0)).work, []);
  await server.database.query('update agent set paused = false where agent_id = $1', [agent.agentId]);
  assert.equal((await instance.claim(10, waitSeconds)).work.length, 1);
});

test('a waiting claim is a sign of life, even of an idle instance', async () => {
  const { agent, shown } = await place();
  const instance = await quietInstance(agent);
  server.clock.advance(14);
  await server.sweep();
  assert.deepEqual([(await shown()).agentStatus, (await shown()).connected], ['unknown', false]);
  void instance.claim(10, waitSeconds);
  await waitUntil('the connection', boundSeconds, async () => (await shown()).connected);
  await waitUntil('the status', boundSeconds, async () => (await shown()).agentStatus === 'running');
});

test('a waiting claim is refused after its agent is deleted or its secret refreshed, without a notification', async () => {
  for (const change of [
    'update agent set secret_generation = secret_generation + 1 where agent_id = $1',
    'delete from agent where agent_id = $1',
  ]) {
    const { agent } = await place();
    const instance = await quietInstance(agent);
    await server.database.query(change, [agent.agentId]);
    const body = { instanceId: instance.instanceId, max: 10, waitSeconds };
    requireProblem(await agent.client.post('/claims', body), 401, 'token-invalid');
  }
});
