/** POST /oauth/dpc/token, and what its tokens give access to. */
import assert from 'node:assert/strict';
import { createHmac, createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { JSONWebKeySet } from 'jose';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import type { Actor } from '../../../testing/account.ts';
import { type Client, createClient, requireProblem } from '../../../testing/client.ts';
import type { TestServer } from '../../../testing/open-server.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const createAnonymousClient = (of: TestServer): Client =>
  createClient(of.transport, '', async () => undefined);
type Grant = { access_token: string; token_type: string; expires_in: number; scope: string };
type OAuthError = { error: string; error_description: string };

function requestToken(
  of: TestServer,
  form: Record<string, string> | string,
  headers: Record<string, string> = {},
) {
  const body = typeof form === 'string' ? form : new URLSearchParams(form).toString();
  const request = { headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers } };
  return createAnonymousClient(of).post<Grant>('/oauth/dpc/token', body, request);
}

const buildForm = ({ clientId, secret }: Pick<Actor, 'clientId' | 'secret'>) => ({
  grant_type: 'client_credentials',
  client_id: clientId,
  client_secret: secret.reveal(),
});

const renderBasicHeader = (id: string, secret: string) =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;

/** Lists projects with this token. */
const listProjectsWith = (token: string, of = server) =>
  createClient(of.transport, '/dpc/v1', async () => token).get('/projects');

async function requireOAuthError(
  answer: Awaited<ReturnType<typeof requestToken>>,
  status: number,
  error: string,
) {
  const found = JSON.parse(answer.text) as OAuthError;
  assert.deepEqual([answer.status, found.error], [status, error], answer.text);
  assert.ok(found.error_description.length > 0);
  assert.equal(answer.headers['cache-control'], 'no-store');
  if (status === 401) assert.match(answer.headers['www-authenticate'] ?? '', /^Basic /);
  return found;
}

test('a body that is not a form is refused before it is read', async () => {
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', '']) {
    const answer = await server.app.inject({
      method: 'POST',
      url: '/oauth/dpc/token',
      headers: type === '' ? {} : { 'content-type': type },
      payload: '{"not": "read',
    });
    assert.equal(answer.statusCode, 400, type);
    assert.deepEqual(answer.json(), {
      error: 'invalid_request',
      error_description: 'The body must be application/x-www-form-urlencoded.',
    });
  }
});

test('a client gets a bearer token for its id and secret', async () => {
  const { admin } = await server.account();
  const answer = await requestToken(server, { ...buildForm(admin), audience: 'https://somewhere.example' });
  assert.equal(answer.status, 200);
  const { access_token: token, ...rest } = answer.body;
  assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 1_800, scope: 'pipeline-execution' });
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.equal((await listProjectsWith(token)).status, 200);
});

test('a client may authenticate by HTTP Basic', async () => {
  const { admin } = await server.account();
  const authorization = renderBasicHeader(admin.clientId, admin.secret.reveal());
  const answer = await requestToken(server, 'grant_type=client_credentials', { authorization });
  assert.equal((await listProjectsWith(answer.body.access_token)).status, 200);
});

test('the token is a JWT of RFC 9068 that the published keys verify', async () => {
  const { admin, accountId } = await server.account();
  const { access_token: token } = (await requestToken(server, buildForm(admin))).body;
  const keys = (await createAnonymousClient(server).get<JSONWebKeySet>('/.well-known/jwks.json')).body;
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keys), {
    currentDate: server.clock.now(),
  });
  assert.deepEqual([protectedHeader.typ, protectedHeader.alg], ['at+jwt', 'ES256']);
  assert.equal(payload.iss, server.deps.config.publicUrl);
  assert.equal(payload.sub, admin.actorId);
  assert.equal(payload.aud, 'headgate:local', 'for any requested audience');
  assert.deepEqual(
    [payload.client_id, payload.account, payload.scope],
    [admin.clientId, accountId, 'pipeline-execution'],
  );
  assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 1_800);
  for (const key of keys.keys) assert.ok(!('d' in key), 'only the public half');
});

test('the metadata contain the URLs of the endpoint and the keys', async () => {
  const { body } = await createAnonymousClient(server).get<Record<string, unknown>>(
    '/.well-known/oauth-authorization-server',
  );
  const url = server.deps.config.publicUrl;
  assert.equal(body.issuer, url);
  assert.equal(body.token_endpoint, `${url}/oauth/dpc/token`);
  assert.equal(body.jwks_uri, `${url}/.well-known/jwks.json`);
  const openid = await createAnonymousClient(server).get('/.well-known/openid-configuration');
  assert.deepEqual([openid.status, openid.body], [200, body]);
});

