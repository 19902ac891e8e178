/**
 * A server is killed at any point of a task, and another one goes on: no tool has its effect twice, none is lost, and
 * the transcript is whole. A killed server is a runner whose database fails from then on, before or after a commit.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AiMessageData } from '@headgate/contract';
import { roundsOr, testSeed } from '@headgate/contract/testing/rounds';
import { type AiScene, createRunner, listMessages, startAiScene } from '../../../testing/ai-task-scene.ts';
import type { ModelRequest, ScriptedAnswer } from '../../../testing/model-server.ts';
import { seededRandom } from '../../../testing/seeded-random.ts';
import { silentLeases } from '../../../testing/server-work.ts';
import type { Database } from '../../kernel/database/database.ts';
import { createLeases } from '../../kernel/work/lease.ts';
import { createLiveTexts } from './store/live-text.ts';

const scene = await startAiScene();
const { admin, model, tools, server } = scene;
after(() => assert.deepEqual(model.faults, []));

class Killed extends Error {}

interface Mortal {
  database: Database;
  /** Dies at this point; each access of the database has one before and one after it. */
  hit(): void;
  points: number;
  /** Waits for what the database was doing at the death. */
  rest(): Promise<void>;
}

function createMortal(real: Database, dieAt: number): Mortal {
  const mortal = { points: 0 } as Mortal;
  mortal.hit = () => {
    mortal.points += 1;
    if (mortal.points >= dieAt) throw new Killed();
  };
  const begun = new Set<Promise<unknown>>();
  mortal.rest = async () => void (await Promise.allSettled(begun));
  const around = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    mortal.hit();
    const working = work();
    begun.add(working);
    const result = await working;
    mortal.hit();
    return result;
  };
  mortal.database = {
    ...real,
    read: (query, parameters) => around(() => real.read(query, parameters)),
    transaction: (work, opening) => around(() => real.transaction(work, opening)),
  };
  return mortal;
}

/** Works on what is due with a server that dies, and lets its lease end. */
async function workUntilKilled({ server: { deps } }: AiScene, dieAt: number): Promise<boolean> {
  const mortal = createMortal(deps.database, dieAt);
  const dying = { database: mortal.database, leases: silentLeases };
  const services = { ...deps, ...deps.ai, ...dying, live: createLiveTexts() };
  const runner = createRunner(services);
  tools.during = () => mortal.hit();
  await runner.look().catch(() => undefined);
  await runner.wait();
  // Until a transaction of a killed server has ended, its task is locked, and no other server takes it.
  await mortal.rest();
  tools.during = () => undefined;
  server.clock.advance(30);
  // These deaths are not the fault of the task, which would be set aside after two of them.
  await server.database.query('update server_work set interruptions = 0');
  return mortal.points >= dieAt;
}

const change = (text: string) => ({ name: 'change', input: { text } });
const look = (text: string) => ({ name: 'look', input: { text } });
const turns: readonly ScriptedAnswer[] = [
  { text: 'I begin.', calls: [change('a'), look('b')] },
  { calls: [look('c'), change('d'), change('e')] },
  { calls: [change('f')] },
  { text: 'Done.' },
];

/** The answer depends on what the model has seen, as that of a real one does. */
function answerBy({ messages }: ModelRequest): ScriptedAnswer {
  const answered = messages.filter(({ role }) => role === 'assistant').length;
  return turns[answered] ?? { text: 'Done.' };
}

function checkTranscript(messages: readonly AiMessageData[]): void {
  const calls = messages.flatMap((message) => (message.type === 'tool-call' ? [message.toolId] : []));
  const results = messages.flatMap((message) => (message.type === 'tool-result' ? [message] : []));
  assert.equal(calls.length, 6, 'each call is in the transcript once');
  assert.deepEqual(
    results.map(({ toolId }) => toolId).toSorted(),
    calls.toSorted(),
    'each call has one result',
  );
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    Array(6).fill('DONE'),
  );
  assert.deepEqual(messages.at(-1)?.type, 'assistant');
}

async function checkRound(kills: readonly number[]): Promise<boolean> {
  tools.effects.clear();
  model.play(answerBy);
  const path = await scene.create('Work.', { grants: [{ toolName: 'change', uses: 4 }] });
  let wasKilled = false;
  for (const dieAt of kills) wasKilled = (await workUntilKilled(scene, dieAt)) || wasKilled;
  let task = await scene.settled(path);
  // A busy machine can interrupt a step of the living server too, which pauses before it goes on.
  for (let pauses = 0; task.status === 'RUNNING' && pauses < 3; pauses += 1) {
    server.clock.advance(30);
    task = await scene.settled(path);
  }
  assert.equal(
    task.status,
    'STOPPED',
    `killed at ${kills.join(', ')}; seed ${testSeed}: ${await show(path)}`,
  );
  checkTranscript(await listMessages(admin, path));
  const effects = [...tools.effects.values()].map(({ text }) => text);
  assert.deepEqual(effects.toSorted(), ['a', 'd', 'e', 'f'], 'each effect happened once');
  assert.deepEqual(task.grantedPermissions, [], 'each use of the grant is counted once');
  return wasKilled;
}

async function show(path: string): Promise<string> {
  const rows = await server.database.query(
    'select due_at, lease_until, attempts from server_work where work_id = $1',
    [path.split('/').at(-1)],
  );
  return JSON.stringify({ now: server.clock.now(), rows });
}

test('killed at random points, several times', async () => {
  const random = seededRandom(testSeed);
  const count = roundsOr(2);
  for (let round = 0; round < count; round += 1) {
    const kills = Array.from({ length: 1 + Math.floor(random() * 3) }, () => 1 + Math.floor(random() * 70));
    await checkRound(kills);
  }
});

test('killed before, in and after the first call', async () => {
  // Finds the points around the call by itself: the tool is hit in between.
  for (const dieAt of [13, 14, 15, 16, 17, 18, 19])
    assert.ok(await checkRound([dieAt]), `point ${dieAt} exists`);
});

test('a server that stops gives its tasks back at once', async () => {
  const stopping = new AbortController();
  const gate = Promise.withResolvers<void>();
  model.play(() => ({ text: 'Done.', until: gate.promise }));
  const path = await scene.create('Wait.');
  const { deps } = server;
  const runner = createRunner({ ...deps, ...deps.ai, live: createLiveTexts(), stopping: stopping.signal });
  await runner.look();
  stopping.abort();
  await runner.wait();
  gate.resolve();
  assert.equal((await scene.settled(path)).status, 'STOPPED', 'another server needs no lease to end');
});

test('two runners never have the same task', async () => {
  model.play(() => ({ text: 'Done.' }));
  const paths = await Promise.all(Array.from({ length: 8 }, () => scene.create('Answer.')));
  const before = model.requests.length;
  const { deps } = server;
  const others = [0, 1].map(() =>
    createRunner({ ...deps, ...deps.ai, leases: createLeases(deps), live: createLiveTexts() }),
  );
  await Promise.all([scene.runner, ...others].map((runner) => runner.look()));
  await Promise.all([scene.runner, ...others].map((runner) => runner.wait()));
  assert.equal(model.requests.length - before, paths.length);
});
