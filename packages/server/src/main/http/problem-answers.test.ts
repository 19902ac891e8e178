/** Problems before any operation is reached, and the pages that explain problems. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { type ProblemCode, ProblemDetail, problemMeanings, problems } from '@headgate/contract';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const listening = server.listen();
const anonymous = createClient(server.transport, '', async () => undefined);
const html = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

/** Sends these bytes, and returns everything that the server sends until it closes the connection. */
async function said(bytes: string): Promise<string> {
  const { hostname, port } = new URL(await listening);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
  });
  socket.write(bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

for (const [what, bytes, code] of [
  ['is not HTTP', 'nonsense\r\n\r\n', 'malformed-request'],
  ['has an unknown method', 'FETCH / HTTP/1.1\r\nhost: x\r\n\r\n', 'malformed-request'],
  [
    'has two lengths',
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
    'malformed-request',
  ],
  [
    'has headers without end',
    `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
    'headers-too-large',
  ],
] as const) {
  test(`a request that ${what} gets a problem, and the connection ends`, async () => {
    const answer = await said(bytes);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    assert.match(head, new RegExp(`^HTTP/1.1 ${problems[code].status} `), answer);
    assert.match(head, /content-type: application\/problem\+json/);
    assert.match(head, /connection: close/);
    assert.match(head, /x-content-type-options: nosniff/);
    const detail = JSON.parse(body) as ProblemDetail;
    for (const member of ProblemDetail.required) assert.ok(member in detail, member);
    assert.equal(detail.code, code);
    assert.ok(head.includes(`x-request-id: ${detail.traceId}`));
  });
}

test('the type of a problem is a URL, with HTML for people and JSON for programs', async () => {
  const { type } = requireProblem(await anonymous.get('/dpc/v1/projects'), 401, 'token-required');
  const path = new URL(type).pathname;
  const page = await anonymous.get(path, html);
  assert.match(page.headers['content-type'] ?? '', /^text\/html/);
  assert.match(page.text, /<h1>401 Unauthorized<\/h1>/);
  assert.match(
    page.text,
    /<li id="token-required"><code>token-required<\/code>: The request has no bearer token/,
  );
  const data = await anonymous.get<{ codes: { code: string }[] }>(path);
  assert.match(data.headers['content-type'] ?? '', /^application\/json/);
  assert.deepEqual(
    data.body.codes.map(({ code }) => code),
    ['token-required', 'token-invalid', 'session-invalid', 'git-password-required', 'git-password-refused'],
  );
  for (const { headers } of [page, data]) assert.equal(headers.vary, 'Accept');
});

test('all types are listed with their codes, and every code has an explanation', async () => {
  interface Listed {
    type: string;
    codes: { code: string; when: string }[];
  }
  const { body } = await anonymous.get<Listed[]>('/problems');
  assert.deepEqual(
    body.flatMap(({ codes }) => codes.map(({ code }) => code)).sort(),
    Object.keys(problems).sort(),
  );
  for (const { type } of body) assert.equal((await anonymous.get(new URL(type).pathname)).status, 200);
  const index = await anonymous.get('/problems', html);
  assert.match(index.text, /<a href="[^"]*\/problems\/not-found">404 Not Found<\/a>/);
  for (const { code, when } of body.flatMap(({ codes }) => codes))
    assert.equal(when, problemMeanings[code as ProblemCode]);
  requireProblem(await anonymous.get('/problems/nothing'), 404, 'path-not-found');
});

test('a client that disconnects during its body is not reported as a database failure', async () => {
  const { hostname, port } = new URL(await listening);
  const socket = connect(Number(port), hostname);
  const head = 'POST /oauth/dpc/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded';
  const before = server.logLines.length;
  socket.write(`${head}\r\nContent-Length: 100\r\n\r\ngra`);
  const [, answer] = await once(server.app.server, 'request');
  socket.destroy();
  await once(answer, 'close');
  assert.equal((await anonymous.get('/livez')).status, 200, 'the server has handled the failure');
  const logged = server.logLines.slice(before).map((line) => JSON.parse(line));
  assert.deepEqual(
    logged.filter(({ level }) => level >= 50),
    [],
  );
});
