import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ConnectorOauthPlan } from '@headgate/contract';
import { Secret } from '@headgate/contract/without-schemas';
import { createEndpointFixture } from '../engine/endpoint-fixture.ts';
import type { SeenRequest } from '../testing/fake-api.ts';
import { createFileVault } from '../vaults/file.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-oauth-'));
const vault = createFileVault({ name: 'vault', folder, key: undefined });
const signal = new AbortController().signal;
const work = { workId: '00000000-0000-4000-8000-000000000002', epoch: 1 };

let plan: ConnectorOauthPlan;
const problems: (string | null)[] = [];
const fixture = await createEndpointFixture(undefined, {
  controlPlane: {
    connectorOauth: async () => plan,
    connectorOauthProblem: async ({ problem }) => void problems.push(problem),
  },
  vaults: { find: () => vault },
});
after(() => {
  fixture.dispose();
  rmSync(folder, { recursive: true });
});
const { api } = fixture;

const write = (name: string, members: object) =>
  vault.write({ name }, new Secret(JSON.stringify(members)), signal);
const readStored = async (name: string) => JSON.parse((await vault.read({ name }, signal)).reveal());
await write('client', { clientId: 'me', clientSecret: 'correct client' });

let configurations = 0;
function configure(members: Partial<ConnectorOauthPlan>): void {
  configurations += 1;
  plan = {
    connectorOauthId: `00000000-0000-4000-8000-${String(configurations).padStart(12, '0')}`,
    name: 'crm',
    grantType: 'AUTHORIZATION_CODE',
    tokenUrl: `${api.origin}/token`,
    scopes: ['read', 'list'],
    additionalParameters: { audience: 'orders' },
    clientSecret: { secretName: 'client' },
    tokens: { secretName: `tokens-${configurations}` },
    ...members,
  };
}
const storeTokens = (accessToken: string, refreshToken?: string) =>
  write(`tokens-${configurations}`, { accessToken, ...(refreshToken === undefined ? {} : { refreshToken }) });

/** An API that takes one access token, and gives the next one for a grant. */
function serve(valid: string, next: string, grant: (form: URLSearchParams, request: SeenRequest) => boolean) {
  let current = valid;
  api.requests.length = 0;
  api.answer((request, response) => {
    if (request.path === '/token') {
      if (grant(new URLSearchParams(request.body), request)) {
        current = next;
        return {
          access_token: next,
          refresh_token: `${next}-refresh`,
          expires_in: 3600,
          token_type: 'bearer',
        };
      }
      response.statusCode = 400;
      return { error: 'invalid_grant' };
    }
    if (request.headers.authorization === `Bearer ${current}`) return { data: [{ id: 1 }] };
    response.statusCode = 401;
    return {};
  });
}

const load = () => fixture.load({ connectionRef: { overrides: { oauth: 'crm' } } });
const countTokenRequests = () => api.requests.filter(({ path }) => path === '/token').length;

test('a token that ends between two pages is replaced once, and stored before it is used', async () => {
  configure({});
  await storeTokens('correct-old', 'correct-refresh');
  await fixture.publishProfile({ auth: 'OAUTH', paging: { type: 'page' } });
  let valid = 'correct-old';
  api.answer(async (request, response) => {
    if (request.path === '/token') {
      const form = new URLSearchParams(request.body);
      assert.equal(form.get('grant_type'), 'refresh_token');
      assert.equal(form.get('refresh_token'), 'correct-refresh');
      assert.equal(form.get('client_secret'), 'correct client');
      assert.equal(form.get('audience'), 'orders');
      valid = 'correct-new';
      response.end(
        JSON.stringify({ access_token: valid, refresh_token: 'correct-refresh-2', expires_in: 3600 }),
      );
      return undefined;
    }
    if (request.headers.authorization === 'Bearer correct-new')
      assert.equal((await readStored(plan.tokens?.secretName ?? '')).refreshToken, 'correct-refresh-2');
    if (
      request.headers.authorization !== `Bearer ${valid}` ||
      (valid === 'correct-old' && request.query.get('page') === '2')
    )
      response.writeHead(401).end('{}');
    else
      response.end(
        JSON.stringify({
          data: request.query.get('page') === '3' ? [] : [{ id: request.query.get('page') }],
        }),
      );
    return undefined;
  });
  api.requests.length = 0;
  const { status, message } = await load();
  assert.equal(status, 'SUCCESS', message);
  assert.equal(countTokenRequests(), 1);
  assert.deepEqual(await fixture.rows('select id from loaded order by id'), [['1'], ['2']]);
  assert.deepEqual(await readStored(plan.tokens?.secretName ?? ''), {
    accessToken: 'correct-new',
    refreshToken: 'correct-refresh-2',
  });
});

