/** The example profiles, against local servers that behave as the documented APIs do. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { Secret } from '@headgate/contract/without-schemas';
import { createEndpointFixture } from '../engine/endpoints/endpoint-fixture.ts';

const tokenPlan = {
  connectorOauthId: '00000000-0000-4000-8000-00000000000b',
  name: 'salesforce',
  projectId: '00000000-0000-4000-8000-0000000000aa',
  grantType: 'CLIENT_CREDENTIALS' as const,
  scopes: [],
  additionalParameters: {},
  clientSecret: { secretName: 'client' },
};
const vault = { read: async () => new Secret('{"clientId":"me","clientSecret":"correct client"}') };
const fixture = await createEndpointFixture(undefined, {
  controlPlane: {
    connectorOauth: async () => ({ ...tokenPlan, tokenUrl: `${fixture.api.origin}/services/oauth2/token` }),
    connectorOauthProblem: async () => undefined,
  },
  vaults: { find: () => vault as never },
});
after(() => fixture.dispose());
const { api, rows, secrets } = fixture;
secrets.set('token', 'correct-token');

/** The profile as it is published, with the address of the local server. */
async function publishExample(name: string, origin: string): Promise<void> {
  const file = new URL(`../../../../examples/connectors/${name}.json`, import.meta.url);
  const text = readFileSync(file, 'utf8');
  assert.ok(text.includes(origin));
  await fixture.publish({ [`connector-profile:flex-${name}.json`]: text.replaceAll(origin, api.origin) });
}

const bearer = { connectionRef: { overrides: { token: 'token' } } };

test('GitHub: links lead on, a used quota waits, and pages hold bare lists', async () => {
  await publishExample('github', 'https://api.github.com');
  const repositories = Array.from({ length: 250 }, (_, id) => ({
    id,
    name: `r${id}`,
    owner: { login: 'acme' },
    topics: ['a'],
    fork: false,
  }));
  let limited = 0;
  api.answer((request, response) => {
    assert.equal(request.headers.authorization, 'Bearer correct-token');
    assert.equal(request.headers['x-github-api-version'], '2022-11-28');
    assert.ok(request.headers['user-agent']);
    assert.equal(request.path, '/orgs/acme/repos');
    const page = Number(request.query.get('page') ?? 1);
    if (page === 2 && limited++ < 2) {
      response.statusCode = limited === 1 ? 403 : 429;
      response.setHeader('x-ratelimit-remaining', '0');
      response.setHeader('x-ratelimit-reset', String(Math.floor(Date.now() / 1_000) + 1));
      return { message: 'API rate limit exceeded' };
    }
    const size = Number(request.query.get('per_page'));
    if (page * size < repositories.length)
      response.setHeader(
        'link',
        `<${api.origin}/orgs/acme/repos?sort=full_name&per_page=${size}&page=${page + 1}>; rel="next", <${api.origin}/x>; rel="last"`,
      );
    return repositories.slice((page - 1) * size, page * size);
  });
  const input = {
    profile: 'flex-github',
    endpoint: 'Repositories of an organization',
    uriParams: [['organization', 'acme']],
    ...bearer,
  };
  const { status, message } = await fixture.load(input);
  assert.equal(status, 'SUCCESS', message);
  assert.match(message ?? '', /^250 rows from 3 pages .*\n.*left out: fork/);
  assert.deepEqual(await rows(`select count(*), count(distinct id), min("owner"->>'login') from loaded`), [
    [250, 250, 'acme'],
  ]);
  const named = await fixture.load({ ...input, uriParams: [{ name: 'organization', value: 'acme' }] });
  assert.equal(named.status, 'SUCCESS', named.message);
  const misnamed = await fixture.load({ ...input, uriParams: [{ key: 'organization', value: 'acme' }] });
  assert.match(misnamed.message ?? '', /"uriParams" must be a list of \{name, value\}/);
  const missing = await fixture.load({ ...input, uriParams: [] });
  assert.match(missing.message ?? '', /the URI parameter "organization" has no value/);
});

test('Stripe: the last row leads on until there is no more, and Basic works as well', async () => {
  await publishExample('stripe', 'https://api.stripe.com');
  const charges = Array.from({ length: 205 }, (_, index) => ({
    id: `ch_${index}`,
    amount: 100 + index,
    paid: true,
    customer: null,
    metadata: { order: String(index) },
  }));
  api.answer((request) => {
    assert.match(String(request.headers.authorization), /^(Bearer correct-token|Basic )/);
    const after = request.query.get('starting_after');
    const start = after === null ? 0 : charges.findIndex(({ id }) => id === after) + 1;
    const data = charges.slice(start, start + Number(request.query.get('limit')));
    return { object: 'list', data, has_more: start + data.length < charges.length, url: '/v1/charges' };
  });
  const input = { profile: 'flex-stripe', endpoint: 'Charges' };
  const { status, message } = await fixture.load({ ...input, ...bearer });
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(await rows('select count(*), sum(amount)::bigint from loaded'), [[205, 41_410]]);
  const overrides = { authType: 'BASIC', username: 'sk', password: 'token' };
  assert.equal((await fixture.load({ ...input, connectionRef: { overrides } })).status, 'SUCCESS');
});

test('Salesforce: a relative address leads on, and a session that ends is replaced', async () => {
  await publishExample('salesforce', 'https://example.my.salesforce.com');
  let session = 0;
  api.answer((request, response) => {
    if (request.path === '/services/oauth2/token') {
      session += 1;
      return { access_token: `correct-session-${session}`, instance_url: api.origin, token_type: 'Bearer' };
    }
    const page = request.path.endsWith('/01g-2000') ? 2 : 1;
    const isOver = page === 2 && session === 1;
    if (isOver || request.headers.authorization !== `Bearer correct-session-${session}`) {
      response.statusCode = 401;
      return [{ message: 'Session expired or invalid', errorCode: 'INVALID_SESSION_ID' }];
    }
    const records = [
      { attributes: { type: 'Account' }, Id: `00${page}`, Name: `Account ${page}`, Industry: null },
    ];
    const next = { nextRecordsUrl: '/services/data/v61.0/query/01g-2000' };
    return { totalSize: 2, done: page === 2, ...(page === 1 ? next : {}), records };
  });
  const { status, message } = await fixture.load({ profile: 'flex-salesforce', endpoint: 'Query' });
  assert.equal(status, 'SUCCESS', message);
  assert.equal(session, 2);
  assert.deepEqual(await rows('select "Id", "Name" from loaded order by 1'), [
    ['001', 'Account 1'],
    ['002', 'Account 2'],
  ]);
});
