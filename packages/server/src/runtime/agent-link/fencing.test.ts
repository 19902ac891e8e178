/**
 * Leases and epochs under random interleavings: several instances of one agent claim, send heartbeats and
 * reports, and fall silent while time passes and the server sweeps. A model records the owner of each work
 * and its last sign of life.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionStatus, WorkItem } from '@headgate/contract';
import { roundsOr } from '@headgate/contract/testing/rounds';
import fc from 'fast-check';
import { createInstance, type Instance, type Said } from '../../../testing/agent.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({
  settings: { HEADGATE_QUEUE_LIMIT_SECONDS: '300', HEADGATE_RUN_LIMIT_SECONDS: '200' },
});
const { queueLimitSeconds, runLimitSeconds, graceSeconds, leaseSeconds } = server.deps.times;
const account = await server.account();
const project = await account.project();
await upload(account.admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }]);
const executions = `${project.path}/pipeline-executions`;
const outcomes = new Set<ExecutionStatus>(['SUCCESS', 'FAILED', 'CANCELLED']);

const statusOf = async (id: string) =>
  (await account.admin.get<{ status: ExecutionStatus }>(`${executions}/${id}/status`)).body.status;
const seconds = () => server.clock.now().getTime() / 1_000;

/** The model of one work: its newest epoch, whether its owner released it, and its last sign of life. */
interface Known {
  epoch: number;
  owner: number;
  open: boolean;
  reported: number;
  heard: number;
}

interface Round {
  instances: Instance[];
  hands: WorkItem[][];
  known: Map<string, Known>;
  ids: string[];
  agentId: string;
}

async function start(round: Round): Promise<void> {
  const body = { pipelineName: 'main', environmentName: 'dev', agentId: round.agentId };
  const answer = await account.admin.post<{ pipelineExecutionId: string }>(executions, body);
  round.ids.push(answer.body.pipelineExecutionId);
}

async function claim({ instances, hands, known }: Round, index: number, max: number): Promise<void> {
  const { work } = (await instances[index]?.claim(max)) ?? { work: [] };
  for (const item of work) {
    const before = known.get(item.workId);
    assert.equal(item.epoch, (before?.epoch ?? 0) + 1, 'each epoch is used once, and epochs rise by one');
    if (before?.open) {
      assert.equal(before.reported, 0, 'work that was begun was given to another instance');
      assert.ok(seconds() - before.heard >= leaseSeconds + graceSeconds, 'its owner could still return');
    }
    known.set(item.workId, { epoch: item.epoch, owner: index, open: true, reported: 0, heard: seconds() });
    hands[index]?.push(item);
  }
}

async function beat({ instances, hands, known }: Round, index: number): Promise<void> {
  for (const answer of (await instances[index]?.heartbeat(...(hands[index] ?? []))) ?? []) {
    if (answer.state === 'lost') continue;
    const work = known.get(answer.workId);
    assert.ok(
      work?.open && work.epoch === answer.epoch && work.owner === index,
      'held by an instance that does not own it',
    );
    work.heard = seconds();
  }
}

const sayings: Record<'started' | 'completed' | 'released' | 'again', Said> = {
  started: { type: 'started' },
  completed: { type: 'completed', outcome: { status: 'SUCCESS' } },
  released: { type: 'released', reason: 'so' },
  again: { type: 'started' },
};

async function report(round: Round, index: number, which: number, what: keyof typeof sayings): Promise<void> {
  const hand = round.hands[index] ?? [];
  const item = hand[which % Math.max(1, hand.length)];
  const work = item === undefined ? undefined : round.known.get(item.workId);
  const instance = round.instances[index];
  if (item === undefined || work === undefined || instance === undefined) return;
  const before = await statusOf(item.workId);
  const repeated = what === 'again' && work.epoch === item.epoch && work.reported > 0;
  const result = await instance.report(item, sayings[what], what === 'again' ? 1 : undefined);
  if (item.epoch !== work.epoch) assert.ok(!result.accepted, 'a report of an old epoch was accepted');
  if (!work.open && !repeated) assert.ok(!result.accepted, 'a report of released or ended work was accepted');
  if (!result.accepted || outcomes.has(before) || repeated) {
    assert.equal(await statusOf(item.workId), before, 'a refused report changed the status');
    return;
  }
  work.heard = seconds();
  work.reported += 1;
  if (what === 'completed' || what === 'released') work.open = false;
  if (what === 'completed') assert.equal(await statusOf(item.workId), 'SUCCESS');
}

async function cancel({ ids }: Round, which: number, forceUpdate: boolean): Promise<void> {
  const id = ids[which % Math.max(1, ids.length)];
  if (id === undefined) return;
  const answer = await account.admin.patch(`${executions}/${id}`, { status: 'CANCELLED', forceUpdate });
  assert.ok(answer.status === 200 || answer.problem.code === 'execution-ended', answer.text);
}

async function pass(by: number): Promise<void> {
  server.clock.advance(by);
  await server.sweep();
}

async function together(round: Round): Promise<void> {
  await Promise.all([
    claim(round, 0, 2),
    claim(round, 1, 2),
    server.sweep(),
    claim(round, 2, 2),
    beat(round, 0),
  ]);
}

type Action = (round: Round) => Promise<void>;
const shown = (name: string, act: Action): Action => Object.assign(act, { toString: () => name });
const index = fc.nat({ max: 2 });
const saying = fc.constantFrom('started', 'completed', 'released', 'released', 'again');
const action = fc.oneof(
  { weight: 2, arbitrary: fc.constant(shown('start', start)) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(index, fc.integer({ min: 1, max: 3 }))
      .map(([by, max]) => shown(`claim(${by}, ${max})`, (round) => claim(round, by, max))),
  },
  { weight: 2, arbitrary: index.map((by) => shown(`beat(${by})`, (round) => beat(round, by))) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(index, fc.nat({ max: 9 }), saying)
      .map(([by, which, what]) =>
        shown(`report(${by}, ${which}, ${what})`, (round) => report(round, by, which, what)),
      ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat({ max: 9 }), fc.boolean())
      .map(([which, forced]) =>
        shown(`cancel(${which}, ${forced})`, (round) => cancel(round, which, forced)),
      ),
  },
  {
    weight: 2,
    arbitrary: fc.integer({ min: 1, max: 40 }).map((by) => shown(`pass(${by})`, () => pass(by))),
  },
  { weight: 1, arbitrary: fc.constant(shown('together', together)) },
);

test('each epoch has one owner, reports of old epochs are refused, and all work ends within its limits', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60, size: 'max' }), async (actions) => {
      const agent = await account.agent();
      const instances = [createInstance(agent), createInstance(agent), createInstance(agent)];
      const round: Round = {
        instances,
        hands: [[], [], []],
        known: new Map(),
        ids: [],
        agentId: agent.agentId,
      };
      for (let first = 0; first < 3; first += 1) await start(round);
      for (const act of actions) await act(round);
      // All instances die.
      const bound = queueLimitSeconds + runLimitSeconds + 2 * graceSeconds + leaseSeconds;
      for (let passed = 0; passed < bound; passed += 20) await pass(20);
      for (const id of round.ids) assert.ok(outcomes.has(await statusOf(id)), `${id} never ended`);
    }),
    { numRuns: roundsOr(12) },
  );
});
