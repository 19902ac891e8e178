import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const { hostname, port } = new URL(await server.listen());

function ask(head: string): Promise<string> {
  const socket = connect(Number(port), hostname);
  socket.write(`${head}\r\n\r\n`);
  return text(socket);
}

test('two Host headers are 400, on every path and whatever their values', async () => {
  for (const line of [
    'GET /openapi.json',
    'GET /dpc/v1/projects',
    'GET /nope',
    'POST /oauth/dpc/token',
    'GET /agent/v1/nope',
  ])
    for (const second of ['Host: a', 'HOST: b']) {
      const answer = await ask(`${line} HTTP/1.1\r\nHost: a\r\n${second}`);
      assert.match(answer, /^HTTP\/1.1 400 .*"malformed-request"/s, line);
      assert.match(answer, /connection: close/i);
    }
});

test('one Host header is enough', async () => {
  const answer = await ask('GET /openapi.json HTTP/1.1\r\nHost: a\r\nX-Host: b\r\nConnection: close');
  assert.match(answer, /^HTTP\/1.1 200 /);
});
