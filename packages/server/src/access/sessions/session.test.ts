/** Requests by the cookie of a session. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { type Browser, createBrowserClient, sameOrigin } from '../../../testing/sign-in.ts';

const server = await startTestServer();
const publicUrl = server.deps.config.publicUrl;

test('a browser has the rights of its user, and its events name the user', async () => {
  const account = await server.account();
  const ada = await account.user('SUPER_ADMIN');
  const { client, sessionId } = await account.signIn(ada.actorId);
  const me = await client.get<{ principalId: string; principalType: string }>('/me');
  assert.deepEqual(
    [me.body.principalId, me.body.principalType],
    [ada.actorId, 'USER'],
    'the session is the user',
  );
  const made = await client.post('/projects', { name: 'by a browser', agentDeploymentType: 'HYBRID' });
  assert.equal(made.status, 201);
  const { results } = (
    await client.get<{ results: { name: string; actor: { id: string; type?: string } }[] }>(
      '/events?after=oldest&eventName=project-created',
    )
  ).body;
  assert.ok(JSON.stringify(results).includes(ada.actorId));
  const signedIn = await client.get('/events?after=oldest&eventName=signed-in');
  assert.ok(signedIn.text.includes(sessionId));
});

test('only a page of this server may change something or follow a stream by a cookie', async () => {
  const account = await server.account();
  const ada = await account.user('SUPER_ADMIN');
  const { cookie } = await account.signIn(ada.actorId);
  const bare = createClient(server.transport, '/dpc/v1', async () => undefined);
  const origin = new URL(publicUrl).origin;
  const post = (headers: Record<string, string>) =>
    bare.post(
      '/projects',
      { name: `p ${randomUUID()}`, agentDeploymentType: 'HYBRID' },
      { headers: { cookie, ...headers } },
    );
  for (const headers of [
    {},
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-site', origin },
    { origin: `${origin}.evil.example` },
    { referer: `${origin}/` },
  ])
    requireProblem(await post(headers as Record<string, string>), 403, 'cross-origin-request');
  assert.equal((await post({ origin })).status, 201);
  assert.equal((await post(sameOrigin)).status, 201);
  assert.equal((await bare.get('/projects', { headers: { cookie } })).status, 200, 'reading is allowed');
  const stream = { cookie, accept: 'text/event-stream' };
  requireProblem(await bare.get('/events/stream', { headers: stream }), 403, 'cross-origin-request');
  const asked = { ...stream, 'sec-fetch-site': 'cross-site' };
  requireProblem(await bare.get('/events/stream', { headers: asked }), 403, 'cross-origin-request');
});

test('a bearer token goes before the cookie, also a wrong one', async () => {
  const account = await server.account();
  const ada = await account.user('SUPER_ADMIN');
  const { cookie } = await account.signIn(ada.actorId);
  const member = await account.actor('MEMBER');
  const me = await member.get<{ principalId: string }>('/me', { headers: { cookie } });
  assert.equal(me.body.principalId, member.actorId);
  const bare = createClient(server.transport, '/dpc/v1', async () => 'wrong');
  requireProblem(await bare.get('/me', { headers: { cookie } }), 401, 'token-invalid');
});

test('a session ends when it is not used, and in any case after its longest time', async () => {
  const own = await startTestServer({
    settings: { HEADGATE_SESSION_IDLE_MINUTES: '30', HEADGATE_SESSION_HOURS: '2' },
  });
  const account = await own.account();
  const ada = await account.user('MEMBER');
  const { client } = await account.signIn(ada.actorId);
  for (let minutes = 0; minutes < 100; minutes += 25) {
    assert.equal((await client.get('/me')).status, 200, `after ${minutes} minutes`);
    own.clock.advance(25 * 60);
  }
  own.clock.advance(25 * 60);
  requireProblem(await client.get('/me'), 401, 'session-invalid');
  const second = await account.signIn(ada.actorId);
  own.clock.advance(31 * 60);
  requireProblem(await second.client.get('/me'), 401, 'session-invalid');
});

test('ending a session, deactivating its user and deleting it are effective at once, on every server', async () => {
  const other = await startTestServer({ database: server.database });
  const account = await server.account();
  const ada = await account.user('MEMBER');
  const sessions: Browser[] = [];
  // One after the other: a later link replaces the earlier one.
  for (let each = 0; each < 4; each += 1) sessions.push(await account.signIn(ada.actorId));
  const elsewhere = sessions.map(({ cookie }) => createBrowserClient(other.transport, cookie));
  const readElsewhere = (at: number) => elsewhere[at]?.get('/me') ?? assert.fail();
  for (const at of elsewhere.keys()) assert.equal((await readElsewhere(at)).status, 200);
  const [first, second, third] = sessions;
  assert.ok(first && second && third);
  assert.equal((await account.admin.delete(`/users/${ada.actorId}/sessions/${first.sessionId}`)).status, 204);
  requireProblem(await readElsewhere(0), 401, 'session-invalid');
  assert.equal((await second.client.delete(`/me/sessions?sessionId=${third.sessionId}`)).status, 204);
  requireProblem(await readElsewhere(2), 401, 'session-invalid');
  assert.equal((await second.client.delete('/me/sessions')).status, 204, 'ends the others');
  requireProblem(await readElsewhere(3), 401, 'session-invalid');
  assert.equal((await readElsewhere(1)).status, 200);
  await account.admin.patch(`/users/${ada.actorId}`, { active: false });
  requireProblem(await readElsewhere(1), 401, 'session-invalid');
  await account.admin.patch(`/users/${ada.actorId}`, { active: true });
  // The session does not come back with the user.
  other.clock.advance(10);
  requireProblem(await readElsewhere(1), 401, 'session-invalid');
  await account.admin.delete(`/users/${ada.actorId}`);
  requireProblem(await second.client.get('/me'), 401, 'session-invalid');
});

test('nobody ends or sees the sessions of others by the operations on their own', async () => {
  const account = await server.account();
  const [ada, bob] = [await account.user('MEMBER'), await account.user('MEMBER')];
  const [ofAda, ofBob] = [await account.signIn(ada.actorId), await account.signIn(bob.actorId)];
  const listed = await ofBob.client.get<{ results: { sessionId: string }[]; total: number }>('/me/sessions');
  assert.deepEqual(
    listed.body.results.map(({ sessionId }) => sessionId),
    [ofBob.sessionId],
  );
  const path = `/me/sessions?sessionId=${ofAda.sessionId}`;
  requireProblem(await ofBob.client.delete(path), 404, 'session-not-found');
  requireProblem(await ofBob.client.get(`/users/${ada.actorId}/sessions`), 403, 'forbidden');
  const stranger = await server.account();
  requireProblem(
    await stranger.admin.delete(`/users/${ada.actorId}/sessions/${ofAda.sessionId}`),
    404,
    'session-not-found',
  );
  assert.equal((await ofAda.client.get('/me')).status, 200);
});

test('a wrong cookie is refused, and counts against its address', async () => {
  const own = await startTestServer({
    settings: { HEADGATE_RATE_LIMIT: '1000', HEADGATE_RATE_LIMIT_REFUSED: '5' },
  });
  const name = own.deps.sessions.cookieName;
  assert.match(name, /^__Host-/);
  const bare = createClient(own.transport, '/dpc/v1', async () => undefined);
  for (const value of ['x', 'a'.repeat(43), '', 'a'.repeat(4_000), '%00'])
    requireProblem(
      await bare.get('/me', { headers: { cookie: `a=b; ${name}=${value}` } }),
      401,
      'session-invalid',
    );
  requireProblem(await bare.get('/me', { headers: { cookie: `${name}=x` } }), 429, 'rate-limited');
  // What a sibling domain can set is none of them.
  const { sessions } = own.deps;
  assert.equal(sessions.readCookie(`\xa0${name}=x`), undefined);
  assert.equal(sessions.readCookie(`${name}=x; a=b;\t${name}=y`), '', 'two of the name are none');
});
