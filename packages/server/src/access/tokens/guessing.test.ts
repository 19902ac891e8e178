/**
 * Guessing client secrets: which callers are slowed down, which are not, and that responses do not reveal
 * which clients exist.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, createClient } from '../../../testing/client.ts';
import type { TestServer } from '../../../testing/open-server.ts';
import { startTestServer } from '../../../testing/server.ts';
import { addressLimit, pairLimit } from '../../kernel/security/throttle.ts';

/** Behind a proxy, so that a test can send from any address. */
const startBehindProxy = () => startTestServer({ settings: { HEADGATE_TRUSTED_PROXY: '127.0.0.1' } });

const [stranger, owner] = ['198.51.100.1', '203.0.113.1'];
let guesses = 0;

function createGuess(): string {
  guesses += 1;
  return `wrong ${guesses}`;
}

function requestToken(
  server: TestServer,
  address: string,
  clientId: string,
  secret = createGuess(),
): Promise<Answer<unknown>> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': address };
  const anonymous = createClient(server.transport, '', async () => undefined);
  return anonymous.post('/oauth/dpc/token', new URLSearchParams(form).toString(), { headers });
}

const readStatus = async (answer: Promise<Answer>) => (await answer).status;

async function openServer() {
  const server = await startBehindProxy();
  const { admin, accountId } = await server.account();
  return { server, accountId, id: admin.clientId, right: admin.secret.reveal() };
}

async function repeat(count: number, act: () => Promise<unknown>): Promise<void> {
  for (let time = 0; time < count; time += 1) await act();
}

test('a caller that only knows a client id cannot lock its owner out', async () => {
  const { server, id, right } = await openServer();
  await repeat(addressLimit + 5, () => requestToken(server, stranger, id));
  assert.equal(
    await readStatus(requestToken(server, stranger, id, right)),
    429,
    'not even with the right secret',
  );
  assert.equal(await readStatus(requestToken(server, owner, id, right)), 200);
  assert.equal(await readStatus(requestToken(server, owner, id)), 401);
  assert.equal(await readStatus(requestToken(server, owner, id, right)), 200);
});

test('a failing pair must wait, but its right secret is accepted within the limit of the address', async () => {
  const { server, id, right } = await openServer();
  const wrong = createGuess();
  await repeat(pairLimit, async () =>
    assert.equal(await readStatus(requestToken(server, stranger, id, wrong)), 401),
  );
  const notice = await requestToken(server, stranger, id, wrong);
  assert.deepEqual([notice.status, notice.headers['retry-after']], [429, '1']);
  assert.equal((JSON.parse(notice.text) as { error: string }).error, 'invalid_client');
  assert.equal((await requestToken(server, stranger, id, wrong)).headers['retry-after'], '2');
  assert.equal(await readStatus(requestToken(server, stranger, 'another')), 401);
  assert.equal(await readStatus(requestToken(server, stranger, id, right)), 200);
  assert.equal(
    await readStatus(requestToken(server, stranger, id)),
    401,
    'and the pair counts from the start',
  );
});

test('an address that fails for many clients waits longer each time, and can recover', async () => {
  const { server, id, right } = await openServer();
  await repeat(addressLimit, () => requestToken(server, stranger, `hg_${createGuess()}`));
  const notice = await requestToken(server, stranger, id, right);
  assert.deepEqual([notice.status, notice.headers['retry-after']], [429, '1']);
  assert.equal(await readStatus(requestToken(server, owner, id, right)), 200);
  server.clock.advance(1);
  assert.equal(await readStatus(requestToken(server, stranger, 'another')), 401);
  assert.equal((await requestToken(server, stranger, id, right)).headers['retry-after'], '2');
  server.clock.advance(2);
  assert.equal(await readStatus(requestToken(server, stranger, id, right)), 200);
});

test('a /64 network of IPv6 is one address, and forwarded headers of untrusted callers are ignored', async () => {
  const { server, id } = await openServer();
  await repeat(addressLimit, () =>
    requestToken(server, `2001:db8:1:2::${createGuess().slice(6)}`, `hg_${createGuess()}`),
  );
  assert.equal(await readStatus(requestToken(server, '2001:db8:1:2:ffff::1', id)), 429);
  assert.equal(await readStatus(requestToken(server, '2001:db8:1:3::1', id)), 401);
  const direct = await startTestServer();
  await repeat(addressLimit, () => requestToken(direct, `10.0.0.${guesses % 250}`, `hg_${createGuess()}`));
  assert.equal(await readStatus(requestToken(direct, owner, id)), 429);
});

test('parallel guesses get no further than sequential ones', async () => {
  const { server, id, right } = await openServer();
  const all = Array.from({ length: 4 * addressLimit }, () => requestToken(server, stranger, id));
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  assert.ok(statuses.filter((status) => status === 401).length <= pairLimit);
  assert.equal(await readStatus(requestToken(server, stranger, id, right)), 429);
});

