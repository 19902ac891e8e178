/** The conformance suite of authentication: what each type sends, and to whom. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Secret } from '@headgate/contract/without-schemas';
import type { AuthenticationType } from '@headgate/pipelines';
import type { SeenRequest } from '../../testing/fake-api.ts';
import { createEndpointFixture } from '../engine/endpoints/endpoint-fixture.ts';

const plan = {
  connectorOauthId: '00000000-0000-4000-8000-00000000000a',
  name: 'crm',
  projectId: '00000000-0000-4000-8000-0000000000aa',
  grantType: 'CLIENT_CREDENTIALS' as const,
  tokenUrl: '',
  scopes: [],
  additionalParameters: {},
  clientSecret: { secretName: 'client' },
};
const vault = { read: async () => new Secret('{"clientId":"me","clientSecret":"correct client"}') };
const fixture = await createEndpointFixture(undefined, {
  controlPlane: {
    connectorOauth: async () => ({ ...plan, tokenUrl: `${fixture.api.origin}/token` }),
    connectorOauthProblem: async () => undefined,
  },
  vaults: { find: () => vault as never },
});
after(() => fixture.dispose());
const { api, secrets } = fixture;
secrets.set('password', 'correct: horse');
secrets.set('token', 'correct-token');
secrets.set('key', 'correct key/+');
secrets.set('broken', 'correct\nx-more: 1');

interface Case {
  endpoint: object;
  overrides: object;
  isSent(request: SeenRequest): boolean;
  /** What must be in no answer of another kind. */
  value: string;
}

const keyed = (addTo: string) => ({
  auth: 'API_KEY',
  authenticationOptions: [{ type: 'API_KEY', parameters: [{ name: 'X-Key', addTo }] }],
});

const cases: Record<Exclude<AuthenticationType, 'NONE'>, Case> & Record<string, Case> = {
  BASIC: {
    endpoint: { auth: 'BASIC' },
    overrides: { username: 'me', password: 'password' },
    isSent: ({ headers }) => headers.authorization === `Basic ${btoa('me:correct: horse')}`,
    value: 'correct: horse',
  },
  BEARER: {
    endpoint: { auth: 'BEARER' },
    overrides: { token: { secretName: 'token' } },
    isSent: ({ headers }) => headers.authorization === 'Bearer correct-token',
    value: 'correct-token',
  },
  API_KEY: {
    endpoint: keyed('HEADER'),
    overrides: { 'X-Key': 'key' },
    isSent: ({ headers }) => headers['x-key'] === 'correct key/+',
    value: 'correct key/+',
  },
  'API_KEY in the query': {
    endpoint: keyed('QUERY'),
    overrides: { apiKey: 'key' },
    isSent: ({ query }) => query.get('X-Key') === 'correct key/+',
    value: 'correct key/+',
  },
  OAUTH: {
    endpoint: { auth: 'OAUTH' },
    overrides: { oauth: 'crm' },
    isSent: ({ headers }) => headers.authorization === 'Bearer correct-access',
    value: 'correct-access',
  },
};

const answer = (request: SeenRequest) =>
  request.path === '/token' ? { access_token: 'correct-access', expires_in: 60 } : { data: [{ id: 1 }] };

for (const [name, { endpoint, overrides, isSent, value }] of Object.entries(cases)) {
  describe(name, () => {
    const load = () => fixture.load({ connectionRef: { overrides } });

    test('it is sent with each page', async () => {
      await fixture.publishProfile({ ...endpoint, paging: { type: 'link-header' } });
      api.answer((request, response) => {
        if (request.path === '/rows' && !request.query.has('page'))
          response.setHeader('link', '</rows?page=2>; rel="next"');
        return answer(request);
      });
      api.requests.length = 0;
      const { status, message } = await load();
      assert.equal(status, 'SUCCESS', message);
      const pages = api.requests.filter(({ path }) => path === '/rows');
      assert.deepEqual(pages.map(isSent), [true, true]);
      assert.ok(!message?.includes(value));
    });

    test('a redirect of the same server gets it, another server does not', async () => {
      await fixture.publishProfile(endpoint);
      const redirect = (location: string) =>
        api.answer((request, response) => {
          if (request.path !== '/rows') return answer(request);
          response.writeHead(302, { location }).end();
          return undefined;
        });
      redirect('/moved');
      api.requests.length = 0;
      assert.equal((await load()).status, 'SUCCESS');
      assert.ok(isSent(api.requests.at(-1) as SeenRequest));
      redirect(`http://localhost:${new URL(api.origin).port}/moved`);
      api.requests.length = 0;
      const refused = await load();
      assert.match(refused.message ?? '', /redirects to another server are not followed/);
      assert.ok(api.requests.every(({ path }) => path !== '/moved'));
    });

    test('what the server says of a refusal comes without it', async () => {
      await fixture.publishProfile(endpoint);
      api.answer((request, response) => {
        if (request.path !== '/rows') return answer(request);
        response.statusCode = 403;
        return { error: `you are ${request.headers.authorization ?? request.url}` };
      });
      const { status, message } = await load();
      assert.equal(status, 'FAILED');
      assert.match(message ?? '', /answered 403 \(the credentials do not allow it.*you are/);
      assert.ok(!message?.includes(value) && !message?.includes(btoa(`me:${value}`)), message);
    });
  });
}

test('a value that would add a header is refused', async () => {
  await fixture.publishProfile(keyed('HEADER'));
  const { message } = await fixture.load({ connectionRef: { overrides: { apiKey: 'broken' } } });
  assert.match(message ?? '', /a character that a header cannot hold/);
});

test('without authentication nothing is sent', async () => {
  await fixture.publishProfile({ auth: 'BEARER' });
  api.answer(answer);
  assert.equal(
    (await fixture.load({ connectionRef: { overrides: { authType: 'NONE' } } })).status,
    'SUCCESS',
  );
  assert.equal(api.requests.at(-1)?.headers.authorization, undefined);
});
