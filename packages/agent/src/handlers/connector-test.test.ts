import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ConnectorTestResult, WorkOf } from '@headgate/contract';
import { ConnectorTestResult as ResultSchema } from '@headgate/contract';
import { parseEgressAllow } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import { Check } from 'typebox/value';
import { startFakeApi } from '../../testing/fake-api.ts';
import { createConnectors } from '../connectors/connectors.ts';
import { createLog } from '../log.ts';
import { createConnectorTestHandler } from './connector-test.ts';

const api = await startFakeApi();
after(() => api.close());
const refuse = () => Promise.reject(new Error('there is none'));
const connectors = createConnectors({
  controlPlane: { connectorOauth: refuse, connectorOauthProblem: refuse },
  instanceId: '00000000-0000-4000-8000-000000000001',
  vaults: { find: () => undefined },
  allow: parseEgressAllow(['127.0.0.1']),
  time: {
    now: () => performance.now(),
    sleep: async () => undefined,
    timeout: AbortSignal.timeout,
    random: () => 0,
  },
});
const handle = createConnectorTestHandler({
  connectors,
  secretReferences: {
    readCloud: () => assert.fail('no cloud'),
    async read(_work, name) {
      if (name !== 'token') throw new Error(`the secret reference "${name}" does not exist`);
      return new Secret('correct-token');
    },
  },
  log: createLog({ level: 'error', write: () => undefined }),
});

const endpoint = {
  name: 'Orders',
  url: `${api.origin}/shops/{shop}/orders`,
  auth: 'BEARER',
  paging: { type: 'page', sizeParameter: 'size', size: 500 },
  structure: { repeatingElementPath: 'data' },
};

async function run(
  more: object = {},
  connection: object = { token: 'token' },
  timeoutSeconds = 30,
): Promise<ConnectorTestResult> {
  const payload = {
    projectId: '00000000-0000-4000-8000-00000000000a',
    environmentName: 'dev',
    connectorKind: 'flex',
    profileName: 'Shop',
    endpoint: { ...endpoint, ...more },
    parameters: { uriParameters: { shop: 'a/b' }, queryParameters: { status: 'open' } },
    connection,
    timeoutSeconds,
  };
  const never = new AbortController().signal;
  const work = { workId: 'w', epoch: 1, leaseExpiresAt: '', kind: 'connector-test', payload };
  const context = {
    reportStarted: async () => undefined,
    conceal: () => undefined,
    kill: never,
    cancel: never,
  };
  const outcome = await handle(work as unknown as WorkOf<'connector-test'>, context as never);
  const result = JSON.parse(outcome.connectorTest ?? '');
  assert.ok(Check(ResultSchema, result), JSON.stringify(result));
  assert.ok(!outcome.connectorTest?.includes('correct-token'), outcome.connectorTest);
  return result;
}

test('a test shows the request without secrets, the first rows, and the structure', async () => {
  api.answer((request, response) => {
    assert.equal(request.headers.authorization, 'Bearer correct-token');
    response.setHeader('x-echo', request.headers.authorization ?? '');
    return { data: Array.from({ length: 30 }, (_, id) => ({ id, who: request.headers.authorization })) };
  });
  const result = await run();
  assert.equal(result.status, 200);
  assert.equal(result.request.url, `${api.origin}/shops/a%2Fb/orders?status=open&size=20&page=1`);
  assert.equal(result.request.headers.authorization, 'Bearer ***');
  assert.equal(result.headers['x-echo'], 'Bearer ***');
  assert.equal(result.rows.length, 20);
  assert.deepEqual(result.rows[1], { id: 1, who: 'Bearer ***' });
  assert.deepEqual(result.structure?.repeatingElementPath, ['data']);
  assert.equal(result.problem, undefined);
});

test('a refusal, HTML, another structure and an unreachable server are problems in words', async () => {
  api.answer((_, response) => {
    response.statusCode = 404;
    return { message: 'no such shop correct-token' };
  });
  const missing = await run();
  assert.equal(missing.status, 404);
  assert.match(missing.problem ?? '', /answered 404 \(correct the address/);
  api.answer((_, response) => void response.setHeader('content-type', 'text/html').end('<html>'));
  assert.match((await run()).problem ?? '', /not JSON \(text\/html\)/);
  api.answer(() => ({ items: [] }));
  assert.match((await run()).problem ?? '', /the response has no "data"; it has "items"/);
  assert.match(
    (await run({ url: 'http://127.0.0.1:9/{shop}' })).problem ?? '',
    /cannot be reached \(ECONNREFUSED\)/,
  );
  assert.match(
    (await run({ url: 'https://10.0.0.1/{shop}' })).problem ?? '',
    /10\.0\.0\.1 is in a private range/,
  );
});

test('large rows are left out, and it is said', async () => {
  api.answer(() => ({ data: Array.from({ length: 20 }, () => ({ text: 'x'.repeat(50_000) })) }));
  const result = await run();
  assert.equal(result.truncated, true);
  assert.ok(result.rows.length > 0 && result.rows.length < 20);
});

test('a secret that cannot be read fails the work', async () => {
  await assert.rejects(run({}, { token: 'other' }), /the secret reference "other" does not exist/);
});

test('a test ends in time, also if the server hangs or asks for a long pause', async () => {
  api.answer(() => undefined);
  assert.match((await run({}, { token: 'token' }, 1)).problem ?? '', /the test was not complete after 1 s/);
});
