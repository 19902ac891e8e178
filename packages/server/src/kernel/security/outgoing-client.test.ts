/** Requests to hostile and broken receivers: real servers on loopback, which only the resolver knows by name. */
import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';
import { makeCertificate } from '../../../testing/certificate.ts';
import { createEgressGuard, parseEgressAllow, type Resolve } from './egress.ts';
import { createOutgoingClient, type OutgoingClient } from './outgoing-client.ts';

const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));
const running = new AbortController().signal;

async function listen(listener: RequestListener) {
  const server = await listenOnLoopback(listener);
  closing.push(server.close);
  return server;
}

interface Given {
  allow?: string[];
  resolve?: Resolve;
  timeoutMilliseconds?: number;
  ca?: string;
}

function createClient(input: Given = {}): OutgoingClient {
  const {
    allow = ['127.0.0.0/8'],
    resolve = async () => ['127.0.0.1'],
    timeoutMilliseconds = 120_000,
  } = input;
  const guard = createEgressGuard(parseEgressAllow(allow), resolve);
  const client = createOutgoingClient({
    guard,
    timeoutMilliseconds,
    ...(input.ca === undefined ? {} : { ca: input.ca }),
  });
  closing.push(async () => client.close());
  return client;
}

const post = (client: OutgoingClient, url: string, stopping = running) =>
  client.post({ url, headers: { 'x-of-test': 'yes' }, body: '{"a":"ø"}' }, stopping);

async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  return body;
}

async function reasonOf(client: OutgoingClient, url: string): Promise<string> {
  const result = await post(client, url);
  assert.equal(result.kind, 'failed', JSON.stringify(result));
  return result.kind === 'failed' ? result.reason : '';
}

test('the request has the host of the URL, and goes to the checked address', async () => {
  const seen: unknown[] = [];
  const { port } = await listen(async (request, response) => {
    seen.push(
      request.method,
      request.url,
      request.headers.host,
      request.headers['x-of-test'],
      await readBody(request),
    );
    response.writeHead(202).end('ignored');
  });
  const result = await post(createClient(), `http://hooks.example:${port}/a%20b?c=d#e`);
  assert.deepEqual(result, { kind: 'answered', status: 202 });
  assert.deepEqual(seen, ['POST', '/a%20b?c=d', `hooks.example:${port}`, 'yes', '{"a":"ø"}']);
});

test('a connection is kept for the next request, and replaced when the receiver has closed it', async () => {
  const sockets = new Set<Socket>();
  const { port, server } = await listen((request, response) => {
    sockets.add(request.socket);
    request.resume().on('end', () => response.end());
  });
  const client = createClient();
  for (let count = 0; count < 5; count += 1) await post(client, `http://hooks.example:${port}/`);
  assert.equal(sockets.size, 1);
  server.closeAllConnections();
  assert.deepEqual(await post(client, `http://hooks.example:${port}/`), { kind: 'answered', status: 200 });
});

test('a name that begins to lead elsewhere has no effect on a checked request', async () => {
  let lookups = 0;
  const resolve: Resolve = async () => (++lookups === 1 ? ['127.0.0.1'] : ['10.0.0.1']);
  const { port } = await listen((_, response) => response.end());
  const client = createClient({ resolve });
  assert.equal((await post(client, `http://hooks.example:${port}/`)).kind, 'answered');
  assert.match(
    await reasonOf(createClient({ resolve }), `http://hooks.example:${port}/`),
    /hooks\.example leads to an address in a private range/,
  );
});

test('a name that leads to a metadata service after a redirect is not called again', async () => {
  let lookups = 0;
  const resolve: Resolve = async () => (++lookups === 1 ? ['127.0.0.1'] : ['169.254.169.254']);
  let requests = 0;
  const { port } = await listen((_, response) => {
    requests += 1;
    response.writeHead(307, { location: '/latest/meta-data/' }).end();
  });
  const client = createClient({ allow: ['127.0.0.0/8', '169.254.0.0/16', 'hooks.example'], resolve });
  assert.match(await reasonOf(client, `http://hooks.example:${port}/`), /metadata service of a cloud/);
  assert.deepEqual([requests, lookups], [1, 2]);
});

test('the addresses of a name are tried one after another', async () => {
  const { port } = await listen((_, response) => response.end());
  const client = createClient({
    allow: ['127.0.0.0/8', '::1'],
    resolve: async () => ['::1', '127.0.0.9', '127.0.0.1'],
  });
  assert.deepEqual(await post(client, `http://hooks.example:${port}/`), { kind: 'answered', status: 200 });
});

test('307 and 308 are followed with method, headers and body, three times at most', async () => {
  let hops = 0;
  const { port } = await listen(async (request, response) => {
    const left = Number(request.url?.slice(1));
    assert.deepEqual([request.method, await readBody(request)], ['POST', '{"a":"ø"}']);
    hops += 1;
    if (left === 0) response.end();
    else response.writeHead(left % 2 === 0 ? 307 : 308, { location: `/${left - 1}` }).end();
  });
  const client = createClient();
  assert.deepEqual(await post(client, `http://hooks.example:${port}/3`), { kind: 'answered', status: 200 });
  assert.equal(hops, 4);
  assert.equal(
    await reasonOf(client, `http://hooks.example:${port}/4`),
    'The receiver redirects more than 3 times.',
  );
  assert.equal(hops, 8);
});

test('other redirects are refused, and so is one without a valid target', async () => {
  const { port } = await listen((request, response) => {
    const [, status, location] = (request.url ?? '').split('!');
    response.writeHead(Number(status), location === undefined ? {} : { location }).end();
  });
  const client = createClient();
  for (const status of [300, 301, 302, 303])
    assert.match(
      await reasonOf(client, `http://hooks.example:${port}/!${status}!/x`),
      new RegExp(`redirects by ${status}; only 307 and 308`),
    );
  for (const location of ['', '!http://['])
    assert.match(
      await reasonOf(client, `http://hooks.example:${port}/!307${location}`),
      /without a valid Location/,
    );
});

