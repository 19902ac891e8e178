/** The status of an agent follows from the messages and the silence of its instances. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Agent,
  type AgentStatus,
  agentStatuses,
  type GoodbyeResponse,
  type GoodbyeStage,
} from '@headgate/contract';
import type { RegisteredAgent } from '../../../testing/account.ts';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { createExecution } from '../../../testing/executions.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';
import { agentStates } from '../../workspace/agents/index.ts';

const server = await startTestServer();
const abilities = ['pipeline-execution', 'restart'];

async function place() {
  const made = await createPlace(await server.account());
  const { account, agent } = made;
  const path = `/agents/${agent.agentId}`;
  const shown = async () => (await account.admin.get<Agent>(path)).body;
  const status = async () => (await shown()).agentStatus;
  const command = async (word: string, input: object = {}) => {
    const answer = await account.admin.post(`${path}/commands`, { command: word, ...input });
    assert.equal(answer.status, 202, answer.text);
  };
  const enqueue = () => createExecution(made);
  return { ...made, path, shown, status, command, enqueue };
}

async function connected(agent: RegisteredAgent) {
  const instance = createInstance(agent);
  await instance.hello({ abilities });
  const { instanceId } = instance;
  const goodbye = async (stage: GoodbyeStage) =>
    (await agent.client.post<GoodbyeResponse>('/goodbye', { instanceId, stage })).body.agentStatus;
  return { ...instance, goodbye };
}

test('the table of an agent’s states: all pairs', () => {
  const moves = agentStates.states.flatMap((from) =>
    agentStates.states.filter((to) => agentStates.allows(from, to)).map((to) => `${from} → ${to}`),
  );
  assert.deepEqual(moves.toSorted(), [
    ...['paused → running', 'paused → stopped', 'paused → stopping', 'paused → unknown'],
    ...[
      'pausing → paused',
      'pausing → running',
      'pausing → stopped',
      'pausing → stopping',
      'pausing → unknown',
    ],
    ...['pending → pausing', 'pending → running'],
    ...['running → pausing', 'running → stopped', 'running → stopping', 'running → unknown'],
    ...['stopped → pausing', 'stopped → running', 'stopped → stopping'],
    ...['stopping → pausing', 'stopping → running', 'stopping → stopped', 'stopping → unknown'],
    ...['unknown → pausing', 'unknown → running', 'unknown → stopped', 'unknown → stopping'],
  ]);
  assert.deepEqual(agentStates.states.toSorted(), [...agentStatuses].toSorted());
});

test('from every state, each event moves as the table says', async () => {
  const happenings: Record<string, (at: Awaited<ReturnType<typeof place>>) => Promise<unknown>> = {
    hello: ({ agent }) => connected(agent),
    claim: ({ agent }) => createInstance(agent).claim(),
    'goodbye, stopping': async ({ agent }) => (await connected(agent)).goodbye('stopping'),
    'goodbye, stopped': async ({ agent }) => (await connected(agent)).goodbye('stopped'),
    pause: ({ command }) => command('PAUSE'),
    resume: ({ command }) => command('RESUME'),
    silence: async () => {
      server.clock.advance(14);
      await server.sweep();
    },
  };
  for (const from of agentStatuses) {
    for (const [name, happen] of Object.entries(happenings)) {
      const at = await place();
      await server.database.query('update agent set status = $2, paused = $3 where agent_id = $1', [
        at.agent.agentId,
        from,
        from === 'paused' || from === 'pausing',
      ]);
      await happen(at);
      const moves = await server.database.query<{ before: AgentStatus; after: AgentStatus }>(
        `select state_before ->> 'agentStatus' as before, state_after ->> 'agentStatus' as after from event
         where account_id = $1 and name = 'agent-status-changed' order by event_id`,
        [at.account.accountId],
      );
      let now: AgentStatus = from;
      for (const { before, after } of moves) {
        assert.equal(before, now, `${from}, ${name}`);
        assert.ok(agentStates.allows(before, after), `${name}: ${before} → ${after}`);
        now = after;
      }
      assert.equal(await at.status(), now, `${from}, ${name}: no move without its event`);
    }
  }
});

test('an agent without a heartbeat is unknown within 15 s, and running again at its next sign of life', async () => {
  const { agent, shown, status } = await place();
  const instance = await connected(agent);
  const at = async () => {
    await server.sweep();
    const { agentStatus, connected: isConnected } = await shown();
    return [agentStatus, isConnected];
  };
  server.clock.advance(8);
  await instance.claim();
  server.clock.advance(12);
  assert.deepEqual(await at(), ['running', true]);
  server.clock.advance(2);
  assert.deepEqual(await at(), ['unknown', false]);
  await instance.heartbeat();
  assert.deepEqual(await at(), ['running', true]);
  server.clock.advance(14);
  await server.sweep();
  await instance.claim();
  assert.equal(await status(), 'running');
});

test('an agent that shuts down is stopping while it finishes its work, then stopped', async () => {
  const { agent, status, enqueue } = await place();
  await enqueue();
  const instance = await connected(agent);
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  assert.equal(await instance.goodbye('stopping'), 'stopping');
  server.clock.advance(5);
  assert.equal((await instance.heartbeat(work))[0]?.state, 'held');
  assert.equal(await status(), 'stopping');
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  assert.equal(await instance.goodbye('stopped'), 'stopped');
  assert.equal(await instance.goodbye('stopped'), 'stopped', 'a repeated goodbye');
  server.clock.advance(20);
  await server.sweep();
  assert.equal(await status(), 'stopped');
});

test('with several instances the last one determines the status', async () => {
  const { agent, status } = await place();
  const [one, other, third] = [await connected(agent), await connected(agent), await connected(agent)];
  assert.equal(await one.goodbye('stopping'), 'running');
  assert.equal(await one.goodbye('stopped'), 'running');
  assert.equal(await other.goodbye('stopping'), 'running');
  // The third is killed.
  server.clock.advance(10);
  await other.heartbeat();
  server.clock.advance(4);
  await server.sweep();
  assert.equal(await other.goodbye('stopping'), 'stopping');
  assert.equal(await other.goodbye('stopped'), 'stopped');
  await third.claim();
  assert.equal(await status(), 'running', 'it was alive');
});

test('two instances that stop at the same moment leave a stopped agent', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { agent, status } = await place();
    const instances = await Promise.all([1, 2, 3, 4].map(() => connected(agent)));
    await Promise.all(
      instances.map(async (each) => {
        await each.goodbye('stopping');
        await each.goodbye('stopped');
      }),
    );
    assert.equal(await status(), 'stopped');
  }
});

test('PAUSE lets running work end and keeps the rest queued; RESUME continues', async () => {
  const { agent, status, command, enqueue } = await place();
  const instance = await connected(agent);
  await enqueue();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await command('PAUSE');
  await enqueue();
  assert.deepEqual((await instance.claim()).work, []);
  await server.sweep();
  assert.equal(await status(), 'pausing');
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  await server.sweep();
  assert.equal(await status(), 'paused');
  await command('PAUSE');
  assert.equal(await status(), 'paused');
  assert.deepEqual((await instance.claim()).work, []);
  const waiting = instance.claim(1, 25);
  await command('RESUME');
  assert.equal((await waiting).work.length, 1, 'at once');
  assert.equal(await status(), 'running');
});

test('pausedUntil is returned while the agent is paused, and resumes it at that time', async () => {
  const { account, agent, path, shown, command, enqueue } = await place();
  const instance = await connected(agent);
  const until = (seconds: number) => new Date(server.clock.now().getTime() + seconds * 1_000).toISOString();
  const pausedUntil = until(60);
  await command('pause', { pausedUntil });
  await server.sweep();
  const { agentStatus, ...paused } = await shown();
  assert.deepEqual([agentStatus, paused.pausedUntil], ['paused', pausedUntil]);
  await enqueue();
  server.clock.advance(59);
  await instance.heartbeat();
  await server.sweep();
  assert.deepEqual((await instance.claim()).work, []);
  server.clock.advance(1);
  await server.sweep();
  assert.deepEqual([(await shown()).agentStatus, (await shown()).pausedUntil], ['running', undefined]);
  assert.equal((await instance.claim()).work.length, 1);
  const refused = await account.admin.post(`${path}/commands`, { command: 'PAUSE', pausedUntil: until(-1) });
  requireProblem(refused, 422, 'paused-until-in-the-past');
});

test('an agent that is paused while disconnected is paused when it connects', async () => {
  const { agent, status, command, enqueue } = await place();
  await command('PAUSE');
  assert.equal(await status(), 'pending');
  await enqueue();
  const instance = await connected(agent);
  assert.equal(await status(), 'pausing');
  assert.deepEqual((await instance.claim()).work, []);
  server.clock.advance(14);
  await server.sweep();
  assert.equal(await status(), 'unknown');
  await command('RESUME');
  assert.equal(await status(), 'unknown');
  assert.equal((await instance.claim()).work.length, 1);
  assert.equal(await status(), 'running');
});

test('RESTART is sent to each instance until it has stopped, and it gets no work meanwhile', async () => {
  const { agent, status, command, enqueue } = await place();
  const one = await connected(agent);
  const waiting = one.claim(1, 25);
  await command('RESTART');
  assert.equal((await waiting).agentCommand, 'restart', 'at once');
  await enqueue();
  const { work, agentCommand } = await one.claim();
  assert.deepEqual([work, agentCommand], [[], 'restart']);
  const { body } = await agent.client.post<{ agentCommand?: string }>('/heartbeats', {
    instanceId: one.instanceId,
    held: [],
  });
  assert.equal(body.agentCommand, 'restart');
  assert.equal(await one.goodbye('stopping'), 'stopping');
  assert.equal(await one.goodbye('stopped'), 'stopped');
  const next = await connected(agent);
  const claimed = await next.claim();
  assert.deepEqual([claimed.work.length, claimed.agentCommand], [1, undefined]);
  assert.equal(await status(), 'running');
});

test('RESTART is refused without a connected instance that supports it', async () => {
  const { account, agent, path, enqueue } = await place();
  const restart = () => account.admin.post(`${path}/commands`, { command: 'RESTART' });
  requireProblem(await restart(), 409, 'agent-cannot-restart');
  const older = createInstance(agent);
  await older.hello({ abilities: ['pipeline-execution'], agentVersion: '0.0.1' });
  requireProblem(await restart(), 409, 'agent-cannot-restart');
  await enqueue();
  assert.equal((await older.claim()).work.length, 1, 'it continues to work');
  requireProblem(await account.admin.post(`${path}/commands`, { command: 'DANCE' }), 422, 'unknown-word');
});

test('an instance gets only the kinds of work that it announced, whether older or newer than the server', async () => {
  const { agent, enqueue } = await place();
  await enqueue();
  const other = createInstance(agent);
  await other.hello({ abilities: ['a kind of tomorrow'], agentVersion: '99.0.0', protocolVersions: [1, 2] });
  assert.deepEqual((await other.claim()).work, []);
  const older = createInstance(agent);
  await older.hello({ abilities: ['pipeline-execution'], agentVersion: '0.0.1' });
  assert.equal((await older.claim()).work.length, 1);
});
