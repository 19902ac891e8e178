/** Stopping a task while it works, and budgets of an account. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AiTask } from '@headgate/contract';
import { listKinds, listMessages, startAiScene } from '../../../testing/ai-task-scene.ts';
import { requireProblem } from '../../../testing/client.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { ToolFault } from '../ai-tools/index.ts';

const scene = await startAiScene({
  settings: {
    HEADGATE_AI_STOP_SECONDS: '0',
    HEADGATE_AI_ACCOUNT_TURNS: '40',
    HEADGATE_AI_INPUT_PRICE: '300',
    HEADGATE_AI_OUTPUT_PRICE: '1500',
  },
});
const { admin, model, tools, server } = scene;
after(() => assert.deepEqual(model.faults, []));

const look = { name: 'look', input: { text: 'a' } };

async function listResults(path: string) {
  return (await listMessages(admin, path)).filter((message) => message.type === 'tool-result');
}

test('a stop ends a turn that does not end by itself', async () => {
  const gate = Promise.withResolvers<void>();
  model.play([{ text: 'Too late.', until: gate.promise }]);
  const asked = model.requests.length;
  const path = await scene.create('Work.');
  await scene.runner.look();
  await waitUntil('the model is asked', 120, () => model.requests.length > asked);
  assert.equal((await admin.post(`${path}/stop`)).status, 202);
  const task = await scene.settled(path);
  gate.resolve();
  assert.equal(task.status, 'STOPPED');
  const messages = await listMessages(admin, path);
  assert.deepEqual(messages.at(-1), {
    type: 'state',
    status: 'STOPPED',
    reason: 'The task was stopped on request.',
  });
  assert.deepEqual(listKinds(messages), ['user', 'state']);
});

test('a stop aborts a tool that does not end by itself, and the transcript says so', async () => {
  const begun = Promise.withResolvers<void>();
  tools.during = async () => {
    begun.resolve();
    await new Promise(() => undefined);
  };
  model.play([{ calls: [look, look] }]);
  const path = await scene.create('Look.');
  await scene.runner.look();
  await begun.promise;
  assert.equal((await admin.post(`${path}/stop`)).status, 202);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  tools.during = () => undefined;
  const results = await listResults(path);
  assert.deepEqual(
    results.map(({ outcome, text }) => `${outcome}: ${text}`),
    [
      'FAILED: The call was stopped on request and was aborted. Its effect may have happened.',
      'STOPPED: The call was not made, because the task has ended.',
    ],
  );
});

test('a stop aborts the question about a call; a secret in its failure is masked', async () => {
  const begun = Promise.withResolvers<void>();
  tools.beforeQuestion = async () => {
    begun.resolve();
    await new Promise(() => undefined);
  };
  const change = { name: 'change', input: { text: 'a' } };
  model.play([{ calls: [change] }]);
  const path = await scene.create('Change.');
  await scene.runner.look();
  await begun.promise;
  assert.equal((await admin.post(`${path}/stop`)).status, 202);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  tools.beforeQuestion = () => Promise.reject(new ToolFault('password: hunter22 is not a branch'));
  model.play([{ calls: [change] }, { text: 'It cannot be done.' }]);
  const other = await scene.create('Change.');
  assert.equal((await scene.settled(other)).status, 'STOPPED');
  tools.beforeQuestion = () => undefined;
  const [result] = await listResults(other);
  assert.equal(result?.text, 'password: [masked]');
});

test('a stopped task that is resumed knows what was done', async () => {
  model.play([{ calls: [look] }, { text: 'Done.' }, { text: 'As I said.' }]);
  const path = await scene.create('Look.');
  await scene.settle();
  assert.equal((await admin.post(`${path}/messages`, { message: 'And?' })).status, 200);
  await scene.settle();
  const last = model.requests.at(-1);
  assert.deepEqual(
    last?.messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool', 'assistant', 'user'],
  );
});

test('a tool that fails in an unexpected way does not end the task', async () => {
  tools.during = () => Promise.reject(new Error('broken inside'));
  model.play([{ calls: [look] }, { text: 'It does not work.' }]);
  const path = await scene.create('Look.');
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  tools.during = () => undefined;
  const [result] = await listResults(path);
  assert.match(result?.text ?? '', /^The tool failed unexpectedly/);
  assert.doesNotMatch(result?.text ?? '', /broken inside/);
});

test('money is counted by the prices, and the budget of an account refuses new work until the next day', async () => {
  model.play(() => ({ text: 'Done.' }));
  const path = await scene.create('Answer.');
  // 100 tokens for 3.00 and 20 for 15.00 a million.
  assert.equal((await scene.settled(path)).usage.cost, 0.0006);
  model.play(() => ({ calls: [look] }));
  const endless = await scene.create('Loop.');
  assert.equal((await scene.settled(endless)).status, 'STOPPED');
  const last = (await listMessages(admin, endless)).at(-1);
  assert.ok(last?.type === 'state');
  assert.match(
    last.reason,
    /^For today, the account has used up its budget of 40 turns \(HEADGATE_AI_ACCOUNT_TURNS\)/,
  );
  const body = { agentConfig: { name: 'x', projectId: scene.project.projectId }, message: 'x' };
  requireProblem(await admin.post('/ai/agents/tasks', body), 409, 'ai-task-budget');
  requireProblem(await admin.post(`${path}/messages`, { message: 'x' }), 409, 'ai-task-budget');
  server.clock.advance(86_400);
  model.play(() => ({ text: 'A new day.' }));
  assert.equal((await admin.post(`${endless}/messages`, { message: 'Go on.' })).status, 200);
  assert.equal((await admin.get<AiTask>(endless)).body.status, 'RUNNING');
  assert.equal((await scene.settled(endless)).status, 'STOPPED');
});

test('no request that the model server got holds its key or a token of the platform', async () => {
  const token = await admin.token();
  const secrets = ['a key of the model server', token, admin.secret.reveal()];
  assert.ok(model.requests.length > 10);
  for (const { text } of model.requests)
    for (const secret of secrets) assert.ok(!text.includes(secret), 'a secret is in a request');
  for (const line of server.logLines)
    for (const secret of secrets) assert.ok(!line.includes(secret), 'a secret is in the log');
});
