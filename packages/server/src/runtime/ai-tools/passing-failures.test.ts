/** Requests of tools whose failure passes, and tools that are aborted. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { queryWarehouse } from '@headgate/contract';
import Fastify from 'fastify';
import { createQueryingAgent } from '../../../testing/querying-agent.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createToolScene } from '../../../testing/tool-scene.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import type { Tokens } from '../../kernel/security/tokens.ts';
import { createPlatform } from './tool/platform.ts';

const tokens = { issue: async () => 'a token' } as unknown as Tokens;
const actorId = randomUUID();
const members = {
  params: { projectId: randomUUID() },
  body: { environmentName: 'dev', sql: 'select 1' },
};

interface Scripted {
  status: number;
  headers?: Record<string, string>;
}

/** A server that answers by a script, and the keys that it got. */
function createScripted(script: readonly Scripted[]) {
  const keys: unknown[] = [];
  const app = Fastify();
  app.post('*', (request, reply) => {
    const { status, headers = { 'retry-after': '0' } } = script[keys.length] ?? { status: 200 };
    keys.push(request.headers['idempotency-key']);
    return reply
      .code(status)
      .headers(headers)
      .send(status === 200 ? { columns: ['a'], rows: [], isCut: false } : { code: 'x', detail: 'busy' });
  });
  const platform = createPlatform(tokens);
  platform.serve(app);
  const call = (signal = new AbortController().signal) =>
    platform.call(queryWarehouse, { as: { accountId: actorId, actorId }, signal }, members, 'one key');
  return { keys, call };
}

test('429 and 5xx are repeated with the same key', async () => {
  const { keys, call } = createScripted([{ status: 429 }, { status: 503 }, { status: 500 }]);
  assert.deepEqual((await call()).columns, ['a']);
  assert.deepEqual(keys, ['one key', 'one key', 'one key', 'one key']);
});

test('a failure that does not pass ends with words for the model, and a refusal is not repeated', async () => {
  const failing = createScripted(Array.from({ length: 9 }, () => ({ status: 503 })));
  await assert.rejects(failing.call(), /did not answer 5 attempts \(503: busy\)/);
  const refused = createScripted([{ status: 409 }]);
  await assert.rejects(refused.call(), /^Error: busy$/);
  assert.equal(refused.keys.length, 1);
});

test('an abort ends the pause before the next attempt', async () => {
  const { keys, call } = createScripted([{ status: 503, headers: { 'retry-after': '30' } }]);
  const aborting = new AbortController();
  const aborted = assert.rejects(call(aborting.signal));
  await waitUntil('the first attempt', 120, () => keys.length > 0);
  await delay(50);
  aborting.abort();
  await aborted;
  assert.equal(keys.length, 1);
});

const transformation = `type: "transformation"
version: "1.0"
pipeline:
  components:
    Read:
      type: "table-input"
      parameters: { table: cities }
`;

test('a tool that is aborted sends no more requests, and a secret column is masked', async () => {
  const server = await startTestServer();
  const scene = await createToolScene(server, { files: { 'a.tran.yaml': transformation } });
  const agent = await createQueryingAgent(scene.account);
  const answered = agent.answerNext({
    columns: ['city', 'api_key'],
    rows: [
      ['Oslo', 'canary-of-a-row'],
      ['Bergen', null],
    ],
    isCut: false,
  });
  const { text } = await scene.call('query_warehouse', { sql: 'select * from t' });
  await answered;
  assert.equal(text, '["city","api_key"]\n["Oslo","[masked]"]\n["Bergen",null]\n2 rows');
  const aborted = AbortSignal.abort(new Error('stopped'));
  for (const [name, input] of [
    ['query_warehouse', { sql: 'select 1' }],
    ['plan_sql', { path: 'a.tran.yaml' }],
    ['list_runs', {}],
  ] as const)
    await assert.rejects(scene.call(name, input, { signal: aborted }), name);
  const requests = await server.database.query('select from agent_request');
  assert.equal(requests.length, 1);
});
