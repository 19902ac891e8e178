import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { boundConnections, chooseConnectionBounds } from './connection-bounds.ts';

/** When the newest connection of a server has closed. */
let closed: Promise<unknown> = Promise.resolve();
const ending: { destroy?(): void; close?(): void }[] = [];
after(() => {
  for (const each of ending.toReversed()) (each.destroy ?? each.close)?.call(each);
});

async function listen(bounds: Parameters<typeof boundConnections>[1]) {
  const server: Server = createServer((socket) => {
    ending.push(socket);
    closed = once(socket, 'close');
    // A server answers what it has read, which is later than the connection.
    setImmediate(() => socket.destroyed || socket.write('hello'));
  });
  boundConnections(server, bounds);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ending.push(server);
  const { port } = server.address() as { port: number };
  return async (localAddress: string): Promise<{ socket: Socket; isServed: boolean }> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    ending.push(socket);
    socket.on('error', () => undefined);
    const isServed = await Promise.race([
      once(socket, 'data').then(() => true),
      once(socket, 'close').then(() => false),
    ]);
    return { socket, isServed };
  };
}

test('an address has a share of the connections, and gets it back when it closes one', async () => {
  const open = await listen({ inAll: 10, ofAddress: 2 });
  const first = await open('127.0.0.1');
  const firstClosed = closed;
  assert.deepEqual([first.isServed, (await open('127.0.0.1')).isServed], [true, true]);
  assert.equal((await open('127.0.0.1')).isServed, false);
  assert.equal((await open('127.0.0.2')).isServed, true);
  first.socket.destroy();
  await firstClosed;
  assert.equal((await open('127.0.0.1')).isServed, true);
});

test('behind a proxy only the sum is bounded', async () => {
  const open = await listen({ inAll: 3, ofAddress: undefined });
  const served = [];
  for (let index = 0; index < 4; index += 1) served.push((await open('127.0.0.1')).isServed);
  assert.deepEqual(served, [true, true, true, false]);
});

test('a quarter of the descriptors stays free', () => {
  const { inAll, ofAddress } = chooseConnectionBounds(false);
  assert.ok(inAll >= 48 && ofAddress === Math.floor(inAll / 4));
  assert.equal(chooseConnectionBounds(true).ofAddress, undefined);
});
