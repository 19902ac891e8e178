/** A program signs a person in: openid-client is the program, and the pages are those of the server. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretPost,
  calculatePKCECodeChallenge,
  type DiscoveryRequestOptions,
  discovery,
  initiateDeviceAuthorization,
  None,
  pollDeviceAuthorizationGrant,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  tokenIntrospection,
  tokenRevocation,
} from 'openid-client';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { sameOrigin } from '../../../testing/sign-in.ts';
import { isLoopbackRedirect } from './program.ts';

async function startDiscoverableServer() {
  for (;;) {
    const probe = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => probe.once('listening', resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const url = `http://127.0.0.1:${port}`;
    const server = await startTestServer({ settings: { HEADGATE_PUBLIC_URL: url } });
    // Another process may have taken the port in between.
    if ((await server.listen(port).catch(() => undefined)) !== undefined)
      return { server, url: new URL(url) };
  }
}

const { server, url } = await startDiscoverableServer();
const insecure: DiscoveryRequestOptions = { algorithm: 'oauth2', execute: [allowInsecureRequests] };
const program = await discovery(url, 'headgate-cli', undefined, None(), insecure);
const redirectUri = 'http://127.0.0.1:4711/callback';
const verifier = randomPKCECodeVerifier();
const challenge = await calculatePKCECodeChallenge(verifier);
const formHeaders = { 'content-type': 'application/x-www-form-urlencoded' };
const useToken = (token: string) => createClient(server.transport, '/dpc/v1', async () => token);

async function signIn(role: 'ADMIN' | 'SUPER_ADMIN' = 'ADMIN') {
  const account = await server.account();
  const user = await account.user(role);
  return { account, user, ...(await account.signIn(user.actorId)) };
}

function post(path: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(form).toString();
  return server.transport({ method: 'POST', url: path, headers: { ...formHeaders, ...headers }, body });
}
const postToken = async (form: Record<string, string>) => {
  const { status, text } = await post('/oauth/dpc/token', { client_id: 'headgate-cli', ...form });
  return { status, ...(JSON.parse(text) as { error?: string; access_token: string; refresh_token: string }) };
};
const getPage = (path: string, cookie = '') =>
  server.transport({ method: 'GET', url: path, headers: { cookie }, body: undefined });
const decide = (path: string, form: Record<string, string>, cookie: string) =>
  post(path, { decision: 'allow', ...form }, { ...sameOrigin, cookie });

const authorization = {
  client_id: 'headgate-cli',
  redirect_uri: redirectUri,
  response_type: 'code',
  code_challenge: challenge,
  code_challenge_method: 'S256',
};
const readBack = (headers: Record<string, unknown>) =>
  new URL(String(headers.refresh).split('url=')[1] ?? '');

async function getCode(cookie: string): Promise<string> {
  const { headers, text } = await decide('/oauth/authorize', authorization, cookie);
  return readBack(headers).searchParams.get('code') ?? assert.fail(text);
}
const redeem = (code: string, input: Record<string, string> = {}) =>
  postToken({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...input,
  });
const refresh = (token: string) => postToken({ grant_type: 'refresh_token', refresh_token: token });

async function startDevice() {
  const { text } = await post('/oauth/device_authorization', { client_id: 'headgate-cli' });
  return JSON.parse(text) as { device_code: string; user_code: string };
}
const poll = (device_code: string) =>
  postToken({ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code });

test('openid-client signs in by a code on loopback, and refreshes', async () => {
  const { user, cookie, client } = await signIn();
  const state = randomState();
  const parameters = {
    redirect_uri: redirectUri,
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
  const address = buildAuthorizationUrl(program, parameters);
  const page = await getPage(address.pathname + address.search, cookie);
  assert.equal(page.status, 200, page.text);
  for (const shown of ['headgate-cli', user.userName, 'http://127.0.0.1:4711', 'ADMIN'])
    assert.ok(page.text.includes(shown), shown);
  const answer = await decide('/oauth/authorize', { ...authorization, state }, cookie);
  const back = readBack(answer.headers);
  assert.equal(back.searchParams.get('iss'), url.origin);
  const checks = { expectedState: state, pkceCodeVerifier: verifier };
  const tokens = await authorizationCodeGrant(program, back, checks);
  assert.equal(
    (await useToken(tokens.access_token).get<{ principalId: string }>('/me')).body.principalId,
    user.actorId,
  );
  const next = await refreshTokenGrant(program, tokens.refresh_token ?? '');
  assert.notEqual(next.refresh_token, tokens.refresh_token);
  assert.equal((await useToken(next.access_token).get('/me')).status, 200);
  const { results } = (await client.get<{ results: { program?: string }[] }>('/me/sessions')).body;
  assert.deepEqual(results.map((each) => each.program).sort(), ['headgate-cli', undefined]);
});

test('openid-client signs in by a device code', async () => {
  const { user, cookie } = await signIn();
  const device = await initiateDeviceAuthorization(program, {});
  assert.match(device.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  const complete = new URL(device.verification_uri_complete ?? '');
  const page = await getPage(complete.pathname + complete.search, cookie);
  assert.ok(page.text.includes(device.user_code) && page.text.includes('127.0.0.1'), page.text);
  assert.equal((await decide('/device', { user_code: device.user_code.toLowerCase() }, cookie)).status, 200);
  // The client waits for its interval by a real clock.
  const tokens = await pollDeviceAuthorizationGrant(program, { ...device, interval: 1 });
  assert.equal(
    (await useToken(tokens.access_token).get<{ principalId: string }>('/me')).body.principalId,
    user.actorId,
  );
});

test('polling: too early, refused, expired, used', async () => {
  const { cookie } = await signIn();
  const device = await startDevice();
  assert.equal((await poll(device.device_code)).error, 'authorization_pending');
  server.clock.advance(4);
  assert.equal((await poll(device.device_code)).error, 'slow_down');
  server.clock.advance(9);
  assert.equal((await poll(device.device_code)).error, 'slow_down', '5 s longer than before');
  server.clock.advance(15);
  assert.equal((await poll(device.device_code)).error, 'authorization_pending');
  await decide('/device', { user_code: device.user_code, decision: 'refuse' }, cookie);
  server.clock.advance(15);
  assert.equal((await poll(device.device_code)).error, 'access_denied');
  const late = await startDevice();
  server.clock.advance(601);
  assert.equal((await poll(late.device_code)).error, 'expired_token');
  assert.equal((await decide('/device', { user_code: late.user_code }, cookie)).status, 404);
  const used = await startDevice();
  await decide('/device', { user_code: used.user_code }, cookie);
  const { access_token } = await poll(used.device_code);
  assert.equal((await poll(used.device_code)).error, 'invalid_grant');
  requireProblem(await useToken(access_token).get('/me'), 401, 'session-invalid');
});

test('a code used twice ends what it gave; a wrong verifier, redirect or time gives nothing', async () => {
  const { cookie } = await signIn();
  const code = await getCode(cookie);
  for (const wrong of [
    { code_verifier: randomPKCECodeVerifier() },
    { redirect_uri: 'http://127.0.0.1:4712/callback' },
    { client_id: 'another' },
  ])
    assert.ok(['invalid_grant', 'invalid_client'].includes((await redeem(code, wrong)).error ?? ''));
  const { access_token, refresh_token } = await redeem(code);
  assert.equal((await useToken(access_token).get('/me')).status, 200);
  assert.equal((await redeem(code)).error, 'invalid_grant');
  requireProblem(await useToken(access_token).get('/me'), 401, 'session-invalid');
  assert.equal((await refresh(refresh_token)).error, 'invalid_grant');
  const late = await getCode(cookie);
  server.clock.advance(61);
  assert.equal((await redeem(late)).error, 'invalid_grant');
});

test('an earlier refresh token ends the session; a guess for its session does not', async () => {
  const { cookie } = await signIn();
  const first = await redeem(await getCode(cookie));
  const second = await refresh(first.refresh_token);
  const forged = `${second.refresh_token.slice(0, -43)}${'A'.repeat(43)}`;
  assert.equal((await refresh(forged)).error, 'invalid_grant');
  assert.equal((await useToken(second.access_token).get('/me')).status, 200);
  assert.equal((await refresh(first.refresh_token)).error, 'invalid_grant');
  requireProblem(await useToken(second.access_token).get('/me'), 401, 'session-invalid');
  assert.equal((await refresh(second.refresh_token)).error, 'invalid_grant');
});

test('of concurrent requests with one refresh token on two servers, one is granted, and its session ends', async () => {
  const second = await startTestServer({
    database: server.database,
    settings: { HEADGATE_PUBLIC_URL: url.origin },
  });
  const { cookie } = await signIn();
  const [first, untouched] = [await redeem(await getCode(cookie)), await redeem(await getCode(cookie))];
  const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token, client_id: 'headgate-cli' };
  const answers = await Promise.all(
    [server, second, server, second, server, second].map(async ({ transport }) => {
      const body = new URLSearchParams(form).toString();
      const { status, text } = await transport({
        method: 'POST',
        url: '/oauth/dpc/token',
        headers: formHeaders,
        body,
      });
      const answer = JSON.parse(text) as Omit<Awaited<ReturnType<typeof postToken>>, 'status'>;
      return { status, ...answer };
    }),
  );
  const granted = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(granted.length, 1);
  assert.ok(refused.every(({ error }) => error === 'invalid_grant'));
  for (const { access_token, refresh_token } of [first, ...granted]) {
    requireProblem(await useToken(access_token).get('/me'), 401, 'session-invalid');
    assert.equal((await refresh(refresh_token)).error, 'invalid_grant');
  }
  assert.equal((await useToken(untouched.access_token).get('/me')).status, 200);
});

test('the session of a program ends with its user, and when the person ends it', async () => {
  const { account, user, cookie, client, sessionId } = await signIn();
  const [ended, other] = [await redeem(await getCode(cookie)), await redeem(await getCode(cookie))];
  const { results } = (
    await client.get<{ results: { sessionId: string; program?: string }[] }>('/me/sessions')
  ).body;
  const ofPrograms = results.filter((each) => each.program !== undefined);
  assert.equal(ofPrograms.length, 2);
  await client.delete('/me/sessions');
  for (const { access_token } of [ended, other])
    requireProblem(await useToken(access_token).get('/me'), 401, 'session-invalid');
  assert.ok(sessionId);
  const again = await redeem(await getCode(cookie));
  await account.admin.patch(`/users/${user.actorId}`, { active: false });
  requireProblem(await useToken(again.access_token).get('/me'), 401, 'session-invalid');
  assert.equal((await refresh(again.refresh_token)).error, 'invalid_grant');
});

test('a refresh token is no cookie, and the token of a program approves no other program', async () => {
  const { cookie } = await signIn();
  const { refresh_token, access_token } = await redeem(await getCode(cookie));
  const name = cookie.split('=', 1)[0] ?? '';
  const answer = await getPage('/dpc/v1/me', `${name}=${refresh_token}`);
  assert.equal(answer.status, 401);
  const { status, headers } = await post(
    '/oauth/authorize',
    { ...authorization, decision: 'allow' },
    {
      ...sameOrigin,
      authorization: `Bearer ${access_token}`,
    },
  );
  assert.deepEqual([status, headers.refresh], [400, undefined]);
});

test('nothing is sent to another site, and no other site confirms', async () => {
  const { cookie } = await signIn();
  for (const redirect_uri of [
    'https://evil.example/',
    'http://localhost:1/',
    'http://127.0.0.1.evil.example/',
    'http://127.0.0.1:1@evil.example/',
    'http://127.0.0.1\\@evil.example/',
    'http://127.0.0.1:0/',
    'http://127.0.0.1:99999/',
    'http://127.0.0.1/#x',
    '',
  ]) {
    assert.equal(isLoopbackRedirect(redirect_uri), false, redirect_uri);
    const { status, headers } = await decide('/oauth/authorize', { ...authorization, redirect_uri }, cookie);
    assert.deepEqual([status, headers.refresh, headers.location], [400, undefined, undefined], redirect_uri);
  }
  assert.ok(isLoopbackRedirect('http://[::1]:5000/x') && isLoopbackRedirect('http://127.0.0.1'));
  const { device_code, user_code } = await startDevice();
  for (const path of ['/oauth/authorize', '/device']) {
    const form = { ...authorization, user_code, decision: 'allow' };
    for (const site of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, {}])
      assert.equal((await post(path, form, { ...site, cookie } as Record<string, string>)).status, 403);
  }
  assert.equal((await poll(device_code)).error, 'authorization_pending');
  const plain = await decide(
    '/oauth/authorize',
    { ...authorization, code_challenge_method: 'plain' },
    cookie,
  );
  assert.equal(readBack(plain.headers).searchParams.get('error'), 'invalid_request');
  const denied = await decide('/oauth/authorize', { ...authorization, decision: 'refuse' }, cookie);
  assert.equal(readBack(denied.headers).searchParams.get('error'), 'access_denied');
});

test('guesses of user codes are slowed down, also of the right code', async () => {
  // The guesses of other tests are forgotten.
  server.clock.advance(901);
  const { cookie } = await signIn();
  const { user_code } = await startDevice();
  const guess = (code: string) => decide('/device', { user_code: code }, cookie);
  for (let turn = 0; turn < 10; turn += 1) {
    const code = `BCDFGHJ${'BCDFGHJKLM'[turn]}`;
    assert.equal((await guess(code)).status, 404);
  }
  const { status, headers } = await guess(user_code);
  assert.deepEqual([status, headers['retry-after']], [429, '1']);
});

test('introspection knows the tokens of its account only; revocation ends what is held', async () => {
  const { account, user, cookie } = await signIn();
  const tokens = await redeem(await getCode(cookie));
  const asAdmin = async (of: typeof account) =>
    discovery(url, of.admin.clientId, undefined, ClientSecretPost(of.admin.secret.reveal()), insecure);
  const [own, foreign] = [await asAdmin(account), await asAdmin(await server.account())];
  const found = await tokenIntrospection(own, tokens.access_token);
  assert.deepEqual([found.active, found.sub, found.account], [true, user.actorId, account.accountId]);
  assert.deepEqual(await tokenIntrospection(foreign, tokens.access_token), { active: false });
  assert.deepEqual(await tokenIntrospection(own, 'x'), { active: false });
  assert.equal((await post('/oauth/dpc/introspect', { token: tokens.access_token })).status, 401);
  await tokenRevocation(program, tokens.refresh_token);
  assert.deepEqual(await tokenIntrospection(own, tokens.access_token), { active: false });
  await tokenRevocation(program, tokens.refresh_token);
  assert.equal((await post('/oauth/dpc/revoke', { token: await account.admin.token() })).status, 400);
  assert.ok(!server.logLines.some((line) => line.includes(tokens.refresh_token)));
});
