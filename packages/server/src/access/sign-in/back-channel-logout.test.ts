/** Signing out at a real OpenID provider, which tells this server of it. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { createIssuerScenes } from '../../../testing/issuer-scene.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8' } });
const { createScene, signIn } = createIssuerScenes(server, await server.listen());

test('signing out at the issuer ends the session that began there, and no other', async () => {
  const scene = await createScene();
  const { account, issuer } = scene;
  const [ada, bob] = [await account.user('MEMBER'), await account.user('MEMBER')];
  const join = async (sub: string, email: string) => {
    issuer.person = { sub, email, email_verified: true };
    const { client, answer } = await signIn(scene);
    assert.equal(answer.status, 303, answer.text);
    return client;
  };
  const ofBob = await join('bob', bob.userName);
  const elsewhere = await join('ada', ada.userName);
  const ofAda = await join('ada', ada.userName);
  const byLink = (await account.signIn(ada.actorId)).client;
  await issuer.signOut();
  requireProblem(await ofAda.get('/me'), 401, 'session-invalid');
  for (const client of [ofBob, elsewhere, byLink]) assert.equal((await client.get('/me')).status, 200);
  const { text } = await account.admin.get('/events?after=oldest&limit=100&eventName=session-ended');
  assert.match(text, /signed out at the issuer/);
});

test('what is no logout token of the issuer ends nothing', async () => {
  const scene = await createScene();
  const { account, issuer, id } = scene;
  const ada = await account.user('MEMBER');
  issuer.person = { sub: 'ada', email: ada.userName, email_verified: true };
  const { client } = await signIn(scene);
  const url = `/sign-in/issuers/${id}/back-channel-logout`;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = {
    iss: issuer.issuer,
    aud: 'headgate',
    sub: 'ada',
    iat: Math.floor(Date.now() / 1_000),
    jti: createHash('sha256').digest('hex'),
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  };
  const unsigned = `${encode({ alg: 'none' })}.${encode(claims)}.`;
  for (const token of ['', 'x', unsigned, `${encode({ alg: 'HS256' })}.${encode(claims)}.AAAA`, 'a.b.c']) {
    const body = new URLSearchParams({ logout_token: token }).toString();
    const answer = await server.transport({ method: 'POST', url, headers, body });
    assert.equal(answer.status, 400, answer.text);
  }
  assert.equal((await client.get('/me')).status, 200);
});
