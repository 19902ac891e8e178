/** Passkeys, with an authenticator in software. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, Passkey } from '@headgate/contract';
import { Authenticator, flagsOf } from '../../../testing/authenticator.ts';
import { requireProblem } from '../../../testing/client.ts';
import { addPasskey, type CreationOptions, openPasskeyPage, ownOrigin } from '../../../testing/passkeys.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createBrowserClient } from '../../../testing/sign-in.ts';

const server = await startTestServer();
const { transport } = server;
const rpId = 'localhost';

async function createScene() {
  const account = await server.account();
  const ada = await account.user('MEMBER');
  const browser = await account.signIn(ada.actorId);
  return { account, ada, browser, page: openPasskeyPage(transport, browser.cookie) };
}

/** Begins a sign-in: the challenge, and the cookie that is bound to it. */
async function begin() {
  // No two challenges are of one moment.
  server.clock.advance(1);
  const asked = await openPasskeyPage(transport).post('/options', {});
  assert.equal(asked.status, 200, asked.text);
  const { options } = JSON.parse(asked.text) as { options: { challenge: string; rpId: string } };
  const cookie = String(asked.headers['set-cookie']).split(';', 1)[0] ?? '';
  return { challenge: options.challenge, cookie };
}

const finish = (cookie: string, response: string, form: Record<string, string> = {}) =>
  openPasskeyPage(transport, cookie).post('', { response, ...form });

const readSession = ({ headers }: { headers: Record<string, unknown> }) =>
  /__Host-headgate-session[\w-]*=[\w-]{43}/.exec(String(headers['set-cookie']))?.[0];

async function signIn(authenticator: Authenticator) {
  const { challenge, cookie } = await begin();
  return finish(cookie, authenticator.get({ origin: ownOrigin, rpId, challenge }));
}

async function requireRefused(
  answer: Promise<Awaited<ReturnType<typeof finish>>>,
  reason: RegExp,
): Promise<void> {
  const { status, text, headers } = await answer;
  assert.equal(status, 403, text);
  assert.match(text, reason);
  assert.equal(readSession({ headers }), undefined);
}

test('a user adds several passkeys, and signs in with each', async () => {
  const { account, ada, browser } = await createScene();
  const laptop = await addPasskey(transport, browser, { name: 'Laptop' });
  const phone = await addPasskey(transport, browser, { name: 'Phone' });
  for (const { authenticator } of [laptop, phone, laptop]) {
    const answer = await signIn(authenticator);
    assert.equal(answer.status, 200, answer.text);
    const client = createBrowserClient(transport, readSession(answer) ?? '');
    assert.equal((await client.get<{ principalId: string }>('/me')).body.principalId, ada.actorId);
    const sessions = await client.get<Page<{ method: string }>>('/me/sessions');
    assert.equal(sessions.body.results[0]?.method, 'PASSKEY');
  }
  const { results } = (await browser.client.get<Page<Passkey>>('/me/passkeys')).body;
  assert.deepEqual(
    results.map(({ name, isSynced, lastUsedAt }) => [name, isSynced, lastUsedAt !== undefined]),
    [
      ['Phone', true, true],
      ['Laptop', true, true],
    ],
  );
  // Sessions go on without the passkey; signing in with it does not.
  await browser.client.delete(`/me/passkeys?passkeyId=${phone.passkeyId}`);
  await requireRefused(signIn(phone.authenticator), /No user has this passkey/);
  requireProblem(
    await browser.client.delete(`/me/passkeys?passkeyId=${phone.passkeyId}`),
    404,
    'passkey-not-found',
  );
  const ofUser = `/users/${ada.actorId}/passkeys`;
  assert.equal((await account.admin.get<Page<Passkey>>(ofUser)).body.total, 1);
  assert.equal((await account.admin.delete(`${ofUser}/${laptop.passkeyId}`)).status, 204);
  await requireRefused(signIn(laptop.authenticator), /No user has this passkey/);
});

test('an answer of another origin, host, challenge, kind or key is refused', async () => {
  const { account, ada } = await createScene();
  const { authenticator } = await account.addPasskey(ada.actorId);
  const wrong: [object, RegExp][] = [
    [{ origin: 'https://localhost.evil.example' }, /origin/],
    [{ origin: 'http://localhost:9999' }, /origin/],
    [{ rpId: 'evil.example' }, /RP ID/],
    [{ challenge: Buffer.alloc(32).toString('base64url') }, /challenge/],
    [{ type: 'webauthn.create' }, /type/],
    [{ flags: flagsOf.present }, /verified/],
    [{ flags: 0 }, /present/],
  ];
  for (const [more, reason] of wrong) {
    const { challenge, cookie } = await begin();
    await requireRefused(
      finish(cookie, authenticator.get({ origin: ownOrigin, rpId, challenge, ...more })),
      reason,
    );
  }
  const { challenge, cookie } = await begin();
  const stranger = new Authenticator();
  stranger.userHandle = authenticator.userHandle;
  const forged = JSON.parse(stranger.get({ origin: ownOrigin, rpId, challenge })) as Record<string, unknown>;
  const id = authenticator.id.toString('base64url');
  await requireRefused(finish(cookie, JSON.stringify({ ...forged, id, rawId: id })), /signed/);
  for (const garbage of [
    '',
    '{}',
    'null',
    '[]',
    '{"id":1}',
    `{"id":"${id}"}`,
    `{"id":"${id}","response":{}}`,
  ])
    await requireRefused(finish(cookie, garbage), /refused/);
  const { text } = await account.admin.get('/events?after=oldest&limit=100&eventName=sign-in-refused');
  assert.match(text, /RP ID/);
});

