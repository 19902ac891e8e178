/** A secret on its way into a vault, with an agent played by the test. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Agent, BodyOf, writeSecretValue } from '@headgate/contract';
import { CompactEncrypt } from 'jose';
import { createClient, requireProblem } from '../../../testing/client.ts';
import {
  createSealingAgent,
  makeCertificateRequest,
  makeKeys,
  type SealingAgent,
} from '../../../testing/sealing-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(patientRequests);
type Secret = BodyOf<typeof writeSecretValue>['secret'];
interface Written {
  resolver_ref: string;
  vaultSecretName: string;
  receipt: string;
}
const password: Secret = { name: 'orders-api', type: 'PASSWORD', value: { password: 'x1' } };

async function scene(of = server, type: 'ec' | 'rsa' = 'ec') {
  const account = await of.account();
  const agent = await createSealingAgent(account, { type });
  const path = `/secrets/${agent.agentId}/secret-value`;
  const write = (secret: object, query = '', key?: string) =>
    account.admin.post<Written>(
      `${path}${query}`,
      { secret },
      key === undefined ? {} : { headers: { 'idempotency-key': key } },
    );
  return { account, admin: account.admin, agent, write };
}

/** A value sealed by the caller with the certificate that the operation returns. */
async function sealed(agent: SealingAgent, input: object = {}, plain: object = { password: 'x2' }) {
  const header = {
    alg: 'ECDH-ES',
    enc: 'A256GCM',
    typ: 'headgate-secret+jwe',
    kid: agent.issued.kid,
    agent: agent.agentId,
    name: 'orders-api',
    type: 'PASSWORD',
    jti: `a value of ${Math.random()} ${Math.random()}`,
    exp: Math.floor(server.clock.now().getTime() / 1_000) + 60,
    ...input,
  };
  return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(plain)))
    .setProtectedHeader(header)
    .encrypt(new X509Certificate(agent.issued.certificate).publicKey);
}
const bySealed = (sealedValue: string) => ({ name: 'orders-api', type: 'PASSWORD', sealedValue });

for (const type of ['ec', 'rsa'] as const) {
  test(`only its agent can open a value, and a receipt confirms it (${type})`, async () => {
    const { agent, write } = await scene(server, type);
    const answered = write({ ...password, key: 'k' }, '?vaultName=main&provider=AWS');
    const work = await agent.next();
    assert.ok(work);
    assert.equal(await agent.open(work), '{"password":"x1"}');
    const { sealedValue: _, keyId, ...place } = work.payload;
    assert.deepEqual(place, {
      name: 'orders-api',
      key: 'k',
      type: 'PASSWORD',
      vaultName: 'main',
      provider: 'AWS',
    });
    assert.equal(keyId, agent.issued.kid);
    await agent.end(work);
    const { status, body } = await answered;
    assert.equal(status, 201);
    assert.deepEqual([body.resolver_ref, body.vaultSecretName], ['test://orders-api', 'orders-api']);
  });
}

test('a caller can seal a value with the response of the certificate operation', async () => {
  const { admin, agent, write } = await scene();
  const found = await admin.get<{ certificate: string; kid: string; issuerChain: string[] }>(
    `/agents/${agent.agentId}/certificate`,
  );
  assert.equal(found.body.kid, agent.issued.kid);
  const [issuer = ''] = found.body.issuerChain;
  assert.ok(new X509Certificate(found.body.certificate).verify(new X509Certificate(issuer).publicKey));
  const answered = write(bySealed(await sealed(agent)));
  const work = await agent.next();
  assert.ok(work);
  assert.equal(await agent.open(work), '{"password":"x2"}');
  await agent.end(work);
  assert.equal((await answered).status, 201);
});

test('a sealed value that is expired, swapped, truncated, for another key or already used is refused', async () => {
  const { agent, write } = await scene();
  const now = Math.floor(server.clock.now().getTime() / 1_000);
  const bad: [object, RegExp][] = [
    [{ exp: now - 1 }, /stale/],
    [{ exp: now + 100_000 }, /more than 3600 s ahead/],
    [{ name: 'other' }, /another `name`/],
    [{ key: 'other' }, /another `key`/],
    [{ vaultName: 'other' }, /another `vaultName`/],
    [{ type: 'OAUTH_CLIENT_CRED' }, /another `type`/],
    [{ agent: 'other' }, /another agent/],
    [{ kid: 'x'.repeat(43) }, /not the certificate of a connected instance/],
    [{ jti: 'short' }, /`jti`/],
    [{ typ: 'JWE' }, /`typ`/],
    [{ enc: 'A128GCM' }, /`enc`/],
  ];
  for (const [input, reason] of bad) {
    const refused = requireProblem(
      await write(bySealed(await sealed(agent, input))),
      422,
      'sealed-value-refused',
    );
    assert.match(refused.detail, reason);
  }
  const good = await sealed(agent);
  const [first] = await Promise.all([write(bySealed(good)), agent.confirmNext()]);
  assert.equal(first.status, 201);
  requireProblem(await write(bySealed(good)), 409, 'sealed-value-used');
});

