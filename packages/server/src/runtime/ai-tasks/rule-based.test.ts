/** A server without a model: the rule-based assistant. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listKinds, listMessages, startAiScene } from '../../testing/ai-task-scene.ts';

const scene = await startAiScene({ hasModel: false });

test('the pipelines are listed, and the answer is the last message of a stopped task', async () => {
  const path = await scene.create('List the pipelines, please.');
  const task = await scene.settled(path);
  assert.equal(task.status, 'STOPPED');
  assert.equal(task.assistant, 'rule-based assistant');
  const messages = await listMessages(scene.admin, path);
  assert.deepEqual(listKinds(messages), ['user', 'tool-call', 'tool-result', 'assistant']);
  const last = messages.at(-1);
  assert.ok(last?.type === 'assistant');
  assert.match(last.text, /^I am the rule-based assistant.*daily\/load\.orch\.yaml/s);
});

test('another instruction is answered with what the assistant understands', async () => {
  const path = await scene.create('Write a poem.');
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  const last = (await listMessages(scene.admin, path)).at(-1);
  assert.ok(last?.type === 'assistant');
  assert.match(last.text, /I understand these instructions:\n- list the pipelines/);
  assert.equal(scene.model.requests.length, 0);
});
