/** What a model server answers in a wrong form: what people read, what is repeated, and what it costs. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { AiTask } from '@headgate/contract';
import { listMessages, startAiScene } from '../../../testing/ai-task-scene.ts';

const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const done = 'data: [DONE]\n\n';
const usage = { prompt_tokens: 30, completion_tokens: 7, total_tokens: 37 };
const textEvent = event({ choices: [{ index: 0, delta: { content: 'Half.' }, finish_reason: null }] });
const usageEvent = event({ choices: [], usage });

describe('a model server of the shape of OpenAI', async () => {
  const scene = await startAiScene();
  after(() => assert.deepEqual(scene.model.faults, []));

  async function ask(rawStream: string) {
    const before = scene.model.requests.length;
    scene.model.play(() => ({ rawStream }));
    const path = await scene.create('Answer.');
    assert.equal((await scene.settled(path)).status, 'ERRORED');
    const last = (await listMessages(scene.admin, path)).at(-1);
    assert.ok(last?.type === 'error');
    const { usage: used } = (await scene.admin.get<AiTask>(path)).body;
    const { inputTokens, outputTokens } = used;
    const requests = scene.model.requests.length - before;
    return { code: last.code, text: last.text, tokens: [inputTokens, outputTokens], requests };
  }

  for (const { what, stream, words } of [
    {
      what: 'no finish reason',
      stream: textEvent + usageEvent + done,
      words: /ended its answer without a finish reason/,
    },
    {
      what: '`choices` that is null',
      stream: textEvent + event({ choices: null }) + usageEvent + done,
      words: /an event whose `choices` is null, not a list/,
    },
    {
      what: 'an event that is not JSON',
      stream: `${textEvent}data: <html>\n\n${usageEvent}${done}`,
      words: /an event that is not JSON/,
    },
    {
      what: 'an event that is no object',
      stream: event(17) + usageEvent + done,
      words: /an event that is of the type number, not an object/,
    },
    {
      what: 'an error event that would come again',
      stream:
        textEvent +
        event({ error: { message: 'the words', type: 'invalid_request_error', code: 400 } }) +
        usageEvent +
        done,
      words: /ended its answer with an error \(invalid_request_error, 400\)/,
    },
  ])
    test(`${what} is said in words, asked once, and costs what the model server says`, async () => {
      const { code, text, tokens, requests } = await ask(stream);
      assert.match(text, words);
      assert.doesNotMatch(text, /the words|<html>/);
      assert.deepEqual([code, requests, tokens], ['model-answered-wrongly', 1, [30, 7]]);
    });

  test('an error event of a busy model server is repeated, and costs nothing alone', async () => {
    const busy = event({ error: { message: 'busy', type: 'server_error', code: 503 } }) + done;
    const { code, text, tokens, requests } = await ask(busy);
    assert.match(text, /ended each answer with an error \(server_error, 503\)/);
    assert.deepEqual([code, requests, tokens], ['model-unavailable', 5, [0, 0]]);
  });

  test('an error in words only is not called an unknown form', async () => {
    const { code, text } = await ask(event({ error: 'no such model' }) + done);
    assert.match(text, /ended its answer with an error\./);
    assert.equal(code, 'model-answered-wrongly');
  });
});

describe('a model server of the shape of Anthropic', async () => {
  const scene = await startAiScene({ provider: 'anthropic' });
  after(() => assert.deepEqual(scene.model.faults, []));
  const named = (type: string, data: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  const start = named('message_start', {
    message: {
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 30, output_tokens: 1 } },
    },
  });
  const text =
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Half.' } });

  for (const { what, stream, words } of [
    { what: 'no end of the message', stream: start + text, words: /without a finish reason/ },
    { what: 'an unknown event', stream: start + text + event({ type: 'novel' }), words: /not the form/ },
    { what: 'an unknown first event', stream: event({ type: 'novel' }), words: /not the form/ },
    {
      what: 'an error event',
      stream: start + text + named('error', { error: { type: 'billing_error', message: 'no credit' } }),
      words: /ended its answer with an error \(billing_error\)/,
    },
  ])
    test(`${what} is said in words and asked once`, async () => {
      const before = scene.model.requests.length;
      scene.model.play(() => ({ rawStream: stream }));
      const path = await scene.create('Answer.');
      assert.equal((await scene.settled(path)).status, 'ERRORED');
      const last = (await listMessages(scene.admin, path)).at(-1);
      assert.ok(last?.type === 'error');
      assert.match(last.text, words);
      assert.equal(scene.model.requests.length - before, 1);
    });
});
