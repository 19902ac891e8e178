import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect } from 'node:net';
import { it } from 'node:test';
import Fastify from 'fastify';
import { createEventStreams } from './event-stream.ts';

const mostOfAccount = 100;

it('does not count a stream whose client left before the stream was opened', async () => {
  const streams = createEventStreams();
  const app = Fastify();
  let left = 0;
  const gone = Promise.withResolvers<void>();
  async function* open(closed: AbortSignal) {
    yield `closed: ${closed.aborted}`;
  }
  app.get('/early', async (_, reply) => {
    await once(reply.raw, 'close');
    try {
      return await streams.send(reply, 'account', async (closed) => open(closed));
    } finally {
      left += 1;
      if (left === mostOfAccount) gone.resolve();
    }
  });
  app.get('/stream', (_, reply) => streams.send(reply, 'account', async (closed) => open(closed)));
  await app.listen({ port: 0, host: '127.0.0.1' });
  try {
    const { port } = app.server.address() as { port: number };
    for (let each = 0; each < mostOfAccount; each += 1) {
      const client = connect(port, '127.0.0.1');
      client.write('GET /early HTTP/1.1\r\nhost: localhost\r\n\r\n', () => client.destroy());
      await once(client, 'close');
    }
    await gone.promise;
    const response = await fetch(`http://127.0.0.1:${port}/stream`);
    assert.equal(response.status, 200);
    assert.equal(await response.text(), 'closed: false');
  } finally {
    await app.close();
  }
});
