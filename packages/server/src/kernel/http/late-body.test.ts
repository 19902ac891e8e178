import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import Fastify from 'fastify';
import { cutLateBody } from './late-body.ts';

const app = Fastify();
const cut = cutLateBody(50, (reply) => reply.code(408).send({ error: 'late' }));
app.post('/', { onRequest: cut }, async () => ({ error: 'none' }));
await app.listen({ port: 0, host: '127.0.0.1' });
after(() => app.close());
const { port } = app.server.address() as { port: number };

function send(rest: string) {
  const socket = connect(port, '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${rest}`);
  return socket;
}

test('a body that never ends is answered, and its connection closed', async () => {
  for (const rest of ['content-length: 20\r\n\r\n{', 'transfer-encoding: chunked\r\n\r\n1\r\n{\r\n']) {
    const answer = await text(send(rest));
    assert.match(answer, /^HTTP\/1.1 408 /);
    assert.match(answer, /"late"/);
    assert.match(answer, /connection: close/i);
  }
});

test('a body in time is not', async () => {
  const answer = await text(send('connection: close\r\ncontent-length: 2\r\n\r\n{}'));
  assert.match(answer, /^HTTP\/1.1 200 .*"none"/s);
});
