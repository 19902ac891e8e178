/** Pages of other origins, allowed by HEADGATE_CORS_ORIGINS. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, createClient, requireProblem } from '../../../testing/client.ts';
import type { TestServer } from '../../../testing/open-server.ts';
import { startTestServer } from '../../../testing/server.ts';
import { parseOrigins } from './cors.ts';

const origin = 'https://console.example';
const allowing = (origins: string) => startTestServer({ settings: { HEADGATE_CORS_ORIGINS: origins } });
const server = await allowing(`${origin}, http://localhost:3000`);
const anonymous = (of: TestServer): Client => createClient(of.transport, '', async () => undefined);

/** The preflight request of a browser. */
const preflight = (of: TestServer, path: string, from = origin) =>
  anonymous(of).send('OPTIONS', path, {
    headers: {
      origin: from,
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization,content-type',
    },
  });

const corsHeaders = (headers: object) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

test('a preflight of an allowed origin lists what the page may send', async () => {
  const { status, headers } = await preflight(server, '/dpc/v1/projects/x');
  assert.equal(status, 204);
  assert.equal(headers['access-control-allow-origin'], origin);
  assert.equal(headers['access-control-allow-methods'], 'DELETE, GET, HEAD, OPTIONS, PATCH');
  const allowed = headers['access-control-allow-headers']?.split(', ');
  for (const name of ['authorization', 'content-type', 'if-match', 'idempotency-key', 'environmentname'])
    assert.ok(allowed?.includes(name), name);
  assert.equal(headers['access-control-allow-credentials'], undefined, 'tokens are not cookies');
  assert.equal(headers.vary, 'Origin');
  assert.ok(Number(headers['access-control-max-age']) > 0);
});

test('a page of an allowed origin can read responses and errors, with the headers that it needs', async () => {
  const { admin } = await server.account();
  const headers = { origin };
  const answers = [
    await admin.get('/projects', { headers }),
    await admin.get('/projects?size=x', { headers }),
    await admin.get('/nothing', { headers }),
    await admin.get('/projects/%ff', { headers }),
    await anonymous(server).get('/dpc/v1/projects', { headers }),
    await anonymous(server).get('/.well-known/jwks.json', { headers }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 400, 404, 400, 401, 200],
  );
  for (const answer of answers) {
    assert.equal(answer.headers['access-control-allow-origin'], origin);
    assert.equal(answer.headers.vary, 'Origin');
    const exposed = answer.headers['access-control-expose-headers']?.toLowerCase().split(', ');
    for (const name of ['etag', 'location', 'x-request-id', 'ratelimit', 'ratelimit-policy', 'retry-after'])
      assert.ok(exposed?.includes(name), name);
  }
});

test('a page of another origin gets no CORS headers; responses to programs do not change', async () => {
  for (const from of [
    'https://evil.example',
    'https://console.example:8443',
    'http://console.example',
    'null',
  ]) {
    assert.deepEqual(corsHeaders((await preflight(server, '/dpc/v1/projects', from)).headers), [], from);
  }
  const { admin } = await server.account();
  const { headers } = await admin.get('/projects');
  assert.deepEqual(corsHeaders(headers), []);
  assert.equal(headers.vary, 'Origin', 'a cache must not serve this response to a page');
});

test('the agent protocol has no CORS headers', async () => {
  assert.deepEqual(corsHeaders((await preflight(server, '/agent/v1/hello')).headers), []);
});

test('a page can read the 404 of an unknown path', async () => {
  requireProblem(await preflight(server, '/dpc/v1/nothing'), 404, 'path-not-found');
});

test('by default no other origin is allowed', async () => {
  const closed = await startTestServer();
  const { status, headers } = await preflight(closed, '/dpc/v1/projects');
  assert.equal(status, 204);
  assert.deepEqual([corsHeaders(headers), headers.vary], [[], undefined]);
});

test('* allows every origin', async () => {
  const open = await allowing('*');
  const { headers } = await preflight(open, '/dpc/v1/projects', 'https://anything.example');
  assert.equal(headers['access-control-allow-origin'], '*');
  assert.equal(headers.vary, undefined);
});

test('an origin must be written as browsers write it', async () => {
  assert.deepEqual(parseOrigins('https://a.example,http://127.0.0.1:5173'), [
    'https://a.example',
    'http://127.0.0.1:5173',
  ]);
  for (const bad of [
    'a.example',
    'https://a.example/',
    'https://a.example/x',
    'https://A.example',
    '',
    'null',
  ])
    assert.throws(() => parseOrigins(bad), /is not an origin/, bad);
  await assert.rejects(
    allowing('console.example'),
    /HEADGATE_CORS_ORIGINS: "console.example" is not an origin/,
  );
});
