/** Signing keys rotate without invalidating live tokens, and the servers of a database agree. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtectedHeader, type JSONWebKeySet } from 'jose';
import type { Account } from '../../../testing/account.ts';
import { type Client, createClient, requireProblem } from '../../../testing/client.ts';
import type { TestServer } from '../../../testing/open-server.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createSealer } from './sealed.ts';
import { openSigningKeys, rotateKeys } from './signing-keys.ts';

const day = 86_400;
const first = await startTestServer();
const servers = [first, await startTestServer({ database: first.database })] as const;
const [one, other] = servers;
// Their clocks start at different times.
other.clock.advance((one.clock.now().getTime() - other.clock.now().getTime()) / 1_000);

const readKeyId = (token: string) => decodeProtectedHeader(token).kid ?? '';
const anonymous = (server: TestServer): Client => createClient(server.transport, '', async () => undefined);

async function listPublishedIds(server: TestServer): Promise<string[]> {
  const { body } = await anonymous(server).get<JSONWebKeySet>('/.well-known/jwks.json');
  return body.keys.map(({ kid }) => kid ?? '');
}

/** Gets a token from this server's token endpoint. */
async function requestToken(server: TestServer, { admin }: Account): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: admin.clientId,
    client_secret: admin.secret.reveal(),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { body } = await anonymous(server).post<{ access_token: string }>(
    '/oauth/dpc/token',
    form.toString(),
    { headers },
  );
  return body.access_token;
}

const sendWithToken = (server: TestServer, token: string) =>
  createClient(server.transport, '/dpc/v1', async () => token).get('/projects');

async function requireAccepted(token: string) {
  for (const server of servers) assert.equal((await sendWithToken(server, token)).status, 200);
}

function advance(seconds: number): void {
  for (const { clock } of servers) clock.advance(seconds);
}

/** Servers do this every few seconds. */
const refresh = () => Promise.all(servers.map(({ deps }) => deps.signingKeys.refresh()));

test('after 90 days a key gets a successor, published before it signs, and no token expires early', async () => {
  const account = await one.account();
  const [old = '', ...none] = await listPublishedIds(one);
  assert.deepEqual(none, []);
  advance(89 * day);
  await refresh();
  assert.deepEqual(await listPublishedIds(one), [old]);

  advance(day);
  await refresh();
  const both = await listPublishedIds(one);
  assert.equal(both.length, 2, 'two servers rotate at once and make one key');
  assert.deepEqual(await listPublishedIds(other), both);
  const next = both.find((key) => key !== old) ?? '';

  advance(599);
  const last = await requestToken(one, account);
  assert.equal(readKeyId(last), old, 'the new key waits until all servers know it');
  advance(1);
  for (const server of servers) assert.equal(readKeyId(await requestToken(server, account)), next);
  await requireAccepted(last);

  advance(1_790);
  await refresh();
  await requireAccepted(last);
  assert.deepEqual(await listPublishedIds(other), both, 'the old key stays published while its tokens live');
  advance(20);
  requireProblem(await sendWithToken(one, last), 401, 'token-invalid');
  advance(600);
  await refresh();
  for (const server of servers) assert.deepEqual(await listPublishedIds(server), [next]);
});

test('servers that rotate at the same time create one key', async () => {
  const before = await listPublishedIds(one);
  advance(90 * day);
  await Promise.all([...servers, ...servers, ...servers].map(({ deps }) => deps.signingKeys.refresh()));
  await refresh();
  assert.equal((await listPublishedIds(one)).length, before.length + 1);
  assert.deepEqual(await listPublishedIds(other), await listPublishedIds(one));
});

test('an operator may rotate at any time; a second request returns the waiting key', async () => {
  advance(day);
  await refresh();
  const before = await listPublishedIds(one);
  const made = await rotateKeys(one.deps, { why: 'asked' });
  assert.ok(made.isNew && !before.includes(made.keyId));
  assert.deepEqual(await rotateKeys(other.deps, { why: 'asked' }), { ...made, isNew: false });
  await refresh();
  assert.deepEqual(await listPublishedIds(other), [made.keyId, ...before]);
  const account = await one.account();
  assert.notEqual(readKeyId(await requestToken(other, account)), made.keyId);
  advance(600);
  assert.equal(readKeyId(await requestToken(other, account)), made.keyId);
});

test('a server loads a new key at the first token that names it', async () => {
  const account = await one.account();
  await rotateKeys(one.deps, { why: 'leaked' });
  await one.deps.signingKeys.refresh();
  const token = await requestToken(one, account);
  assert.ok(!(await listPublishedIds(other)).includes(readKeyId(token)));
  advance(2);
  await requireAccepted(token);
});

test('removing a leaked key ends its tokens, including cached ones', async () => {
  const account = await one.account();
  const token = await requestToken(one, account);
  await requireAccepted(token);
  const { keyId } = await rotateKeys(one.deps, { why: 'leaked' });
  await refresh();
  for (const server of servers) {
    requireProblem(await sendWithToken(server, token), 401, 'token-invalid');
    assert.deepEqual(await listPublishedIds(server), [keyId]);
  }
  await requireAccepted(await requestToken(other, account));
});

test('without rotation the key stays', async () => {
  const { database, clock, log, sealer } = one.deps;
  const keys = await openSigningKeys({ database, clock, log, sealer, rotationDays: undefined });
  const before = keys.listPublished().map(({ keyId }) => keyId);
  advance(3_650 * day);
  await keys.refresh();
  assert.deepEqual(
    keys.listPublished().map(({ keyId }) => keyId),
    before,
  );
});

test('a server with another master key creates no key', async () => {
  const before = await listPublishedIds(one);
  const foreign = { ...one.deps, sealer: createSealer(Buffer.alloc(32, 'another master key')) };
  for (const why of ['asked', 'leaked'] as const)
    await assert.rejects(rotateKeys(foreign, { why }), /cannot be decrypted with this master key/);
  await refresh();
  assert.ok((await listPublishedIds(one)).includes(before[0] ?? ''));
});