test('errors have the OAuth format', async () => {
  const { admin } = await server.account();
  const form = buildForm(admin);
  const { grant_type: _, ...withoutGrant } = form;
  const { client_secret: __, ...withoutSecret } = form;
  await requireOAuthError(await requestToken(server, withoutGrant), 400, 'invalid_request');
  await requireOAuthError(
    await requestToken(server, { ...form, grant_type: 'password' }),
    400,
    'unsupported_grant_type',
  );
  await requireOAuthError(await requestToken(server, withoutSecret), 401, 'invalid_client');
  await requireOAuthError(
    await requestToken(server, { ...form, client_secret: 'wrong' }),
    401,
    'invalid_client',
  );
  await requireOAuthError(
    await requestToken(server, { ...form, client_id: 'nobody' }),
    401,
    'invalid_client',
  );
  await requireOAuthError(await requestToken(server, { ...form, client_id: 'a\0b' }), 401, 'invalid_client');
  const twice = `${new URLSearchParams(form)}&client_id=other`;
  await requireOAuthError(await requestToken(server, twice), 400, 'invalid_request');
  const both = { authorization: renderBasicHeader(admin.clientId, admin.secret.reveal()) };
  await requireOAuthError(await requestToken(server, form, both), 400, 'invalid_request');
  const json = await requestToken(server, JSON.stringify(form), { 'content-type': 'application/json' });
  await requireOAuthError(json, 400, 'invalid_request');
  await requireOAuthError(await requestToken(server, '', {}), 400, 'invalid_request');
});

test('a refusal does not reveal which clients exist', async () => {
  const { admin } = await server.account();
  const wrong = await requestToken(server, { ...buildForm(admin), client_secret: 'wrong' });
  const unknown = await requestToken(server, { ...buildForm(admin), client_id: 'hg_unknown' });
  assert.equal(wrong.text, unknown.text);
});

test('a revoked or expired credential gets no token, and its tokens stop working at once', async () => {
  for (const column of ['revoked_at', 'expires_at']) {
    const { admin, accountId } = await server.account();
    const { access_token: token } = (await requestToken(server, buildForm(admin))).body;
    assert.equal((await listProjectsWith(token)).status, 200);
    await server.database.query(`update credential set ${column} = $2 where account_id = $1`, [
      accountId,
      new Date(server.clock.now().getTime() - 1_000),
    ]);
    requireProblem(await listProjectsWith(token), 401, 'token-invalid');
    await requireOAuthError(await requestToken(server, buildForm(admin)), 401, 'invalid_client');
  }
});

test('a token expires after 30 minutes, as the token response says', async () => {
  const own = await startTestServer();
  const { admin } = await own.account();
  const { access_token: token } = (await requestToken(own, buildForm(admin))).body;
  own.clock.advance(1_795);
  assert.equal((await listProjectsWith(token, own)).status, 200);
  own.clock.advance(11);
  const refused = await listProjectsWith(token, own);
  assert.match(requireProblem(refused, 401, 'token-invalid').detail, /expired/);
  assert.equal(refused.headers['www-authenticate'], 'Bearer realm="headgate", error="invalid_token"');
});

test('a request without a token gets a WWW-Authenticate header', async () => {
  for (const authorization of [undefined, 'Basic eDp5', 'Bearer', 'Bearer  ', 'token']) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const answer = await createAnonymousClient(server).get('/dpc/v1/projects', { headers });
    requireProblem(answer, 401, 'token-required');
    assert.equal(answer.headers['www-authenticate'], 'Bearer realm="headgate"');
  }
});

test('the scheme Bearer is case-insensitive', async () => {
  const { admin } = await server.account();
  const headers = { authorization: `bearer ${await admin.token()}` };
  assert.equal((await createAnonymousClient(server).get('/dpc/v1/projects', { headers })).status, 200);
});

test('only an agent token is accepted by the agent protocol, and only there', async () => {
  const account = await server.account();
  const agent = await account.agent();
  const { access_token: agentToken } = (await requestToken(server, buildForm(agent))).body;
  requireProblem(await listProjectsWith(agentToken), 401, 'token-invalid');
  const hello = (token: string) =>
    createClient(server.transport, '/agent/v1', async () => token).post('/hello', {
      protocolVersions: [1],
      agentVersion: '1',
      instanceId: randomUUID(),
      abilities: [],
      concurrency: 1,
    });
  assert.equal((await hello(agentToken)).status, 200);
  requireProblem(await hello(await account.admin.token()), 401, 'token-invalid');
  // Again: the signatures are cached now.
  requireProblem(await listProjectsWith(agentToken), 401, 'token-invalid');
  requireProblem(await hello(await account.admin.token()), 401, 'token-invalid');
});

test('the token of a deleted agent is refused', async () => {
  const own = await startTestServer();
  const account = await own.account();
  const agent = await account.agent();
  const heartbeat = () => agent.client.post('/heartbeats', { instanceId: randomUUID(), held: [] });
  assert.equal((await heartbeat()).status, 200);
  await own.database.query('delete from agent where agent_id = $1', [agent.agentId]);
  own.clock.advance(3);
  requireProblem(await heartbeat(), 401, 'token-invalid');
});

test('a token of another region is refused', async () => {
  const elsewhere = await startTestServer({
    database: server.database,
    settings: { HEADGATE_REGION: 'elsewhere' },
  });
  const { admin } = await elsewhere.account();
  const { access_token: token } = (await requestToken(elsewhere, buildForm(admin))).body;
  assert.equal((await listProjectsWith(token, elsewhere)).status, 200);
  requireProblem(await listProjectsWith(token), 401, 'token-invalid');
});

