/** HEAD and OPTIONS of every path, and 405 for other methods. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { operations } from '@headgate/contract';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { examples } from '../../../testing/guards.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';
import { renderRoutePath } from '../../kernel/endpoint/endpoint.ts';

const server = await startTestServer();
const anonymous = createClient(server.transport, '', async () => undefined);

test('HEAD of every GET returns its status and headers without a body', async () => {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  const reads = operations.filter(({ method, surface }) => method === 'GET' && surface === 'dpc');
  assert.ok(reads.length > 10);
  for (const { id, problems } of reads) {
    const make = async () => {
      const example = await examples[id]?.(place);
      assert.ok(example, id);
      return example;
    };
    const example = await make();
    const { path, ...asked } = example;
    const got = await admin.get(path, asked);
    // The agent of an example answers one request only.
    const asksAgent = problems.includes('warehouse-query-timeout');
    const again = asksAgent ? await make() : example;
    const head = await admin.send('HEAD', again.path, asked);
    assert.deepEqual([id, head.status, head.text], [id, got.status, '']);
    if (asksAgent) continue;
    for (const name of ['etag', 'content-type', 'content-length'])
      assert.equal(head.headers[name], got.headers[name], `${id} ${name}`);
  }
  for (const path of [
    '/openapi.json',
    '/.well-known/jwks.json',
    '/livez',
    '/readyz',
    '/problems/not-found',
  ]) {
    const [got, head] = [await anonymous.get(path), await anonymous.send('HEAD', path)];
    assert.deepEqual([path, head.status, head.text], [path, got.status, '']);
    assert.equal(head.headers['content-length'], got.headers['content-length'], path);
  }
});

test('OPTIONS of every path lists its methods, without a token', async () => {
  const byPath = Map.groupBy(operations, renderRoutePath);
  for (const [path, list] of byPath) {
    const answer = await anonymous.send('OPTIONS', path.replaceAll(/:\w+/g, 'x'));
    assert.equal(answer.status, 204, path);
    const methods = (answer.headers.allow ?? '').split(', ');
    for (const { method } of list) assert.ok(methods.includes(method), `${method} ${path}: ${methods}`);
    assert.equal(
      methods.includes('HEAD'),
      list.some(({ method }) => method === 'GET'),
      path,
    );
  }
  const allow = async (path: string) => (await anonymous.send('OPTIONS', path)).headers.allow;
  assert.equal(await allow('/oauth/dpc/token'), 'OPTIONS, POST');
  assert.equal(await allow('/openapi.json?x=1'), 'GET, HEAD, OPTIONS');
});

test('OPTIONS * gets 204, and OPTIONS of an unknown path 404', async () => {
  const { hostname, port } = new URL(await server.listen());
  const socket = connect(Number(port), hostname);
  socket.write('OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  const answer = (await socket.toArray()).join('');
  assert.match(answer, /^HTTP\/1.1 204 /);
  requireProblem(await anonymous.send('OPTIONS', '/dpc/v1/nothing'), 404, 'path-not-found');
});

test('a path without /dpc gets 404 with the right path', async () => {
  const detail = async (method: string, path: string) =>
    requireProblem(await anonymous.send(method, path), 404, 'path-not-found').detail;
  const agents = 'There is nothing at this path. Did you mean /dpc/v1/agents?';
  assert.equal(await detail('GET', '/v1/agents'), agents);
  assert.equal(await detail('POST', '/v1/agents?page=1'), agents);
  for (const path of ['/v1/nothing', '/dpc/agents', '/v1'])
    assert.equal(await detail('GET', path), 'There is nothing at this path.', path);
});

test('paths outside the API refuse other methods with 405 and `Allow`', async () => {
  for (const [method, path, allow] of [
    ['DELETE', '/openapi.json', 'GET, HEAD, OPTIONS'],
    ['GET', '/oauth/dpc/token', 'OPTIONS, POST'],
    ['PUT', '/problems/not-found', 'GET, HEAD, OPTIONS'],
    ['POST', '/.well-known/jwks.json', 'GET, HEAD, OPTIONS'],
  ] as const) {
    const answer = await anonymous.send(method, path);
    requireProblem(answer, 405, 'method-not-allowed');
    assert.equal(answer.headers.allow, allow, path);
  }
});
