import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOauthScene, ownProject, signal, work } from './oauth-fixture.ts';

const { scene, fixture, write, readStored, configure, storeTokens, serve, countTokenRequests } =
  await createOauthScene();
const otherProject = '00000000-0000-4000-8000-0000000000bb';
const grant = { code: 'correct-code', codeVerifier: 'v', redirectUri: 'https://h.example/cb' };

test('an authorization exchanges its code once, with its verifier, and the tokens go to the vault', async () => {
  configure({
    grant: {
      code: 'correct-code',
      codeVerifier: 'correct-verifier',
      redirectUri: 'https://h.example/cb',
    },
  });
  serve(
    'correct-none',
    'correct-first',
    (form) =>
      form.get('code') === 'correct-code' &&
      form.get('code_verifier') === 'correct-verifier' &&
      form.get('redirect_uri') === 'https://h.example/cb' &&
      form.get('grant_type') === 'authorization_code',
  );
  await fixture.connectors.tokens.authorize(work, 'crm', signal);
  assert.deepEqual(await readStored(scene.plan.tokens?.secretName ?? ''), {
    projectId: ownProject,
    accessToken: 'correct-first',
    refreshToken: 'correct-first-refresh',
  });
  serve('correct-none', 'correct-first', () => false);
  await assert.rejects(fixture.connectors.tokens.authorize(work, 'crm', signal), /invalid_grant/);
});

test('an authorization does not replace a secret that holds no tokens', async () => {
  configure({ grant, tokens: { secretName: 'client' } });
  serve('correct-none', 'correct-first', () => true);
  await assert.rejects(
    fixture.connectors.tokens.authorize(work, 'crm', signal),
    /the secret "client" holds something else than tokens/,
  );
  assert.equal(countTokenRequests(), 0);
  assert.equal((await readStored('client')).clientId, 'me');
});

test('an authorization does not replace tokens of another project, nor does a load use them', async () => {
  configure({ grant });
  const name = scene.plan.tokens?.secretName ?? '';
  await write(name, { accessToken: 'correct-theirs', refreshToken: 'correct-r', projectId: otherProject });
  serve('correct-none', 'correct-first', () => true);
  const { tokens } = fixture.connectors;
  await assert.rejects(
    tokens.authorize(work, 'crm', signal),
    /holds the tokens of another project, which would be lost: .*another tokenSecretReference/,
  );
  await assert.rejects(tokens.read(work, 'crm', undefined, signal), /holds the tokens of another project/);
  assert.equal(countTokenRequests(), 0);
  assert.equal((await readStored(name)).accessToken, 'correct-theirs');
});

test('an authorization replaces tokens without a mark only if it was authorized before', async () => {
  configure({ grant });
  await storeTokens('correct-old');
  serve('correct-none', 'correct-first', () => true);
  const { tokens } = fixture.connectors;
  await assert.rejects(tokens.authorize(work, 'crm', signal), /holds tokens that this project did not store/);
  scene.plan = { ...scene.plan, authorizedAt: '2026-01-01T00:00:00.000Z' };
  await tokens.authorize(work, 'crm', signal);
  assert.equal((await readStored(scene.plan.tokens?.secretName ?? '')).projectId, ownProject);
});