test('a redirect into a private range, to another scheme, or to plain http is refused', async () => {
  let target = '';
  const { port } = await listen((_, response) => response.writeHead(308, { location: target }).end());
  const client = createClient({ allow: ['hooks.example'] });
  for (const [to, reason] of [
    ['http://127.0.0.1:1/', /127\.0\.0\.1 is in a loopback range/],
    ['https://10.9.8.7/', /10\.9\.8\.7 is in a private range/],
    ['http://[::ffff:169.254.169.254]/', /the metadata service of a cloud/],
    ['http://93.184.215.14/', /Plain http/],
    ['file:///etc/passwd', /absolute http or https/],
    ['gopher://hooks.example/', /absolute http or https/],
  ] as const) {
    target = to;
    assert.match(await reasonOf(client, `http://hooks.example:${port}/`), reason, to);
  }
});

test('a receiver that never answers, answers slowly or stalls the resolver ends at the timeout', async () => {
  const silent = await listen(() => undefined);
  const slow = await listen((_, { socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket?.write('x-a: b\r\n'), 50);
    socket?.on('close', () => clearInterval(timer));
  });
  const client = createClient({ timeoutMilliseconds: 400 });
  for (const { port } of [silent, slow])
    assert.equal(
      await reasonOf(client, `http://hooks.example:${port}/`),
      'There was no response within 0.4 s.',
    );
  const stalled = createClient({ timeoutMilliseconds: 300, resolve: () => new Promise(() => undefined) });
  assert.equal(await reasonOf(stalled, 'http://hooks.example/'), 'There was no response within 0.3 s.');
});

test('a response whose body does not end counts by its status', async () => {
  const endless =
    (write: (response: ServerResponse) => void, everyMilliseconds: number) =>
    (_: IncomingMessage, response: ServerResponse) => {
      response.writeHead(200);
      const timer = setInterval(() => write(response), everyMilliseconds);
      response.on('close', () => clearInterval(timer));
    };
  const fast = await listen(endless((response) => response.write(Buffer.alloc(65_536)), 1));
  const slow = await listen(endless((response) => response.write('.'), 100));
  const client = createClient();
  for (const { port } of [fast, slow]) {
    const began = performance.now();
    assert.deepEqual(await post(client, `http://hooks.example:${port}/`), { kind: 'answered', status: 200 });
    assert.ok(performance.now() - began < 60_000);
  }
});

/** Answers each connection with these bytes. */
async function listenRaw(bytes: string): Promise<number> {
  const server = createPlainServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => void server.close());
  return (server.address() as AddressInfo).port;
}

test('what is not a valid response fails with a reason', async () => {
  const client = createClient();
  for (const [bytes, reason] of [
    [`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`, /headers of the response are larger than 16 KiB/],
    ['SSH-2.0-OpenSSH_9.9\r\n', /not valid HTTP/],
    ['', /closed the connection without a response/],
  ] as const)
    assert.match(await reasonOf(client, `http://hooks.example:${await listenRaw(bytes)}/`), reason);
  const { port, close } = await listenOnLoopback(() => undefined);
  await close();
  assert.equal(await reasonOf(client, `http://hooks.example:${port}/`), 'The connection was refused.');
});

test('TLS checks the certificate against the name of the URL, not against the address', async () => {
  const made = makeCertificate();
  const server = createSecureServer(made, (_, response) => void response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => void server.close());
  const { port } = server.address() as AddressInfo;
  const trusting = createClient({ ca: made.cert });
  for (const host of ['localhost', '127.0.0.1'])
    assert.deepEqual(await post(trusting, `https://${host}:${port}/`), { kind: 'answered', status: 200 });
  assert.match(
    await reasonOf(trusting, `https://hooks.example:${port}/`),
    /certificate of the receiver is not accepted/,
  );
  assert.match(
    await reasonOf(createClient(), `https://localhost:${port}/`),
    /certificate of the receiver is not accepted/,
  );
  const plain = await listen((_, response) => void response.end());
  assert.match(await reasonOf(trusting, `https://localhost:${plain.port}/`), /does not speak TLS/);
});

test('an expired certificate is refused', async () => {
  const made = makeCertificate(-1);
  const server = createSecureServer(made, (_, response) => void response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => void server.close());
  const { port } = server.address() as AddressInfo;
  assert.match(
    await reasonOf(createClient({ ca: made.cert }), `https://localhost:${port}/`),
    /certificate.* expired/,
  );
});

test('a request can be stopped', async () => {
  const { port } = await listen(() => undefined);
  const stopping = new AbortController();
  const sent = post(createClient(), `http://hooks.example:${port}/`, stopping.signal);
  stopping.abort();
  assert.deepEqual(await sent, { kind: 'stopped' });
});

test('a user and password of the URL are not sent', async () => {
  let authorization: string | undefined;
  const { port } = await listen((request, response) => {
    authorization = request.headers.authorization;
    response.end();
  });
  await post(createClient(), `http://user:password@hooks.example:${port}/`);
  assert.equal(authorization, undefined);
});

test('a receiver that switches protocols has answered with its status', { timeout: 240_000 }, async () => {
  const receiver = createPlainServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
    );
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  closing.push(async () => void receiver.close());
  const { port } = receiver.address() as AddressInfo;
  assert.deepEqual(await post(createClient(), `http://hooks.example:${port}/`), {
    kind: 'answered',
    status: 101,
  });
});
