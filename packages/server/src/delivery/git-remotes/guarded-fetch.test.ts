/** Requests to the interfaces of Git hosts: what they send, and how their answers are bounded. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';
import { silentLog } from '../../kernel/log.ts';
import { createEgressGuard, parseEgressAllow } from '../../kernel/security/egress.ts';
import { Secret } from '../../kernel/security/sealed.ts';
import { createCredential } from './credential.ts';
import { type GuardedFetch, RemoteFailed } from './remote.ts';
import { createRemotes } from './remotes.ts';

const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));
const guard = createEgressGuard(parseEgressAllow(['127.0.0.0/8']));
const remotes = createRemotes({ guard, log: silentLog, trustedAddresses: [] });

async function listen(listener: RequestListener): Promise<string> {
  const { port, close } = await listenOnLoopback(listener);
  closing.push(close);
  return `http://127.0.0.1:${port}`;
}

const send = (url: string, options: Partial<GuardedFetch> = {}) =>
  remotes.fetchText(url, { mostBytes: 100_000, timeoutMilliseconds: 120_000, ...options });

async function failureOf(sent: Promise<unknown>): Promise<string> {
  const failure = await sent.then(
    () => assert.fail('the request succeeded'),
    (thrown: unknown) => thrown,
  );
  assert.ok(failure instanceof RemoteFailed, String(failure));
  return `${failure.failure.kind}: ${failure.failure.reason}`;
}

test('method, headers and body are sent, a stream too, and the answer is given back', async () => {
  const url = await listen(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    response.writeHead(418, { 'x-a': 'b' }).end(`${request.method} ${request.headers['x-c']} ${body}`);
  });
  for (const body of ['höwdy', Readable.from([Buffer.from('höwdy')])]) {
    const answer = await send(`${url}/x`, { method: 'PUT', headers: { 'x-c': 'd' }, body });
    assert.deepEqual([answer.status, answer.headers['x-a'], answer.body], [418, 'b', 'PUT d höwdy']);
  }
});

test('a redirect is an answer, and a credential is sent to its own origin only', async () => {
  const seen: (string | undefined)[] = [];
  const url = await listen((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
  });
  const token = new Secret('t');
  const own = createCredential('github', { url, token });
  const other = createCredential('github', { url: 'https://github.com/a/b', token });
  assert.equal((await send(url, { credential: own })).status, 302);
  assert.equal((await send(url, { credential: other })).status, 302);
  assert.deepEqual(seen, [`Basic ${Buffer.from('x-access-token:t').toString('base64')}`, undefined]);
});

test('an address of the operator is not checked, unless another host names it', async () => {
  let requests = 0;
  const url = await listen((_, response) => {
    requests += 1;
    response.end('x');
  });
  const strict = createRemotes({
    guard: createEgressGuard(parseEgressAllow([])),
    log: silentLog,
    trustedAddresses: [url],
  });
  closing.push(() => strict.close());
  const bounds = { mostBytes: 100, timeoutMilliseconds: 120_000 };
  assert.equal((await strict.fetchText(`${url}/x`, bounds)).body, 'x');
  const named = strict.fetchText(`${url}/x`, { ...bounds, isNamedByHost: true });
  assert.match(await failureOf(named), /^address-refused: .*loopback range/);
  assert.equal(requests, 1);
});

test('answers are bounded in bytes and time, and a cut answer is a failure', async () => {
  const large = await listen((_, response) => response.end(Buffer.alloc(200_000)));
  assert.match(await failureOf(send(large)), /^too-large: .* sent more than 100000 bytes/);
  const silent = await listen(() => undefined);
  assert.match(await failureOf(send(silent, { timeoutMilliseconds: 200 })), /^timeout: .* longer than 0.2 s/);
  const slow = await listen((_, response) => void response.writeHead(200).write('x'));
  assert.match(await failureOf(send(slow, { timeoutMilliseconds: 300 })), /^timeout: .* longer than 0.3 s/);
  const cut = await listen((_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('x', () => response.destroy());
  });
  assert.match(await failureOf(send(cut)), /^cut: .* before its answer was complete/);
});

test('addresses are guarded, and what is no address is refused', async () => {
  for (const url of [
    'http://10.0.0.1/',
    'https://[::1]/',
    'https://169.254.169.254/',
    'file:///etc/passwd',
    'x',
  ])
    assert.match(await failureOf(send(url)), /^address-refused: /, url);
});

test('a request can be stopped', async () => {
  const stopping = new AbortController();
  const url = await listen(() => stopping.abort(new Error('stopped by the test')));
  await assert.rejects(send(url, { signal: stopping.signal }), /stopped by the test/);
});
