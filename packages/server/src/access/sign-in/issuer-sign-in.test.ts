/** Signing in at a real OpenID provider. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import type { TestIssuer } from '../../../testing/identity-issuer.ts';
import { createIssuerScenes } from '../../../testing/issuer-scene.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8' } });
const { publicUrl } = server.deps.config;

const { createScene, get, visitIssuer, signIn } = createIssuerScenes(server);

const scene = await createScene();

const emailOf = (userName: string) => ({ email: userName, email_verified: true });

test('a person is joined to the user of the verified address once, and is known by the subject from then on', async () => {
  const { account, issuer } = scene;
  const ada = await account.user('MEMBER');
  issuer.person = {
    sub: 'ada',
    ...emailOf(ada.userName.toUpperCase().replace('EXAMPLE.COM', 'Example.com')),
  };
  const first = await signIn(scene, '?returnTo=/docs?x=1');
  assert.equal(first.answer.status, 303, first.answer.text);
  assert.equal(first.answer.headers.location, '../../../docs?x=1');
  const me = await first.client.get<{ principalId: string }>('/me');
  assert.equal(me.body.principalId, ada.actorId);
  // Another address at the issuer, even that of somebody else, changes nothing.
  const bob = await account.user('SUPER_ADMIN');
  issuer.person = { sub: 'ada', ...emailOf(bob.userName) };
  const second = await signIn(scene);
  assert.equal((await second.client.get<{ principalId: string }>('/me')).body.principalId, ada.actorId);
  const { text } = await account.admin.get('/events?after=oldest&limit=100&eventName=identity-linked');
  assert.ok(text.includes(ada.actorId));
  const sessions = await second.client.get<{ results: { method: string; issuerName: string }[] }>(
    '/me/sessions',
  );
  assert.deepEqual(
    [sessions.body.results[0]?.method, sessions.body.results[0]?.issuerName],
    ['ISSUER', 'Acme login'],
  );
});

test('nobody takes over a user by an address that is not verified, of another domain, or taken by another subject', async () => {
  const { account, issuer } = scene;
  const ada = await account.user('SUPER_ADMIN');
  const refuse = async (person: TestIssuer['person'], reason: RegExp) => {
    issuer.person = person;
    const { answer } = await signIn(scene);
    assert.equal(answer.status, 403, answer.text);
    assert.match(answer.text, reason);
    assert.ok(!String(answer.headers['set-cookie']).includes('headgate-session'));
  };
  await refuse({ sub: 'eve', email: ada.userName, email_verified: false }, /not say that.*verified/);
  await refuse({ sub: 'eve', email: ada.userName }, /not say that.*verified/);
  await refuse({ sub: 'eve', email: ada.userName, email_verified: 'true' }, /not say that.*verified/);
  await refuse({ sub: 'eve', ...emailOf(`${ada.userName}@evil.example`) }, /domain/);
  await refuse({ sub: 'eve', ...emailOf(ada.userName.replace('@', '@evil.')) }, /domain/);
  await refuse({ sub: 'eve', email_verified: true }, /no usable claim email/);
  await refuse({ sub: 'eve', ...emailOf('nobody@example.com') }, /No user of the account/);
  const byName = await createScene({ userClaim: 'preferred_username', createUsers: true });
  byName.issuer.person = { sub: 'eve', preferred_username: 'Administrator' };
  const operator = await signIn(byName);
  assert.equal(operator.answer.status, 403);
  assert.match(operator.answer.text, /the user of the operator/);
  issuer.person = { sub: 'ada-2', ...emailOf(ada.userName) };
  assert.equal((await signIn(scene)).answer.status, 303);
  await refuse({ sub: 'eve', ...emailOf(ada.userName) }, /belongs to another person/);
  await account.admin.patch(`/users/${ada.actorId}`, { active: false });
  issuer.person = { sub: 'ada-2', ...emailOf(ada.userName) };
  await refuse(issuer.person, /deactivated/);
  const { text } = await account.admin.get('/events?after=oldest&limit=100&eventName=sign-in-refused');
  assert.match(text, /belongs to another person/);
});

test('a user of another account is never found', async () => {
  const { issuer } = scene;
  const stranger = await (await server.account()).user('SUPER_ADMIN');
  issuer.person = { sub: 'stranger', ...emailOf(stranger.userName) };
  assert.equal((await signIn(scene)).answer.status, 403);
});

test('users are created where the account says so and has no directory', async () => {
  const own = await createScene({ createUsers: true });
  own.issuer.person = { sub: 'new', ...emailOf('new.person@example.com'), name: 'New Person' };
  const { answer, client } = await signIn(own);
  assert.equal(answer.status, 303, answer.text);
  const me = await client.get<{ name: string; accountRoles: { role: string }[] }>('/me');
  assert.deepEqual(
    [me.body.name, me.body.accountRoles.map(({ role }) => role)],
    ['new.person@example.com', ['MEMBER']],
  );
  await own.account.admin.post('/credentials', { name: 'directory', role: 'DIRECTORY' });
  own.issuer.person = { sub: 'newer', ...emailOf('newer.person@example.com') };
  const refused = await signIn(own);
  assert.equal(refused.answer.status, 403);
  assert.match(refused.answer.text, /directory of the account/);
});

test('an answer counts only in the browser that asked, once, and for its own issuer', async () => {
  const { account, issuer } = scene;
  const ada = await account.user('MEMBER');
  issuer.person = { sub: 'ada-3', ...emailOf(ada.userName) };
  const victim = await visitIssuer(scene);
  assert.equal((await get(victim.url)).status, 400, 'no cookie: a link of an attacker');
  const attacker = await visitIssuer(scene);
  assert.equal((await get(victim.url, attacker.cookie)).status, 400, 'the cookie of another sign-in');
  assert.equal((await get(victim.url, victim.cookie)).status, 303);
  assert.equal((await get(victim.url, victim.cookie)).status, 400, 'the code was used');
  const other = await createScene();
  const elsewhere = victim.url.replace(scene.id, other.id);
  assert.equal((await get(elsewhere, attacker.cookie)).status, 400, 'the callback of another issuer');
  const late = await visitIssuer(scene);
  server.clock.advance(16 * 60);
  assert.match((await get(late.url, late.cookie)).text, /longer than 15 minutes/);
  server.clock.advance(-16 * 60);
  const changed = await visitIssuer(scene);
  for (const [name, value] of [
    ['iss', 'https://evil.example'],
    ['state', 'x'],
    ['code', 'x'],
  ] as const) {
    const url = new URL(changed.callback);
    url.searchParams.set(name, value);
    assert.equal((await get(url.pathname + url.search, changed.cookie)).status, 400, name);
  }
  const without = new URL(changed.callback);
  without.searchParams.delete('iss');
  assert.equal((await get(without.pathname + without.search, changed.cookie)).status, 400, 'RFC 9207');
});

test('after signing in the browser stays at this server', async () => {
  const { account, issuer } = scene;
  const ada = await account.user('MEMBER');
  issuer.person = { sub: 'ada-4', ...emailOf(ada.userName) };
  for (const hostile of [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '/.//evil.example/',
    '/%2e//evil.example',
    '/x/..//evil.example',
    'javascript:alert(1)',
    '/\t/evil.example',
  ]) {
    const { answer } = await signIn(scene, `?returnTo=${encodeURIComponent(hostile)}`);
    assert.equal(answer.status, 303);
    const location = String(answer.headers.location);
    const target = new URL(location, `${publicUrl}/sign-in/issuers/x/callback`);
    assert.equal(target.origin, new URL(publicUrl).origin, `${hostile} → ${location}`);
  }
});

test('an issuer that is down, slow to be right or answers garbage is named, and ends nobody’s session', async () => {
  const own = await createScene();
  const ada = await own.account.user('MEMBER');
  own.issuer.person = { sub: 'ada', ...emailOf(ada.userName) };
  const { client } = await signIn(own);
  const pending = await visitIssuer(own);
  const answers: [string, (body: unknown) => string, number][] = [
    ['garbage', () => '<html>', 200],
    ['no token', () => '{}', 200],
    ['an error', () => '{"error":"server_error"}', 500],
    ['much', () => `{"x":"${'x'.repeat(300_000)}"}`, 200],
    [
      'an unsigned token',
      () => JSON.stringify({ access_token: 'a', token_type: 'bearer', id_token: 'e30.e30.' }),
      200,
    ],
  ];
  for (const [what, body, status] of answers) {
    own.issuer.intercept = (request, response) => {
      if (!request.url?.startsWith('/token')) return false;
      response.writeHead(status, { 'content-type': 'application/json' }).end(body(undefined));
      return true;
    };
    const answer = await get(pending.url, pending.cookie);
    assert.equal(answer.status, 400, what);
    assert.match(answer.text, /issuer|larger than/, what);
  }
  await own.issuer.close();
  assert.equal((await get(pending.url, pending.cookie)).status, 400);
  assert.equal((await client.get('/me')).status, 200, 'the session goes on');
  const test = await own.account.admin.get<{ usable: boolean; reason: string }>(`${own.path}/test`);
  assert.equal(test.body.usable, false);
  assert.match(test.body.reason, /refused/);
});

test('a changed or disabled issuer signs nobody in, and deleting it ends its sessions', async () => {
  const own = await createScene();
  const ada = await own.account.user('MEMBER');
  own.issuer.person = { sub: 'ada', ...emailOf(ada.userName) };
  const { client } = await signIn(own);
  const pending = await visitIssuer(own);
  await own.account.admin.send('PUT', own.path, { body: { ...own.settings, enabled: false } });
  assert.equal((await get(pending.url, pending.cookie)).status, 404);
  assert.equal((await get(`/sign-in/issuers/${own.id}`)).status, 404);
  requireProblem(await client.get('/me'), 401, 'session-invalid');
  await own.account.admin.send('PUT', own.path, { body: own.settings });
  const again = await signIn(own);
  assert.equal((await again.client.get('/me')).status, 200);
  assert.equal((await own.account.admin.delete(own.path)).status, 204);
  requireProblem(await again.client.get('/me'), 401, 'session-invalid');
  requireProblem(await client.get('/me'), 401, 'session-invalid');
});

test('the stored client secret is not sent to another issuer', async () => {
  const own = await createScene();
  const { clientSecret: _, ...settings } = own.settings;
  const moved = { ...settings, issuer: 'https://login.example.com' };
  requireProblem(
    await own.account.admin.send('PUT', own.path, { body: moved }),
    422,
    'identity-issuer-unusable',
  );
  const cleared = await own.account.admin.send('PUT', own.path, { body: { ...moved, clientSecret: null } });
  assert.equal(cleared.status, 200);
  for (const issuer of [
    'http://login.example.com',
    'https://a:b@login.example.com',
    'ftp://x',
    'x',
    'https://x/?y',
  ])
    requireProblem(
      await own.account.admin.send('PUT', own.path, { body: { ...moved, issuer } }),
      422,
      'identity-issuer-unusable',
    );
});

test('another site only gets a page that asks first', async () => {
  const url = `/sign-in/issuers/${scene.id}?returnTo=/docs`;
  for (const site of ['cross-site', 'same-site']) {
    const headers = { 'sec-fetch-site': site };
    const page = await server.transport({ method: 'GET', url, headers, body: undefined });
    assert.equal(page.status, 200);
    assert.equal(page.headers['set-cookie'], undefined);
    assert.match(page.text, /href="\.\.\/\.\.\/sign-in\/issuers\/[\w-]+\?returnTo=\/docs"/);
  }
});

test('each attempt counts against its address before the issuer is asked', async () => {
  const own = await startTestServer({
    database: server.database,
    settings: {
      HEADGATE_EGRESS_ALLOW: '127.0.0.0/8',
      HEADGATE_RATE_LIMIT: '1000',
      HEADGATE_RATE_LIMIT_REFUSED: '3',
    },
  });
  const visit = (url: string, cookie: string) =>
    own.transport({ method: 'GET', url, headers: { cookie }, body: undefined });
  const started = await visit(`/sign-in/issuers/${scene.id}`, '');
  const cookie = String(started.headers['set-cookie']).split(';', 1)[0] ?? '';
  const state = new URL(String(started.headers.location)).searchParams.get('state');
  let asked = 0;
  scene.issuer.intercept = (request) => {
    if (request.url?.startsWith('/token')) asked += 1;
    return false;
  };
  const iss = encodeURIComponent(scene.issuer.issuer);
  const callback = `/sign-in/issuers/${scene.id}/callback?state=${state}&iss=${iss}&code=bad`;
  const statuses: number[] = [];
  for (let each = 0; each < 6; each += 1) statuses.push((await visit(callback, cookie)).status);
  scene.issuer.intercept = undefined;
  assert.deepEqual(statuses, [400, 400, 400, 429, 429, 429]);
  assert.equal(asked, 3);
});

test('of several first sign-ins at the same moment one links the user, and no other fails the server', async () => {
  const scene = await createScene({ userClaim: 'preferred_username' });
  const ada = await scene.account.user('MEMBER');
  scene.issuer.person = { sub: 'ada', preferred_username: ada.userName };
  const all = await Promise.all(Array.from({ length: 4 }, async () => (await signIn(scene)).answer.status));
  assert.ok(all.includes(303), String(all));
  assert.ok(
    all.every((status) => status === 303 || status === 400),
    String(all),
  );
});
