/** A model server that is slow, silent, or does not stream: what is repeated, and what people read. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  modelKey,
  modelName,
  type ScriptedAnswer,
  startModelServer,
} from '../../../../testing/model-server.ts';
import { Secret } from '../../../kernel/security/sealed.ts';
import type { ModelSettings } from './ai-settings.ts';
import { type ModelAnswer, ModelFailed } from './model.ts';
import { createModelClient } from './model-client.ts';
import { createModelFetch } from './model-fetch.ts';

const provider = 'openai';
const server = await startModelServer(provider);
after(async () => {
  await server.close();
  assert.deepEqual(server.faults, []);
});

function ask(limits: Partial<ModelSettings> = {}): Promise<ModelAnswer> {
  const client = createModelClient({
    provider,
    baseUrl: server.address,
    model: modelName,
    apiKey: new Secret(modelKey),
    maxOutputTokens: 100,
    contextTokens: 1_000,
    timeoutSeconds: 60,
    silenceSeconds: 60,
    inputPrice: 0,
    outputPrice: 0,
    ...limits,
  });
  return client.ask({
    instructions: 'Answer.',
    conversation: [{ role: 'user', text: 'Hello.' }],
    tools: [],
    maxOutputTokens: 100,
    signal: new AbortController().signal,
    onBegin: () => undefined,
    onUsage: () => undefined,
    onText: () => undefined,
  });
}

async function requireFailure(
  asking: Promise<ModelAnswer>,
  code: string,
  text: RegExp,
): Promise<ModelFailed> {
  const failure = await asking.then(
    () => assert.fail('there is an answer'),
    (reason: unknown) => reason,
  );
  assert.ok(failure instanceof ModelFailed, String(failure));
  assert.equal(failure.code, code);
  assert.match(failure.message, text);
  return failure;
}

const countRequests = async (asking: () => Promise<unknown>) => {
  const before = server.requests.length;
  await asking();
  return server.requests.length - before;
};

test('one that does not begin to answer is asked again', async () => {
  server.play((_, index) => (index === 0 ? { text: 'Late.', until: delay(3_000) } : { text: 'At once.' }));
  const answer = await ask({ silenceSeconds: 0.5 });
  assert.equal(answer.text, 'At once.');
});

test('one that stops in the middle of an answer is asked again', async () => {
  const over = Promise.withResolvers<void>();
  const stopping: ScriptedAnswer = { text: ['a', 'b', 'c'], untilRest: over.promise };
  server.play((_, index) => (index === 0 ? stopping : { text: 'At once.' }));
  const answer = await ask({ silenceSeconds: 0.5 });
  over.resolve();
  assert.equal(answer.text, 'At once.');
});

test('one that never answers is given up, with the setting', async () => {
  server.play(() => ({ text: 'Late.', until: delay(1_000) }));
  const asking = () =>
    requireFailure(
      ask({ silenceSeconds: 0.1 }),
      'model-unavailable',
      /did not begin to answer within 0\.1 s \(HEADGATE_AI_SILENCE_SECONDS\)/,
    );
  assert.equal(await countRequests(asking), 5);
});

test('an answer that is slow but not silent may take its time, and is not asked for again after it', async () => {
  server.play([{ text: ['x', 'y'], until: delay(1_500), untilRest: delay(3_000) }]);
  assert.equal((await ask({ silenceSeconds: 2.5 })).text, 'xy');
  const over = Promise.withResolvers<void>();
  server.play([{ text: ['x', 'y'], untilRest: over.promise }]);
  const asking = () =>
    requireFailure(
      ask({ silenceSeconds: 10, timeoutSeconds: 0.3 }),
      'model-too-slow',
      /took longer than 0\.3 s \(HEADGATE_AI_TIMEOUT_SECONDS\)/,
    );
  assert.equal(await countRequests(asking), 1);
  over.resolve();
});

test('one that ignores `stream` is named as such, with its words for the log, and not asked again', async () => {
  const body = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Whole.' } }] });
  server.play([{ status: 200, body }]);
  const asking = async () => {
    const { reason } = await requireFailure(
      ask(),
      'model-does-not-stream',
      /answered with application\/json and not with a stream of events: it ignores `stream: true`/,
    );
    assert.equal(reason, body);
  };
  assert.equal(await countRequests(asking), 1);
  server.play([{ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<html>' }]);
  await requireFailure(ask(), 'model-does-not-stream', /HEADGATE_AI_BASE_URL is not its address/);
});

test('one that cannot be reached is named as such', async () => {
  const gone = await startModelServer(provider);
  await gone.close();
  await requireFailure(ask({ baseUrl: gone.address }), 'model-unavailable', /cannot be reached/);
});

test('an answer that is given up leaves no timer behind', async () => {
  const stream = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: x\n\n');
  });
  await new Promise<void>((resolve) => stream.listen(0, '127.0.0.1', resolve));
  const { port } = stream.address() as AddressInfo;
  const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = countTimers();
  const response = await createModelFetch({ silenceSeconds: 60 })(`http://127.0.0.1:${port}`);
  await response.body?.getReader().cancel();
  assert.equal(countTimers(), before);
  stream.closeAllConnections();
  stream.close();
});