test('an answer counts once, in the browser that asked, for five minutes, and with a counter that grows', async () => {
  const { account, ada } = await createScene();
  const { authenticator } = await account.addPasskey(ada.actorId);
  const asked = await begin();
  const answer = authenticator.get({ origin: ownOrigin, rpId, challenge: asked.challenge });
  const other = await begin();
  await requireRefused(finish(other.cookie, answer), /challenge/);
  await requireRefused(finish('', answer), /did not ask/);
  assert.equal((await finish(asked.cookie, answer)).status, 200);
  await requireRefused(finish(asked.cookie, answer), /counter|another window/);
  const late = await begin();
  const lateAnswer = authenticator.get({ origin: ownOrigin, rpId, challenge: late.challenge });
  server.clock.advance(301);
  await requireRefused(finish(late.cookie, lateAnswer), /5 minutes/);
  // Authenticators without a counter say 0: the moment of the challenge is left.
  const synced = (await account.addPasskey(ada.actorId)).authenticator;
  const again = await begin();
  synced.signCount = -1;
  const first = synced.get({ origin: ownOrigin, rpId, challenge: again.challenge });
  assert.equal((await finish(again.cookie, first)).status, 200);
  await requireRefused(finish(again.cookie, first), /another window/);
  await account.admin.patch(`/users/${ada.actorId}`, { active: false });
  await requireRefused(signIn(synced), /deactivated/);
});

test('only the session that asked adds a passkey, from a page of the server, without a certificate', async () => {
  const { account, ada, browser, page } = await createScene();
  const ask = async () => JSON.parse((await page.post('/registration-options', {})).text) as CreationOptions;
  const { options, state } = await ask();
  const authenticator = new Authenticator();
  const answering = { origin: ownOrigin, rpId, challenge: options.challenge };
  const response = authenticator.create(answering, options.user.id);
  const good = { state, name: 'Laptop', response };
  const bob = await account.signIn((await account.user('MEMBER')).actorId);
  await requireRefused(openPasskeyPage(transport, bob.cookie).post('/registrations', good), /did not ask/);
  await requireRefused(openPasskeyPage(transport).post('/registrations', good), /not signed in/);
  const site = { 'sec-fetch-site': 'cross-site' };
  await requireRefused(page.post('/registrations', good, site), /another site/);
  await requireRefused(page.post('/registrations', { ...good, name: ' ' }), /name/);
  await requireRefused(page.post('/registrations', { ...good, state: 'x' }), /did not ask/);
  const away = authenticator.create({ ...answering, origin: 'https://evil.example' }, options.user.id);
  await requireRefused(page.post('/registrations', { ...good, response: away }), /origin/);
  authenticator.attestation = [
    'packed',
    new Map<string, unknown>([
      ['alg', -7],
      ['sig', Buffer.alloc(70)],
      ['x5c', [Buffer.alloc(9)]],
    ]),
  ];
  const certified = authenticator.create(answering, options.user.id);
  await requireRefused(page.post('/registrations', { ...good, response: certified }), /not asked for/);
  assert.equal((await page.post('/registrations', good)).status, 200);
  await requireRefused(page.post('/registrations', good), /added already/);
  await account.admin.patch(`/users/${ada.actorId}`, { active: false });
  await requireRefused(page.post('/registration-options', {}), /not signed in/);
  requireProblem(await browser.client.get('/me/passkeys'), 401, 'session-invalid');
});

test('a user has at most 20 passkeys', async () => {
  const { browser, page } = await createScene();
  for (let each = 0; each < 18; each += 1) await addPasskey(transport, browser, { name: `${each}` });
  const asked = await Promise.all([1, 2, 3, 4].map(() => page.post('/registration-options', {})));
  const added = await Promise.all(
    asked.map(({ text }) => {
      const { options, state } = JSON.parse(text) as CreationOptions;
      const answering = { origin: ownOrigin, rpId, challenge: options.challenge };
      const response = new Authenticator().create(answering, options.user.id);
      return page.post('/registrations', { state, name: 'one more', response });
    }),
  );
  assert.deepEqual(added.map(({ status }) => status).toSorted(), [200, 200, 403, 403]);
  await requireRefused(page.post('/registration-options', {}), /the most/);
});

test('after signing in the browser stays at this server', async () => {
  const { account, ada } = await createScene();
  const { authenticator } = await account.addPasskey(ada.actorId);
  for (const [returnTo, expected] of [
    ['/docs?x=1', '/docs?x=1'],
    ['//evil.example/', '/sign-in'],
    ['', '/sign-in'],
  ]) {
    const { challenge, cookie } = await begin();
    const answer = await finish(cookie, authenticator.get({ origin: ownOrigin, rpId, challenge }), {
      returnTo: returnTo ?? '',
    });
    assert.deepEqual(JSON.parse(answer.text), { location: expected });
  }
});