test('a token that another service signed with the same key is refused', async () => {
  const other = await startTestServer({
    database: server.database,
    settings: { HEADGATE_PUBLIC_URL: 'https://other.example' },
  });
  const { admin } = await other.account();
  requireProblem(await listProjectsWith(await admin.token()), 401, 'token-invalid');
});

test('a token that was tampered with is refused', async () => {
  const [account, other] = [await server.account(), await server.account()];
  const token = await account.admin.token();
  const [header = '', payload = '', signature = ''] = token.split('.');
  const encodePart = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const claims = decodeJwt(token);
  const forged = encodePart({ ...claims, account: other.accountId, sub: other.admin.actorId });
  const none = encodePart({ ...decodeProtectedHeader(token), alg: 'none' });
  const shared = encodePart({ ...decodeProtectedHeader(token), alg: 'HS256' });
  const keys = await createAnonymousClient(server).get<JSONWebKeySet>('/.well-known/jwks.json');
  const [publicKey] = keys.body.keys;
  assert.ok(publicKey);
  const pem = createPublicKey({ key: publicKey, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  // The public key used as an HMAC secret, in each form in which a verifier could have it.
  const hmacs = [keys.text, JSON.stringify(publicKey), pem, publicKey.x ?? ''].map((secret) =>
    createHmac('sha256', secret).update(`${shared}.${payload}`).digest('base64url'),
  );
  const tokens = [
    `${header}.${forged}.${signature}`,
    `${header}.${payload}.${signature.slice(0, -4)}AAAA`,
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${none}.${payload}.`,
    `${none}.${payload}.${signature}`,
    ...hmacs.map((hmac) => `${shared}.${payload}.${hmac}`),
    'x.y.z',
    'x',
  ];
  for (const each of tokens) requireProblem(await listProjectsWith(each), 401, 'token-invalid');
});

test('a token signed with another key is refused, with any key id', async () => {
  const { admin } = await server.account();
  const token = await admin.token();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const sign = (header: object) =>
    new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header })
      .sign(privateKey);
  requireProblem(
    await listProjectsWith(await sign({ kid: decodeProtectedHeader(token).kid })),
    401,
    'token-invalid',
  );
  requireProblem(await listProjectsWith(await sign({ kid: 'other' })), 401, 'token-invalid');
  requireProblem(await listProjectsWith(await sign({})), 401, 'token-invalid');
});

test('a token of another type signed with our key is refused', async () => {
  const { admin } = await server.account();
  const token = await admin.token();
  const [, payload] = token.split('.');
  assert.ok(payload);
  const encoded = Buffer.from(JSON.stringify({ ...decodeProtectedHeader(token), typ: 'JWT' })).toString(
    'base64url',
  );
  requireProblem(
    await listProjectsWith(`${encoded}.${payload}.${token.split('.')[2]}`),
    401,
    'token-invalid',
  );
});

test('a token with another algorithm is refused, with any key id or embedded key', async () => {
  const { admin } = await server.account();
  const token = await admin.token();
  const header = { typ: 'at+jwt', kid: decodeProtectedHeader(token).kid ?? '' };
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ed = generateKeyPairSync('ed25519');
  const own = p256.publicKey.export({ format: 'jwk' });
  for (const [alg, key, more] of [
    ['RS256', rsa.privateKey, {}],
    ['PS256', rsa.privateKey, {}],
    ['ES384', p384.privateKey, {}],
    ['EdDSA', ed.privateKey, {}],
    ['ES256', p256.privateKey, { jwk: own }],
    ['ES256', p256.privateKey, { jwk: own, kid: '', jku: 'https://evil.example/jwks.json' }],
  ] as const) {
    const forged = new SignJWT(decodeJwt(token)).setProtectedHeader({ ...header, ...more, alg });
    requireProblem(await listProjectsWith(await forged.sign(key)), 401, 'token-invalid');
  }
});

test('a token signed with our key needs every claim, our audience and issuer, and a valid time', async () => {
  const { admin } = await server.account();
  const token = await admin.token();
  const claims = decodeJwt(token);
  const key = server.deps.signingKeys.findCurrent();
  const signClaims = (changed: object) =>
    new SignJWT({ ...claims, ...changed })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.keyId })
      .sign(key.private);
  assert.equal((await listProjectsWith(await signClaims({ jti: 'another' }))).status, 200);
  const now = Math.floor(server.clock.now().getTime() / 1_000);
  for (const changed of [
    { exp: undefined },
    { exp: now - 6 },
    { nbf: now + 60 },
    { sub: undefined },
    { account: undefined },
    { aud: undefined },
    { aud: 'headgate:local:agents' },
    { aud: 'headgate:elsewhere' },
    { iss: undefined },
    { iss: 'https://other.example' },
    { sub: randomUUID() },
    { account: randomUUID() },
  ]) {
    const answer = await listProjectsWith(await signClaims(changed));
    assert.equal(answer.status, 401, JSON.stringify(changed));
    requireProblem(answer, 401, 'token-invalid');
  }
});