test('loads at the same time replace a token by one request', async () => {
  configure({});
  await storeTokens('correct-old', 'correct-refresh');
  const { tokens } = fixture.connectors;
  serve('correct-none', 'correct-next', () => true);
  const all = await Promise.all([1, 2, 3, 4].map(() => tokens.read(work, 'crm', 'correct-old', signal)));
  assert.deepEqual(
    all.map((token) => token.reveal()),
    Array(4).fill('correct-next'),
  );
  assert.equal(countTokenRequests(), 1);
});

test('a token that another instance has replaced is taken from the vault', async () => {
  configure({});
  await storeTokens('correct-of-another', 'correct-refresh');
  serve('correct-of-another', 'correct-unused', () => false);
  await fixture.publishProfile({ auth: 'OAUTH' });
  assert.equal(
    (await fixture.connectors.tokens.read(work, 'crm', 'correct-old', signal)).reveal(),
    'correct-of-another',
  );
  assert.equal((await load()).status, 'SUCCESS');
  assert.equal(countTokenRequests(), 0);
});

test('a refresh token that was revoked is said, shown by the configuration, and cleared when it works again', async () => {
  configure({});
  await storeTokens('correct-old', 'correct-revoked');
  await fixture.publishProfile({ auth: 'OAUTH' });
  serve('correct-none', 'correct-next', (form) => form.get('refresh_token') === 'correct-good');
  problems.length = 0;
  const { message } = await load();
  assert.match(
    message ?? '',
    /the OAuth configuration "crm" gives no token: .*invalid_grant.*authorize the OAuth configuration again/,
  );
  assert.match(problems[0] ?? '', /invalid_grant/);
  assert.ok(!JSON.stringify([message, problems]).includes('correct-'));
  await storeTokens('correct-old', 'correct-good');
  assert.equal((await load()).status, 'SUCCESS');
  assert.equal(problems.at(-1), null);
});

test('client credentials are asked for once until they are over; a server may want them as Basic', async () => {
  configure({ grantType: 'CLIENT_CREDENTIALS', tokens: undefined as never });
  await fixture.publishProfile({ auth: 'OAUTH' });
  const basic = `Basic ${btoa('me:correct+client')}`;
  api.requests.length = 0;
  api.answer((request, response) => {
    if (request.path !== '/token') return { data: [{ id: 1 }] };
    if (request.headers.authorization === basic) return { access_token: 'correct-access', expires_in: 60 };
    response.statusCode = 401;
    return { error: 'invalid_client' };
  });
  assert.equal((await load()).status, 'SUCCESS');
  assert.equal((await load()).status, 'SUCCESS');
  const asked = api.requests.filter(({ path }) => path === '/token');
  assert.equal(asked.length, 2);
  assert.equal(new URLSearchParams(asked[1]?.body).get('scope'), 'read list');
  assert.equal(new URLSearchParams(asked[1]?.body).has('client_secret'), false);
});

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
  assert.deepEqual(await readStored(plan.tokens?.secretName ?? ''), {
    accessToken: 'correct-first',
    refreshToken: 'correct-first-refresh',
  });
  serve('correct-none', 'correct-first', () => false);
  await assert.rejects(fixture.connectors.tokens.authorize(work, 'crm', signal), /invalid_grant/);
});

test('an authorization does not replace a secret that holds no tokens', async () => {
  const grant = { code: 'correct-code', codeVerifier: 'v', redirectUri: 'https://h.example/cb' };
  configure({ grant, tokens: { secretName: 'client' } });
  serve('correct-none', 'correct-first', () => true);
  await assert.rejects(
    fixture.connectors.tokens.authorize(work, 'crm', signal),
    /the secret "client" holds something else than tokens/,
  );
  assert.equal(countTokenRequests(), 0);
  assert.equal((await readStored('client')).clientId, 'me');
});

test('a token server that answers something else gives no token, and is not quoted', async () => {
  configure({ grantType: 'CLIENT_CREDENTIALS' });
  for (const [text, says] of [
    ['<html>correct-client</html>', /without an access_token/],
    ['{"access_token": 7}', /without an access_token/],
  ] as const) {
    api.answer((_, response) => void response.end(text));
    await assert.rejects(fixture.connectors.tokens.read(work, 'crm', undefined, signal), (error: Error) => {
      assert.match(error.message, says);
      return !error.message.includes('correct-');
    });
  }
});
