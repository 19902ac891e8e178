import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProfile } from '@headgate/pipelines';
import { ControlPlaneError } from '../session/control-plane.ts';
import { createOauthScene, ownProject, signal, work } from './oauth-fixture.ts';

const { scene, problems, fixture, api, readStored, configure, storeTokens, serve, load, countTokenRequests } =
  await createOauthScene();

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
      assert.equal((await readStored(scene.plan.tokens?.secretName ?? '')).refreshToken, 'correct-refresh-2');
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
  assert.deepEqual(await readStored(scene.plan.tokens?.secretName ?? ''), {
    projectId: ownProject,
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
  const queries = api.requests.filter(({ path }) => path === '/token');
  assert.equal(queries.length, 2);
  assert.equal(new URLSearchParams(queries[1]?.body).get('scope'), 'read list');
  assert.equal(new URLSearchParams(queries[1]?.body).has('client_secret'), false);
});

test('a token server that answers something else gives no token, and is not quoted', async () => {
  configure({ grantType: 'CLIENT_CREDENTIALS' });
  for (const [text, says] of [
    ['<html>correct-client</html>', /without an access_token/],
    ['{"access_token": 7}', /without an access_token/],
    [`{"access_token": "${'correct-'.repeat(2_100)}"}`, /a token of 16800 characters, and at most 16384/],
  ] as const) {
    api.answer((_, response) => void response.end(text));
    await assert.rejects(fixture.connectors.tokens.read(work, 'crm', undefined, signal), (error: Error) => {
      assert.match(error.message, says);
      return !error.message.includes('correct-');
    });
  }
});

test('a refresh that loses to one of another agent uses what the winner stored', async () => {
  configure({});
  await storeTokens('correct-old', 'correct-refresh');
  serve('correct-none', 'correct-unused', () => {
    // The winner stores its tokens while this request is refused.
    void storeTokens('correct-winner', 'correct-refresh-2');
    return false;
  });
  problems.length = 0;
  const token = await fixture.connectors.tokens.read(work, 'crm', 'correct-old', signal);
  assert.equal(token.reveal(), 'correct-winner');
  assert.deepEqual(problems, []);
});

test('a token is not used from memory after the configuration was authorized again', async () => {
  configure({ authorizedAt: '2026-01-01T00:00:00.000Z' });
  await storeTokens('correct-first', 'correct-refresh');
  const { tokens } = fixture.connectors;
  assert.equal((await tokens.read(work, 'crm', undefined, signal)).reveal(), 'correct-first');
  await storeTokens('correct-second', 'correct-refresh');
  assert.equal((await tokens.read(work, 'crm', undefined, signal)).reveal(), 'correct-first');
  scene.plan = { ...scene.plan, authorizedAt: '2026-02-01T00:00:00.000Z' };
  assert.equal((await tokens.read(work, 'crm', undefined, signal)).reveal(), 'correct-second');
});

test('a problem that an earlier process reported is cleared', async () => {
  configure({ problem: 'invalid_grant' });
  await storeTokens('correct-old', 'correct-refresh');
  serve('correct-none', 'correct-next', () => true);
  problems.length = 0;
  await fixture.connectors.tokens.read(work, 'crm', 'correct-old', signal);
  assert.deepEqual(problems, [null]);
});

test('a caller that stops waits no longer, and the new tokens are stored all the same', async () => {
  configure({});
  await storeTokens('correct-old', 'correct-refresh');
  const stop = new AbortController();
  const question = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  api.answer(async () => {
    question.resolve();
    await answer.promise;
    return { access_token: 'correct-next', refresh_token: 'correct-refresh-2' };
  });
  const { tokens } = fixture.connectors;
  const reading = tokens.read(work, 'crm', 'correct-old', stop.signal);
  await question.promise;
  stop.abort(new Error('the run was cancelled'));
  await assert.rejects(reading, /the run was cancelled/);
  answer.resolve();
  await tokens.settle();
  assert.equal((await readStored(scene.plan.tokens?.secretName ?? '')).refreshToken, 'correct-refresh-2');
});

test('tokens that a vault does not take are kept, and stored before they are used', async () => {
  configure({});
  await storeTokens('correct-old', 'correct-refresh');
  serve('correct-none', 'correct-next', (form) => form.get('refresh_token') === 'correct-refresh');
  const { tokens } = fixture.connectors;
  scene.vaultIsDown = true;
  await assert.rejects(
    tokens.read(work, 'crm', 'correct-old', signal),
    /could not be stored: .*is not available/,
  );
  scene.vaultIsDown = false;
  assert.equal((await tokens.read(work, 'crm', 'correct-old', signal)).reveal(), 'correct-next');
  assert.equal(countTokenRequests(), 1);
  assert.equal((await readStored(scene.plan.tokens?.secretName ?? '')).refreshToken, 'correct-next-refresh');
});

test('a configuration that does not exist, or is not authorized, is said in words of the user', async () => {
  configure({});
  for (const [code, says] of [
    ['connector-oauth-not-found', /^the OAuth configuration "crm" does not exist in the project: create it/],
    ['connector-oauth-pending', /^the OAuth configuration "crm" is PENDING: authorize it/],
    ['work-not-held', /^the OAuth configuration "crm" cannot be looked up: /],
  ] as const) {
    scene.lookupFault = new ControlPlaneError(422, code, 'the server answered 422');
    await assert.rejects(fixture.connectors.tokens.read(work, 'crm', undefined, signal), { message: says });
  }
  scene.lookupFault = undefined;
});

test('a page that is given up does not wait for its token', async () => {
  configure({ grantType: 'CLIENT_CREDENTIALS' });
  const question = Promise.withResolvers<void>();
  api.answer(() => question.resolve());
  const { profile } = readProfile({
    name: 'P',
    endpoints: [{ name: 'E', url: `${api.origin}/x`, auth: 'OAUTH' }],
  });
  const [endpoint] = profile?.endpoints ?? [];
  assert.ok(endpoint !== undefined);
  const values = { headers: [], query: [], uri: [] };
  const use = {
    work,
    projectId: 'p',
    environmentName: 'e',
    readSecret: () => assert.fail(),
    readCloudSecret: () => assert.fail(),
    signal,
  };
  const call = await fixture.connectors.open(
    { endpoint, connection: { oauth: 'crm' }, values },
    { ...use, onToken: () => undefined, conceal: (text) => text },
  );
  const stop = new AbortController();
  const fetching = call.fetch({ parameters: [] }, stop.signal);
  await question.promise;
  stop.abort(new Error('the attempt ran out of time'));
  await assert.rejects(fetching, /the attempt ran out of time/);
  call.close();
});
