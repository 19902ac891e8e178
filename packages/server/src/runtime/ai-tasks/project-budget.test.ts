/** AI tasks in the consumption and in the budget of their project. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Budget, ConsumptionPeriod } from '@headgate/contract';
import { listMessages, startAiScene } from '../../../testing/ai-task-scene.ts';
import { requireProblem } from '../../../testing/client.ts';
import { countConsumption } from '../../records/consumption/counting.ts';

// One credit for each turn.
const scene = await startAiScene({
  settings: { HEADGATE_PRICES: '{"ai": {"perRun": 1, "perMillionInputTokens": 1000000}}' },
});
const { admin, model, project, server } = scene;
after(() => assert.deepEqual(model.faults, []));
const budget = `${project.path}/budget`;

async function readConsumption() {
  while ((await countConsumption(server.deps)) > 0);
  const { results } = (
    await admin.get<{ results: ConsumptionPeriod[] }>(
      `/consumption?consumedFrom=${dayAt(-1)}&consumedBefore=${dayAt(2)}`,
    )
  ).body;
  return results.flatMap(({ consumption }) => consumption);
}

const dayAt = (days: number) =>
  new Date(server.clock.now().getTime() + days * 86_400_000).toISOString().slice(0, 10);

test('the turns of a task and their tokens are counted', async () => {
  model.play(() => ({ text: 'Done.' }));
  await scene.settled(await scene.create('Do it.'));
  const [entry, ...others] = await readConsumption();
  assert.deepEqual(others, []);
  assert.deepEqual([entry?.consumptionType, entry?.dimensions.projectId], ['ai', project.projectId]);
  assert.equal(entry?.units.runs, 1);
  const tokens = entry?.units.inputTokens ?? 0;
  assert.ok(tokens > 0 && (entry?.units.outputTokens ?? 0) > 0);
  assert.equal(entry?.credits, 1 + tokens);
});

test('a task ends when its project has spent its budget, and none begins', async () => {
  model.play(() => ({ calls: [{ name: 'look', input: { text: 'again' } }] }));
  const path = await scene.create('Loop.');
  scene.tools.during = async () => {
    const body = { monthlyCredits: 0, warnAt: 0, stopAt: 0 };
    assert.equal((await admin.send<Budget>('PUT', budget, { body })).status, 200);
  };
  const before = model.requests.length;
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.equal(model.requests.length - before, 1);
  const last = (await listMessages(admin, path)).at(-1);
  assert.ok(last?.type === 'state');
  assert.match(last.reason, /its budget stops starts at 0/);
  requireProblem(await admin.post(`${path}/messages`, { message: 'Go on.' }), 409, 'budget-exceeded');
  await admin.delete(budget);
  scene.tools.during = () => undefined;
  model.play(() => ({ text: 'Done.' }));
  assert.equal((await admin.post(`${path}/messages`, { message: 'Go on.' })).status, 200);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
});
