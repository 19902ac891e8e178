/** The limits of draining after a response, and `Expect: 100-continue`. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { BlockingConnection, renderRequestHead } from '../../../testing/blocking-connection.ts';
import { createUnreadBodies, type DrainBounds } from './unread-bodies.ts';

const mebibyte = 1_048_576;
const generous: DrainBounds = {
  bytes: 64 * mebibyte,
  milliseconds: 600_000,
  stoppingMilliseconds: 600_000,
  atOnce: 100,
};
/** Before the limits above. */
const withinMilliseconds = 120_000;

const refuse = (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(404, { 'content-length': 2 }).end('no');
};

async function serve(
  t: TestContext,
  bounds: Partial<DrainBounds>,
  handler = refuse,
): Promise<{ address: string; stopping: AbortController }> {
  const stopping = new AbortController();
  const { classes } = createUnreadBodies(stopping.signal, { ...generous, ...bounds });
  const server = createServer(classes, handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stopping };
}

/** Sends a head that announces a body, and reads the response. */
async function refusedUpload(address: string, headers: Record<string, string> = {}) {
  const connection = await BlockingConnection.open(address);
  await connection.write(
    renderRequestHead('POST', '/', { 'content-length': String(512 * mebibyte), ...headers }),
  );
  const answer = await connection.answer();
  assert.equal(answer.status, 404);
  return { connection, answer };
}

test('a body larger than the limit is not read completely', async (t) => {
  const { address } = await serve(t, { bytes: 4 * mebibyte });
  const { connection } = await refusedUpload(address);
  const piece = Buffer.alloc(mebibyte);
  const sendAll = async () => {
    for (let sent = 0; sent < 512; sent++) await connection.write(piece);
  };
  await assert.rejects(sendAll());
  await connection.ended(withinMilliseconds);
});

test('a client that stops sending is cut after the time limit', async (t) => {
  const { address } = await serve(t, { milliseconds: 300 });
  const { connection } = await refusedUpload(address);
  await connection.write(Buffer.alloc(1_000));
  await connection.ended(withinMilliseconds);
});

test('a client that sends slowly is cut too', async (t) => {
  const { address } = await serve(t, { milliseconds: 300 });
  const { connection } = await refusedUpload(address);
  const timer = setInterval(() => void connection.write('x').catch(() => undefined), 20);
  t.after(() => clearInterval(timer));
  await connection.ended(withinMilliseconds);
});

test('above the limit of concurrent drains the oldest is cut', async (t) => {
  const { address } = await serve(t, { atOnce: 2 });
  const opened = [];
  for (let count = 0; count < 3; count++) opened.push((await refusedUpload(address)).connection);
  const [oldest, ...others] = opened as [BlockingConnection, ...BlockingConnection[]];
  await oldest.ended(withinMilliseconds);
  for (const other of others) {
    await other.write(Buffer.alloc(mebibyte));
    other.close();
  }
});

test('a stopping server waits less, and closes the connection after the end of the body', async (t) => {
  const { address, stopping } = await serve(t, { stoppingMilliseconds: 300 });
  const { connection: silent } = await refusedUpload(address);
  const { connection: small } = await refusedUpload(address, { 'content-length': '10' });
  stopping.abort();
  await small.write('0123456789');
  await small.ended(withinMilliseconds);
  await silent.ended(withinMilliseconds);
});

test('a discarded body is not kept in memory', async (t) => {
  const { address } = await serve(t, {});
  const piece = Buffer.alloc(mebibyte);
  const connections = await Promise.all(Array.from({ length: 20 }, () => refusedUpload(address)));
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let sent = 0; sent < 30; sent++) {
    await Promise.all(connections.map(({ connection }) => connection.write(piece)));
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  for (const { connection } of connections) connection.close();
  // Kept, it would be all; garbage that is not collected yet counts too.
  assert.ok(most < 300 * mebibyte, `${Math.round(most / mebibyte)} of 600 MiB`);
});

test('a refused request with `Expect: 100-continue` gets its response first, and the connection ends', async (t) => {
  const { address } = await serve(t, {});
  const { connection, answer } = await refusedUpload(address, { expect: '100-continue' });
  assert.match(answer.head, /^connection: close$/im);
  await connection.ended(withinMilliseconds);
});

test('a client that did not wait for `100 Continue` gets the response too', async (t) => {
  const { address } = await serve(t, {});
  for (let time = 0; time < 20; time++) {
    const connection = await BlockingConnection.open(address);
    const body = Buffer.alloc(8 * mebibyte);
    const answer = await connection.exchange('POST', '/', { expect: '100-continue' }, body);
    assert.equal(answer.status, 404);
    await connection.ended(withinMilliseconds);
  }
});

test('an accepted request with `Expect: 100-continue` is asked for its body once', async (t) => {
  const { address } = await serve(t, {}, async (request, response) => {
    const chunks = await request.toArray();
    response.writeHead(200, { 'content-length': 1 }).end(String(chunks.length));
  });
  const connection = await BlockingConnection.open(address);
  await connection.write(renderRequestHead('POST', '/', { 'content-length': '10', expect: '100-continue' }));
  assert.equal((await connection.answer()).status, 100);
  await connection.write('0123456789');
  assert.equal((await connection.answer()).status, 200);
  assert.equal((await connection.exchange('POST', '/', {}, Buffer.from('next'))).status, 200);
  connection.close();
});
