import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import type { Readable } from 'node:stream';
import { afterEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { callHttp } from './http-call.ts';

const never = new AbortController().signal;
const server = createServer();
let answer: RequestListener;
server.on('request', (request, response) => answer(request, response));

async function listen(listener: RequestListener): Promise<string> {
  answer = listener;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function readText(body: Readable): Promise<string> {
  return Buffer.concat(await body.toArray()).toString();
}

test('a request sends its body with its length, and returns status and body', async () => {
  const url = await listen((request, response) => {
    response.writeHead(201, 'Made', { 'x-length': request.headers['content-length'] ?? '' });
    request.pipe(response);
  });
  const { ok, status, statusText, body } = await callHttp(url, { method: 'POST', body: 'Grüße' }, never);
  assert.deepEqual([ok, status, statusText, await readText(body)], [true, 201, 'Made', 'Grüße']);
});

test('a compressed body is read as its text', async () => {
  const url = await listen((request, response) => {
    assert.equal(request.headers['accept-encoding'], 'gzip');
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('text'));
  });
  const { body } = await callHttp(url, { method: 'GET' }, never);
  assert.equal(await readText(body), 'text');
});

test('a body that is not what its header says, or ends early, is an error', async () => {
  const url = await listen((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end('plain');
  });
  const { body } = await callHttp(url, { method: 'GET' }, never);
  await assert.rejects(readText(body), { code: 'Z_DATA_ERROR' });
  answer = (_, response) => {
    response.writeHead(200, { 'content-length': '10' }).write('half', () => response.destroy());
  };
  const half = await callHttp(url, { method: 'GET' }, never);
  await assert.rejects(readText(half.body), { code: 'ECONNRESET' });
});

test('a redirect is not followed', async () => {
  const paths: unknown[] = [];
  const url = await listen((request, response) => {
    paths.push(request.url);
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  const { ok, status, body } = await callHttp(url, { method: 'GET' }, never);
  assert.deepEqual([ok, status, await readText(body), paths], [false, 307, '', ['/']]);
});

test('a request ends with the reason of its signal, before the response and while the body is read', async () => {
  const url = await listen((request, response) => {
    if (request.method === 'GET') response.writeHead(200).write('a part');
  });
  const stop = new AbortController();
  const waiting = callHttp(url, { method: 'POST', body: '' }, stop.signal);
  const { body } = await callHttp(url, { method: 'GET' }, stop.signal);
  const reading = readText(body);
  stop.abort(new Error('stopped'));
  await assert.rejects(waiting, { message: 'stopped' });
  await assert.rejects(reading, { message: 'stopped' });
  await assert.rejects(callHttp(url, { method: 'GET' }, stop.signal), { message: 'stopped' });
});

test('a server that cannot be reached is an error that names it', async () => {
  const url = await listen(() => undefined);
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(callHttp(url, { method: 'GET' }, never), /ECONNREFUSED 127\.0\.0\.1/);
});

test('a switch of protocols is an error', async () => {
  const switching = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n');
  });
  switching.listen(0, '127.0.0.1');
  await once(switching, 'listening');
  const url = `http://127.0.0.1:${(switching.address() as AddressInfo).port}/`;
  try {
    await assert.rejects(callHttp(url, { method: 'GET' }, never), /closed without a response/);
  } finally {
    switching.close();
  }
});