test('many parallel requests with the right secret are all accepted', async () => {
  const { server, id, right } = await openServer();
  const all = await Promise.all(Array.from({ length: 200 }, () => requestToken(server, stranger, id, right)));
  assert.deepEqual([...new Set(all.map(({ status }) => status))], [200]);
});

test('a refused request is recorded as an event of the account; a throttled one is not', async () => {
  const { server, id, accountId } = await openServer();
  await repeat(pairLimit + 5, () => requestToken(server, stranger, id));
  // Closing the server writes pending events.
  await server.close();
  const events = await server.database.query<{ subject_name: string }>(
    `select subject_name from event where account_id = $1 and name = 'token-refused'`,
    [accountId],
  );
  assert.deepEqual(
    events.map(({ subject_name }) => subject_name),
    Array(pairLimit).fill(id),
  );
});

/** The database reads and hash operations of one refused request, up to its response. */
async function traceRefusal(server: TestServer, clientId: string): Promise<string[]> {
  const { database, sealer } = server.deps;
  const done: string[] = [];
  const traceCalls = <Given extends unknown[], Result>(name: string, work: (...input: Given) => Result) =>
    function note(...input: Given): Result {
      const [statement] = input as { text?: string }[];
      // The events of an earlier request wake other servers a moment later.
      if (statement?.text?.includes('pg_notify') !== true) done.push(name);
      return work(...input);
    };
  const [ofDatabase, ofSealer] = [{ ...database }, { ...sealer }];
  database.read = traceCalls('a read', database.read) as typeof database.read;
  database.transaction = traceCalls('a transaction', database.transaction) as typeof database.transaction;
  sealer.digest = traceCalls('a digest', sealer.digest);
  sealer.matches = traceCalls('a comparison', sealer.matches);
  const answer = await requestToken(server, owner, clientId);
  const until = [...done];
  Object.assign(database, ofDatabase);
  Object.assign(sealer, ofSealer);
  assert.equal(answer.status, 401);
  return until;
}

test('a refusal does the same work for known and unknown clients, even while two secrets are valid', async () => {
  const { server, id } = await openServer();
  const account = await server.account();
  await account.admin.post(`/credentials/${account.admin.actorId}/rotate`, { overlapSeconds: 60 });
  const known = [id, account.admin.clientId, (await account.agent()).clientId];
  for (const clientId of [`hg_${'0'.repeat(24)}`, ...known]) {
    let done = await traceRefusal(server, clientId);
    // The events of refusals are written a moment later, on a busy machine during the next request.
    for (let again = 0; again < 3 && done.includes('a transaction'); again += 1)
      done = await traceRefusal(server, clientId);
    assert.deepEqual(done, ['a read', 'a comparison', 'a comparison', 'a digest'], clientId);
  }
});

test('known and unknown clients are refused in the same time', { timeout: 300_000 }, async (t) => {
  const { server, id } = await openServer();
  const [warmUpRounds, rounds] = [100, 400];
  let address = 0;
  async function measureMilliseconds(clientId: string): Promise<number> {
    address += 1;
    const begun = performance.now();
    const { status } = await requestToken(
      server,
      `10.${address >> 16}.${(address >> 8) & 255}.${address & 255}`,
      clientId,
    );
    const passed = performance.now() - begun;
    assert.equal(status, 401);
    return passed;
  }
  async function measureMedians(rounds: number): Promise<[known: number, unknown: number]> {
    const known: number[] = [];
    const unknown: number[] = [];
    // Measure both in turn and alternate the order, so that other load affects both alike.
    for (let round = 0; round < rounds; round += 1) {
      const none = `hg_${String(round).padStart(24, '0')}`;
      if (round % 2 === 0) known.push(await measureMilliseconds(id));
      unknown.push(await measureMilliseconds(none));
      if (round % 2 === 1) known.push(await measureMilliseconds(id));
    }
    const computeMedian = (all: number[]) =>
      all.toSorted((one, other) => one - other)[rounds / 2] ?? Number.NaN;
    return [computeMedian(known), computeMedian(unknown)];
  }
  await measureMedians(warmUpRounds);
  const found: string[] = [];
  // Load on the machine may disturb a measurement; ten in a row are unlikely to be disturbed.
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const [known, unknown] = await measureMedians(rounds);
    const measured = `known ${known.toFixed(3)} ms, unknown ${unknown.toFixed(3)} ms`;
    t.diagnostic(measured);
    if (Math.abs(known / unknown - 1) <= 0.05) return;
    found.push(measured);
  }
  assert.fail(found.join('; '));
});
