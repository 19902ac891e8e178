/** Hostile answers of issuers: none signs anybody in, none is a failure of the server, none holds its event loop. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { roundsOr, testSeed } from '@headgate/contract/testing/rounds';
import {
  buildExchange,
  type Exchange,
  type Loot,
  spoil,
  startHostileIssuer,
} from '../../../testing/hostile-issuer.ts';
import { seededRandom } from '../../../testing/seeded-random.ts';
import { startTestServer } from '../../../testing/server.ts';

const rounds = roundsOr(400);
const atOnce = 8;
/** Every so many sign-ins nothing is wrong. */
const rightEach = 20;
const longestGap = 250;
const clientSecret = 'the secret of the client';

const server = await startTestServer({ settings: { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8' } });
const issuer = await startHostileIssuer();
after(() => issuer.close());
const account = await server.account();
const victim = await account.user('SUPER_ADMIN');
const ada = await account.user('MEMBER');
const random = seededRandom(testSeed);
const pick: Loot['pick'] = (choices) => {
  const chosen = Math.floor(random() * choices.length);
  return choices[chosen] as (typeof choices)[number];
};

async function createIssuer(more: object): Promise<string> {
  const settings = { clientId: 'headgate', clientSecret, domains: ['example.com'], ...more };
  const made = await account.admin.post<{ identityIssuerId: string }>('/identity-issuers', settings);
  assert.equal(made.status, 201, made.text);
  return made.body.identityIssuerId;
}
const id = await createIssuer({ name: 'Hostile', issuer: issuer.issuer });
const other = await startHostileIssuer();
after(() => other.close());
const otherId = await createIssuer({ name: 'Other', issuer: other.issuer });

const get = (url: string, cookie = '') =>
  server.transport({ method: 'GET', url, headers: { cookie }, body: undefined });

async function begin(issuerId: string) {
  const started = await get(`/sign-in/issuers/${issuerId}`);
  assert.equal(started.status, 303, started.text);
  const cookie = String(started.headers['set-cookie']).split(';', 1)[0] ?? '';
  return { cookie, asked: new URL(String(started.headers.location)).searchParams };
}

const getNow = () => Math.floor(server.clock.now().getTime() / 1_000);

/** The exchange and its code. */
async function prepare(): Promise<{ exchange: Exchange; code: string }> {
  const { cookie, asked } = await begin(id);
  const now = getNow();
  const code = randomUUID();
  const query = new URLSearchParams({ code, state: asked.get('state') ?? '', iss: issuer.issuer });
  const claims = {
    iss: issuer.issuer,
    sub: 'ada',
    aud: 'headgate',
    exp: now + 600,
    iat: now,
    nonce: asked.get('nonce'),
    email: ada.userName,
    email_verified: true,
  };
  const exchange = buildExchange(claims, query, cookie);
  issuer.expect(code, exchange);
  return { exchange, code };
}

const finish = ({ query, cookie }: Exchange) => get(`/sign-in/issuers/${id}/callback?${query}`, cookie);
const hasSession = (headers: Record<string, unknown>) =>
  /headgate-session[\w-]*=[\w-]{43}/.test(String(headers['set-cookie']));

/** The longest processor time of this thread between two turns of the loop, in milliseconds. */
function watchLoop() {
  let longest = 0;
  let before = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
  }, 5);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

test(`no hostile answer signs anybody in (${rounds} answers, TEST_SEED=${testSeed})`, async () => {
  const first = await prepare();
  const accepted = await finish(first.exchange);
  assert.equal(accepted.status, 303, accepted.text);
  const usedToken = issuer.lastToken();
  const { cookie: otherCookie } = await begin(otherId);
  const loot = {
    usedToken,
    otherCookie,
    otherIssuer: other.issuer,
    clientSecret,
    victim: victim.userName,
    pick,
  };
  const takeLongest = watchLoop();
  const statuses: Record<number, number> = {};
  const unexpected: string[] = [];
  let next = 0;
  async function work(): Promise<void> {
    while (next < rounds) {
      next += 1;
      const isRight = next % rightEach === 0;
      const round = next;
      const { exchange } = await prepare();
      const wrong = isRight ? [] : spoil(exchange, { ...loot, now: getNow() });
      const answer = await finish(exchange);
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      const isExpected = isRight ? answer.status === 303 : [400, 403].includes(answer.status);
      if (!isExpected || hasSession(answer.headers) !== isRight)
        unexpected.push(
          `round ${round}, ${wrong.join(', ')}: ${answer.status} ${JSON.stringify(exchange.claims).slice(0, 500)}`,
        );
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  const longest = takeLongest();
  assert.deepEqual(unexpected, []);
  assert.ok(longest < longestGap, `the loop was held ${longest.toFixed(0)} ms`);
  assert.ok((statuses[400] ?? 0) > 0 && (statuses[403] ?? 0) > 0, JSON.stringify(statuses));
  const { text } = await account.admin.get(`/users/${victim.actorId}/sessions`);
  assert.ok(text.includes('"total":0'), text);
});
