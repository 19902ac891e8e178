import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect } from 'node:net';
import { it } from 'node:test';
import Fastify from 'fastify';
import { createEventStreams } from './event-stream.ts';

const [mostOfCaller, mostOfAccount] = [20, 100];
const owner = { accountId: 'account', actorId: 'caller' };

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
      return await streams.send(reply, owner, async (closed) => open(closed));
    } finally {
      left += 1;
      if (left === mostOfCaller) gone.resolve();
    }
  });
  app.get('/stream', (_, reply) => streams.send(reply, owner, async (closed) => open(closed)));
  await app.listen({ port: 0, host: '127.0.0.1' });
  try {
    const { port } = app.server.address() as { port: number };
    for (let each = 0; each < mostOfCaller; each += 1) {
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

it('limits the streams of a caller and those of an account', async () => {
  const streams = createEventStreams();
  const app = Fastify();
  async function* open(closed: AbortSignal) {
    yield 'begun';
    await once(closed, 'abort');
  }
  app.get<{ Params: { actorId: string } }>('/:actorId', async ({ params }, reply) => {
    try {
      return await streams.send(reply, { ...owner, actorId: params.actorId }, async (closed) => open(closed));
    } catch (failure) {
      return reply.code(429).send((failure as Error).message);
    }
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const leaving = new AbortController();
  const { port } = app.server.address() as { port: number };
  // Kept, because `fetch` ends the stream of a response that is collected as garbage.
  const kept: Response[] = [];
  async function get(actor: string): Promise<Response> {
    const response = await fetch(`http://127.0.0.1:${port}/${actor}`, { signal: leaving.signal });
    kept.push(response);
    return response;
  }
  try {
    for (let each = 0; each < mostOfCaller; each += 1) assert.equal((await get('greedy')).status, 200);
    const refused = await get('greedy');
    assert.equal(refused.status, 429);
    assert.match(await refused.text(), /^The caller has 20 open streams at this server/);
    for (let each = mostOfCaller; each < mostOfAccount; each += 1)
      assert.equal((await get(`caller ${each % 4}`)).status, 200);
    const last = await get('another caller');
    assert.equal(last.status, 429);
    assert.match(await last.text(), /^The account has 100 open streams at this server/);
    assert.equal(kept.length, mostOfAccount + 2);
  } finally {
    leaving.abort();
    await app.close();
  }
});
