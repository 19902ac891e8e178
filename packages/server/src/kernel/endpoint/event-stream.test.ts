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

it('limits the streams of a caller by what the others of its account leave free', async () => {
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
  const retained: Response[] = [];
  async function get(actor: string): Promise<Response> {
    const response = await fetch(`http://127.0.0.1:${port}/${actor}`, { signal: leaving.signal });
    retained.push(response);
    return response;
  }
  /** Opens as many streams as it may. */
  async function take(actor: string): Promise<{ opened: number; refusal: string }> {
    for (let opened = 0; ; opened += 1) {
      const answer = await get(actor);
      if (answer.status === 429) return { opened, refusal: await answer.text() };
    }
  }
  try {
    const first = await take('greedy');
    assert.equal(first.opened, mostOfCaller);
    assert.match(first.refusal, /^The caller has 20 open streams at this server/);
    const others: number[] = [];
    for (let each = 1; each < 5; each += 1) others.push((await take(`greedy ${each}`)).opened);
    assert.deepEqual(others, [16, 13, 11, 8]);
    assert.equal((await get('modest')).status, 200, 'five callers leave places for others');
    let open = mostOfCaller + 16 + 13 + 11 + 8 + 1;
    for (let each = 0; open < mostOfAccount; each += 1) open += (await take(`late ${each}`)).opened;
    assert.match((await take('last')).refusal, /^The account has 100 open streams at this server/);
  } finally {
    leaving.abort();
    await app.close();
  }
});
