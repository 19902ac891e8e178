/** OAuth configurations of connectors: lists, rules, and what names them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectorOauth } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';
import { buildConnectorProfile } from '../connector-profiles/connector-profile.examples.ts';
import { buildConnectorOauth } from './connector-oauth.examples.ts';

const server = await startTestServer();

async function createProject() {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  const path = `${place.project.path}/connector-oauths`;
  const body = await buildConnectorOauth(place);
  const create = (input: object) => admin.post<ConnectorOauth>(path, { ...body, ...input });
  return { place, admin, path, body, create };
}

test('configurations are created, listed oldest first, read and deleted', async () => {
  const { admin, path, body, create } = await createProject();
  const crm = await create({});
  assert.equal(crm.status, 201, crm.text);
  const { connectorOauthId, projectId, createdBy, createdAt } = crm.body;
  const shown = { ...body, connectorOauthId, projectId, createdBy, createdAt };
  assert.deepEqual(crm.body, { ...shown, state: 'PENDING' });
  const shop = await create({ name: 'a-shop', grantType: 'client_credentials' });
  assert.deepEqual([shop.body.grantType, shop.body.state], ['CLIENT_CREDENTIALS', 'AUTHORIZED']);
  assert.deepEqual((await admin.get(path)).body, [crm.body, shop.body]);
  assert.deepEqual((await admin.get(`${path}/${connectorOauthId}`)).body, crm.body);
  assert.equal((await admin.delete(`${path}/${connectorOauthId}`)).status, 204);
  requireProblem(await admin.get(`${path}/${connectorOauthId}`), 404, 'connector-oauth-not-found');
  requireProblem(await create({ name: 'a-shop' }), 409, 'connector-oauth-taken');
});

test('one without secret references, such as an imported one, is pending', async () => {
  const { create } = await createProject();
  const input = { clientSecretReference: undefined, tokenSecretReference: undefined, clientId: undefined };
  for (const grantType of ['CLIENT_CREDENTIALS', 'AUTHORIZATION_CODE']) {
    const made = await create({ ...input, name: grantType, grantType });
    assert.deepEqual([made.status, made.body.state], [201, 'PENDING']);
  }
});

test('what cannot work is refused, with field and remedy', async () => {
  const { place, admin, create } = await createProject();
  await admin.post(`${place.project.path}/secret-references/plain`, { type: 'PASSWORD', secretName: 'p' });
  const cases: [given: object, detail: RegExp][] = [
    [{ grantType: 'CODE' }, /grantType/],
    [{ authorizationUrl: undefined }, /^body\.authorizationUrl: is required for AUTHORIZATION_CODE/],
    [{ tokenUrl: 'login.example.com/token' }, /^body\.tokenUrl: is "login.*not an address/],
    [{ tokenUrl: 'file:///etc/passwd' }, /^body\.tokenUrl: .*not an address/],
    [{ tokenUrl: 'https:login.example.com' }, /^body\.tokenUrl: .*not an address/],
    [{ tokenUrl: 'https://a:b@login.example.com/token' }, /^body\.tokenUrl: holds a user name/],
    [{ tokenUrl: 'https://login.example.com/token#x' }, /^body\.tokenUrl: has a fragment/],
    [{ tokenUrl: 'https://login.example.com/{tenant}' }, /^body\.tokenUrl: has a character/],
    [{ authorizationUrl: 'javascript:alert(1)' }, /^body\.authorizationUrl: .*not an address/],
    [{ additionalParameters: { grant_type: 'x' } }, /grant_type: is set by the request/],
    [{ additionalParameters: { 'api-key': 'x' } }, /api-key: is a secret/],
    [{ clientSecretReference: 'missing' }, /has no secret reference "missing"; create it first/],
    [
      { clientSecretReference: 'plain' },
      /"plain" has the type PASSWORD; use one of the type OAUTH_CLIENT_CRED/,
    ],
    [{ tokenSecretReference: 'plain' }, /use one of the type OAUTH_AUTHORIZATION_CODE or OAUTH_USER_TOKENS/],
    [{ agentId: 'nowhere' }, /no agent "nowhere"/],
  ];
  for (const [input, detail] of cases) {
    const { status, problem } = await create(input);
    assert.ok(status === 422 || status === 400, JSON.stringify(input));
    assert.match([problem.detail, ...(problem.violations ?? [])].join('\n'), detail);
  }
  assert.deepEqual((await admin.get(`${place.project.path}/connector-oauths`)).body, []);
});

test('one that profiles name is deleted only with confirm', async () => {
  const { admin, path, create } = await createProject();
  const { body: oauth } = await create({ name: 'crm' });
  const profile = buildConnectorProfile('CRM');
  const endpoints = profile.endpoints.map((endpoint) => ({
    ...endpoint,
    auth: 'OAUTH',
    authenticationOptions: [{ type: 'OAUTH', parameters: ['crm', { name: 'crm-test' }] }],
  }));
  const made = await admin.post<{ id: string }>('/flex-connectors', { ...profile, endpoints });
  assert.equal(made.status, 201, made.text);
  const one = `${path}/${oauth.connectorOauthId}`;
  const { detail } = requireProblem(await admin.delete(one), 409, 'connector-oauth-in-use');
  assert.match(detail, /"crm" is named by 1 connector profile: "CRM"/);
  assert.equal((await admin.delete(`${one}?confirm=true`)).status, 204);
  const again = await create({ name: 'crm-test' });
  await admin.delete(`/flex-connectors/${made.body.id}`);
  assert.equal(
    (await admin.delete(`${path}/${again.body.connectorOauthId}`)).status,
    204,
    'a deleted profile',
  );
});

test('a secret reference that a configuration names is deleted only with force', async () => {
  const { place, admin, body, create } = await createProject();
  await create({ name: 'crm' });
  const reference = `${place.project.path}/secret-references/${body.tokenSecretReference}`;
  const { detail } = requireProblem(await admin.delete(reference), 409, 'secret-reference-in-use');
  assert.match(detail, /is used by the OAuth configuration "crm"/);
  assert.equal((await admin.delete(`${reference}?force=true`)).status, 204);
});

test('a project has at most 100', async () => {
  const { admin, path } = await createProject();
  const make = (index: number) =>
    admin.post(path, {
      name: `o${index}`,
      grantType: 'CLIENT_CREDENTIALS',
      tokenUrl: 'https://a.example.com',
    });
  const made = await Promise.all(Array.from({ length: 101 }, (_, index) => make(index)));
  assert.equal(made.filter(({ status }) => status === 201).length, 100);
  const refused = made.find(({ status }) => status !== 201);
  assert.ok(refused);
  requireProblem(refused, 409, 'too-many-connector-oauths');
});

test('a configuration is replaced as a whole, but for its name', async () => {
  const { admin, path, body, create } = await createProject();
  const { body: crm } = await create({});
  const one = `${path}/${crm.connectorOauthId}`;
  const { additionalParameters: _, scopes: __, ...less } = body;
  const tokenUrl = 'https://login.example.org/token';
  const replaced = await admin.send<ConnectorOauth>('PUT', one, { body: { ...less, tokenUrl } });
  assert.equal(replaced.status, 200, replaced.text);
  const { additionalParameters: ___, ...rest } = crm;
  assert.deepEqual(replaced.body, { ...rest, tokenUrl, scopes: [] });
  assert.deepEqual((await admin.get(one)).body, replaced.body);
  const renamed = await admin.send('PUT', one, { body: { ...body, name: 'other' } });
  assert.match(
    requireProblem(renamed, 422, 'connector-oauth-invalid').detail,
    /^body\.name: is "other".*another/,
  );
  const wrong = await admin.send('PUT', one, { body: { ...body, clientSecretReference: 'gone' } });
  assert.match(requireProblem(wrong, 422, 'connector-oauth-invalid').detail, /no secret reference "gone"/);
  const machine = { name: body.name, grantType: 'CLIENT_CREDENTIALS', tokenUrl };
  const incomplete = await admin.send<ConnectorOauth>('PUT', one, { body: machine });
  assert.equal(incomplete.body.state, 'PENDING');
  const { clientSecretReference } = body;
  const complete = await admin.send<ConnectorOauth>('PUT', one, {
    body: { ...machine, clientSecretReference },
  });
  assert.deepEqual([complete.body.state, typeof complete.body.authorizedAt], ['AUTHORIZED', 'string']);
  const stale = { headers: { 'If-Match': String(replaced.headers.etag) } };
  requireProblem(await admin.send('PUT', one, { body: machine, ...stale }), 412, 'etag-mismatch');
  requireProblem(await admin.send('DELETE', one, stale), 412, 'etag-mismatch');
  const current = { headers: { 'If-Match': String(complete.headers.etag) } };
  assert.equal((await admin.send('PUT', one, { body: machine, ...current })).status, 200);
});

test('two configurations of a project do not store their tokens in the same secret', async () => {
  const { place, admin, body, create } = await createProject();
  await create({ name: 'crm' });
  const again = requireProblem(await create({ name: 'shop' }), 422, 'connector-oauth-invalid');
  assert.match(again.detail, /^body\.tokenSecretReference: .*"crm" stores its tokens in the same secret/);
  await admin.post(`${place.project.path}/secret-references/alias`, {
    type: 'OAUTH_AUTHORIZATION_CODE',
    secretName: body.tokenSecretReference,
  });
  const alias = await create({ name: 'shop', tokenSecretReference: 'alias' });
  assert.match(requireProblem(alias, 422, 'connector-oauth-invalid').detail, /"crm" stores its tokens/);
  assert.equal((await create({ name: 'shop', grantType: 'CLIENT_CREDENTIALS' })).status, 201);
});