/** Changes one of the five parts of a compact JWE. */
const withPart = (jwe: string, index: number, change: (part: string) => string) =>
  jwe
    .split('.')
    .map((part, at) => (at === index ? change(part) : part))
    .join('.');
const headerOf = (jwe: string) => JSON.parse(Buffer.from(jwe.split('.')[0] ?? '', 'base64url').toString());
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const withHeader = (jwe: string, input: object) =>
  withPart(jwe, 0, () => encoded({ ...headerOf(jwe), ...input }));

test('a malformed sealed value gets 422 with the reason, before an agent is asked', async () => {
  const { agent, write } = await scene();
  const good = await sealed(agent);
  const wrapped = await sealed(agent, { alg: 'ECDH-ES+A256KW' });
  const zeros = (bytes: number) => () => Buffer.alloc(bytes).toString('base64url');
  const malformed: [string, RegExp][] = [
    ['', /1 parts/],
    ['x', /1 parts/],
    [good.split('.').slice(0, 4).join('.'), /4 parts/],
    [`${good}.AAAA`, /6 parts/],
    [good.slice(0, -6), /authentication tag has 12 bytes/],
    [good.slice(0, -1), /authentication tag is not base64url without padding, or is truncated/],
    [`${good}=`, /authentication tag is not base64url/],
    [good.replace('.', '. '), /encrypted key is not base64url/],
    [withPart(good, 3, (text) => `${text}+`), /ciphertext is not base64url/],
    [withPart(good, 3, () => ''), /ciphertext is empty/],
    [withPart(good, 2, zeros(16)), /initialization vector has 16 bytes/],
    [withPart(good, 1, zeros(40)), /encrypted key has 40 bytes; ECDH-ES needs 0/],
    [withPart(wrapped, 1, zeros(41)), /encrypted key has 41 bytes; ECDH-ES\+A256KW needs 40/],
    [withPart(wrapped, 1, () => ''), /encrypted key has 0 bytes/],
    [withPart(good, 0, () => ''), /protected header is not a JSON object/],
    [withPart(good, 0, () => encoded('text')), /protected header is not a JSON object/],
    [withPart(good, 0, () => encoded(null)), /protected header is not a JSON object/],
    [withPart(good, 0, (part) => part.slice(0, 20)), /protected header is not a JSON object/],
    [withHeader(good, { alg: 'dir' }), /`alg` is none of/],
    [withHeader(good, { alg: ['ECDH-ES'] }), /`alg` is none of/],
    [withHeader(good, { alg: 'RSA-OAEP-256' }), /`alg` does not fit the certificate/],
    [withHeader(good, { enc: 'A256CBC-HS512' }), /`enc` is not A256GCM/],
    [withHeader(good, { zip: 'DEF' }), /`zip` or `crit`/],
    [withHeader(good, { exp: 'soon' }), /no `exp`/],
    [withHeader(good, { kid: null }), /not the certificate of a connected instance/],
    [withHeader(good, { epk: undefined }), /`epk` is not a public key/],
    [
      withHeader(good, { epk: { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' } }),
      /`epk` is not a public key/,
    ],
    [
      withHeader(good, { epk: makeKeys('rsa').publicKey.export({ format: 'jwk' }) }),
      /`epk` is not a public key/,
    ],
    [withPart(good, 3, () => 'A'.repeat(200_000)), /characters; the limit is 200000/],
  ];
  for (const [sealedValue, reason] of malformed) {
    const { detail } = requireProblem(await write(bySealed(sealedValue)), 422, 'sealed-value-refused');
    assert.match(detail, reason);
  }
  assert.equal(await agent.next(0), undefined);
  requireProblem(await write({ ...bySealed(good), sealedValue: 1 }), 400, 'invalid-request');
});

test('the encrypted key of a sealed value must have the length of the RSA key', async () => {
  const { agent, write } = await scene(server, 'rsa');
  const good = await sealed(agent, { alg: 'RSA-OAEP-256' });
  const short = withPart(good, 1, (part) => part.slice(0, 40));
  const { detail } = requireProblem(await write(bySealed(short)), 422, 'sealed-value-refused');
  assert.match(detail, /encrypted key has 30 bytes; RSA-OAEP-256 needs 256/);
  const [answer] = await Promise.all([write(bySealed(good)), agent.confirmNext()]);
  assert.equal(answer.status, 201);
});

test('a sealed value that the agent cannot open, or that lacks members, gets 422; one sealed by the server gets 502', async () => {
  const { agent, write } = await scene();
  const refuse = async () => {
    const work = await agent.next();
    assert.ok(work);
    const valueFault = 'it lacks password of the type PASSWORD';
    await agent.end(work, { message: `the sealed value is refused: ${valueFault}.`, valueFault });
  };
  const mine = bySealed(await sealed(agent, {}, { pass: 'x' }));
  const [refused] = await Promise.all([write(mine, '', 'lacking'), refuse()]);
  const { detail } = requireProblem(refused, 422, 'sealed-value-refused');
  assert.equal(detail, 'body.secret.sealedValue is refused: it lacks password of the type PASSWORD.');
  const [failed] = await Promise.all([write(password), refuse()]);
  assert.match(requireProblem(failed, 502, 'vault-refused').detail, /the value that the server sealed/);
});

test('each type requires its members, and exactly one of value and sealedValue', async () => {
  const { write } = await scene();
  const lacking = { name: 'a', type: 'OAUTH_CLIENT_CRED', value: { clientId: 'x' } };
  const neither = { name: 'a', type: 'PASSWORD' };
  const both = { ...password, sealedValue: 'a..b.c.d' };
  for (const [secret, reason] of [
    [lacking, /lacks clientSecret, which the type OAUTH_CLIENT_CRED/],
    [neither, /one of `value` and `sealedValue`/],
    [both, /one of `value` and `sealedValue`/],
  ] as const) {
    assert.match(requireProblem(await write(secret), 422, 'secret-value-incomplete').detail, reason);
  }
});

test('an agent that is not connected or has no certificate gets 409; an unknown one 404', async () => {
  const { account, admin, agent, write } = await scene();
  const other = await account.agent();
  requireProblem(
    await admin.post(`/secrets/${other.agentId}/secret-value`, { secret: password }),
    409,
    'agent-not-connected',
  );
  server.clock.advance(60);
  requireProblem(await write(password), 409, 'agent-not-connected');
  const stranger = await scene();
  const path = `/secrets/${agent.agentId}/secret-value`;
  requireProblem(await stranger.admin.post(path, { secret: password }), 404, 'agent-not-found');
});

test('a refusal of the vault gets 502 with the agent’s reason, and the same key tries again', async () => {
  const { agent, write } = await scene();
  const refuse = async () => {
    const work = await agent.next();
    assert.ok(work);
    await agent.end(work, { message: 'the vault "main" refuses the agent.' });
  };
  const [first] = await Promise.all([write(password, '', 'one'), refuse()]);
  assert.match(requireProblem(first, 502, 'vault-refused').detail, /refuses the agent/);
  const [second] = await Promise.all([write(password, '', 'one'), agent.confirmNext()]);
  assert.equal(second.status, 201);
});

test('a receipt signed by another key, or about another value, is refused', async () => {
  const { account, agent, write } = await scene();
  const other = await createSealingAgent(account);
  const confirm = async (said: object) => {
    const work = await agent.next();
    assert.ok(work);
    await agent.end(work, said);
  };
  for (const said of [{ name: 'other' }, { jti: 'another one of these' }, { agent: other.agentId }, {}]) {
    if (Object.keys(said).length === 0) agent.privateKey = other.privateKey;
    const [answer] = await Promise.all([write(password), confirm(said)]);
    assert.match(requireProblem(answer, 502, 'vault-refused').detail, /receipt is not signed/);
  }
});

test('of two instances only the one with the key gets the value', async () => {
  const { account, agent, write } = await scene();
  const second = await createSealingAgent(account, { agent });
  const answered = write(bySealed(await sealed(agent)));
  assert.equal(await second.next(1), undefined);
  await agent.confirmNext();
  assert.equal((await answered).status, 201);
});

test('the events of a write are request, claim and end, without the value', async () => {
  const { account, agent, write } = await scene();
  await Promise.all([write({ ...password, value: { password: 'unheard-of' } }), agent.confirmNext()]);
  const events = await server.database.query<{ name: string; row: string }>(
    'select name, e::text as row from event e where account_id = $1 order by event_id',
    [account.accountId],
  );
  assert.deepEqual(
    events.map(({ name }) => name).filter((name) => /secret|certificate/.test(name)),
    ['certificate-issued', 'secret-write-requested', 'secret-write-claimed', 'secret-write-ended'],
  );
  assert.ok(!events.some(({ row }) => row.includes('unheard-of')));
});

test('refreshing the agent’s secret revokes its certificates, and unclaimed values sealed to them end', async () => {
  const { account, admin, agent, write } = await scene();
  const before = await sealed(agent);
  const waiting = write(password);
  const queued = "select from work where account_id = $1 and state = 'queued'";
  while ((await server.database.query(queued, [account.accountId])).length === 0) await delay(5);
  await admin.post(`/agents/${agent.agentId}/credentials`, { action: 'SECRET_REFRESH' });
  requireProblem(await admin.get(`/agents/${agent.agentId}/certificate`), 409, 'agent-not-connected');
  requireProblem(await write(password), 409, 'agent-not-connected');
  // An earlier token is still accepted for a moment, but gets no certificate.
  const request = await makeCertificateRequest(makeKeys('ec'));
  requireProblem(
    await agent.client.post('/certificates', { instanceId: agent.instanceId, request }),
    401,
    'token-invalid',
  );
  server.clock.advance(1);
  await server.sweep();
  assert.match(requireProblem(await waiting, 502, 'vault-refused').detail, /does it have the current secret/);
  const events = await server.database.query<{ name: string; before: { keyId: string } | null }>(
    "select name, state_before as before from event where account_id = $1 and name in ('agent-secret-refreshed', 'certificate-revoked') order by event_id",
    [account.accountId],
  );
  assert.deepEqual(
    events.map(({ name, before }) => [name, before?.keyId]),
    [
      ['agent-secret-refreshed', undefined],
      ['certificate-revoked', agent.issued.kid],
    ],
  );

  const owner = { accountId: account.accountId, actorId: agent.agentId, clientId: agent.clientId };
  const token = () => server.deps.tokens.issue({ ...owner, generation: 1 }, 'agent');
  const renewed = createClient(server.transport, '/agent/v1', token);
  const again = await createSealingAgent(account, { agent: { ...agent, client: renewed } });
  const refused = await write(bySealed(before));
  assert.match(
    requireProblem(refused, 422, 'sealed-value-refused').detail,
    /not the certificate of a connected instance/,
  );
  const [answer] = await Promise.all([write(password), again.confirmNext()]);
  assert.equal(answer.status, 201);
});

test('a written name is granted to the project of the request, once the agent has written it', async () => {
  const { account, admin, agent, write } = await scene();
  const { projectId, path } = await account.project();
  const member = await account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' });
  const refer = (name: string) =>
    member.post(`${path}/secret-references/${name}`, { type: 'PASSWORD', secretName: 'orders-api' });
  const refused = write(password, `?projectId=${projectId}`);
  const first = await agent.next();
  assert.ok(first);
  requireProblem(await refer('early'), 403, 'vault-name-not-granted');
  await agent.end(first, { message: 'full' });
  requireProblem(await refused, 502, 'vault-refused');
  requireProblem(await refer('failed'), 403, 'vault-name-not-granted');
  void agent.confirmNext();
  assert.equal((await write(password, `?projectId=${projectId}`)).status, 201);
  assert.equal((await refer('granted')).status, 201);
  const other = await account.project();
  const stranger = await account.actor('MEMBER', { projectId: other.projectId, role: 'CONTRIBUTOR' });
  const body = { type: 'PASSWORD', secretName: 'orders-api' };
  requireProblem(
    await stranger.post(`${other.path}/secret-references/r`, body),
    403,
    'vault-name-not-granted',
  );
  const access = (await admin.get<Agent>(`/agents/${agent.agentId}`)).body.vaultAccess;
  assert.deepEqual(access?.projects, { [projectId]: { prefixes: [], names: ['orders-api'] } });
  const elsewhere = await (await server.account()).project();
  requireProblem(await write(password, `?projectId=${elsewhere.projectId}`), 422, 'unknown-project');
});
