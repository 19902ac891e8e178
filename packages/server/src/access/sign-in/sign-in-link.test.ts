/** Signing in by a link. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Account } from '../../../testing/account.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createBrowserClient, sameOrigin } from '../../../testing/sign-in.ts';

const server = await startTestServer();
const form = { 'content-type': 'application/x-www-form-urlencoded' };

async function createLink(account: Account, userId: string, body: object = {}): Promise<string> {
  const made = await account.admin.post<{ url: string }>(`/users/${userId}/sign-in-links`, body);
  assert.equal(made.status, 201, made.text);
  return new URL(made.body.url).pathname;
}

const open = (url: string) => server.transport({ method: 'GET', url, headers: {}, body: undefined });
const use = (url: string, headers: Record<string, string> = sameOrigin) =>
  server.transport({ method: 'POST', url, headers: { ...form, ...headers }, body: '' });

test('opening a link changes nothing; its button signs in once', async () => {
  const account = await server.account();
  const ada = await account.user('MEMBER');
  const link = await createLink(account, ada.actorId);
  for (let scan = 0; scan < 3; scan += 1) {
    const page = await open(link);
    assert.equal(page.status, 200);
    assert.ok(page.text.includes(ada.userName));
    assert.equal(page.headers['referrer-policy'], 'no-referrer');
    assert.equal(page.headers['set-cookie'], undefined);
  }
  const uses = await Promise.all([1, 2, 3, 4, 5].map(() => use(link)));
  assert.deepEqual(uses.map(({ status }) => status).toSorted(), [303, 404, 404, 404, 404]);
  const cookie = String(uses.find(({ status }) => status === 303)?.headers['set-cookie']);
  assert.match(cookie, /^__Host-[\w-]+=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax$/);
  assert.equal((await open(link)).status, 404);
});

test('another site cannot sign a visitor in', async () => {
  const account = await server.account();
  const ada = await account.user('MEMBER');
  const link = await createLink(account, ada.actorId);
  assert.equal((await use(link, {})).status, 403);
  assert.equal((await use(link, { origin: 'https://evil.example' })).status, 403);
  assert.equal((await use(link, { 'sec-fetch-site': 'cross-site' })).status, 403);
  assert.equal((await use(link)).status, 303);
});

test('a link ends with its time, with a later link, and with its user', async () => {
  const account = await server.account();
  const ada = await account.user('MEMBER');
  const first = await createLink(account, ada.actorId);
  const second = await createLink(account, ada.actorId, { validMinutes: 5 });
  assert.equal((await use(first)).status, 404, 'replaced');
  server.clock.advance(301);
  assert.equal((await use(second)).status, 404, 'expired');
  const third = await createLink(account, ada.actorId);
  await account.admin.patch(`/users/${ada.actorId}`, { active: false });
  assert.equal((await use(third)).status, 404, 'inactive');
  await account.admin.patch(`/users/${ada.actorId}`, { active: true });
  assert.equal((await use(third)).status, 404, 'it does not come back');
  await account.admin.patch(`/users/${ada.actorId}`, { active: false });
  requireProblem(await account.admin.post(`/users/${ada.actorId}/sign-in-links`, {}), 409, 'user-inactive');
});

test('signing in gives the browser a new secret and ends the session that it had', async () => {
  const account = await server.account();
  const [ada, bob] = [await account.user('MEMBER'), await account.user('MEMBER')];
  const before = await account.signIn(ada.actorId);
  const link = await createLink(account, bob.actorId);
  const answer = await use(link, { ...sameOrigin, cookie: before.cookie });
  const cookie = String(answer.headers['set-cookie']).split(';', 1)[0] ?? '';
  assert.notEqual(cookie, before.cookie);
  requireProblem(await before.client.get('/me'), 401, 'session-invalid');
  const me = await createBrowserClient(server.transport, cookie).get<{ principalId: string }>('/me');
  assert.equal(me.body.principalId, bob.actorId);
});

test('signing out ends the session and clears the cookie, from a page of this server only', async () => {
  const account = await server.account();
  const ada = await account.user('MEMBER');
  const { client, cookie } = await account.signIn(ada.actorId);
  const signOut = (headers: Record<string, string>) => use('/sign-out', { cookie, ...headers });
  assert.equal((await signOut({ 'sec-fetch-site': 'cross-site' })).status, 403);
  assert.equal((await client.get('/me')).status, 200);
  const answer = await signOut(sameOrigin);
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['set-cookie']), /=; Max-Age=0; Path=\/; Secure; HttpOnly/);
  requireProblem(await client.get('/me'), 401, 'session-invalid');
});

test('nobody signs in over plain HTTP of another machine', async () => {
  const own = await startTestServer({ settings: { HEADGATE_PUBLIC_URL: 'http://headgate.example' } });
  const account = await own.account();
  const ada = await account.user('MEMBER');
  requireProblem(
    await account.admin.post(`/users/${ada.actorId}/sign-in-links`, {}),
    409,
    'sign-in-unavailable',
  );
  const headers = { host: 'headgate.example' };
  const page = await own.transport({ method: 'GET', url: '/sign-in', headers, body: undefined });
  assert.equal(page.status, 400);
  assert.match(page.text, /only over HTTPS or on localhost/);
});
