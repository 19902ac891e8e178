/** What an upload finds in components of connectors, when the profile is a part of the version. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of the pipeline format
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateProject } from './validate-project-fixture.ts';

const keys = { type: 'API_KEY', parameters: [{ name: 'X-Api-Key', addTo: 'HEADER' }] };
const profile = JSON.stringify({
  name: 'Shop',
  endpoints: [
    {
      id: 'orders',
      name: 'Orders',
      url: 'https://api.example.com/orders',
      auth: 'BEARER',
      authenticationOptions: [{ type: 'BEARER' }, keys],
    },
  ],
});

function findFaults(
  input: object,
  files: Record<string, string> = { 'connector-profile:flex-shop.json': profile },
) {
  const value = { profile: 'flex-shop', endpoint: 'Orders', loadSelectedData: 'Yes', ...input };
  const parameters = {
    'api-extract-input-v2': value,
    'snowflake-output-connector-v0': { tableName: 't', createTableMode: 'APPEND' },
  };
  const load = { type: 'modular-api-extract-input-v2', parameters };
  const components = { S: { type: 'start', transitions: { success: ['Load'] } }, Load: load };
  const pipeline = JSON.stringify({ type: 'orchestration', pipeline: { components } });
  const texts = { 'main.orch.yaml': pipeline, ...files };
  const all = Object.entries(texts).map(([path, text]) => ({ path, text }));
  return validateProject(all, [], ['shop-token']).map(
    ({ level, component, code, message }) => `${level} ${component} ${code}: ${message}`,
  );
}

const connect = (overrides: object) => ({ connectionRef: { overrides } });
const token = connect({ token: 'shop-token' });

test('a component that fits its profile has no finding, nor one that only the run knows', () => {
  assert.deepEqual(findFaults(token), []);
  assert.deepEqual(findFaults({ ...token, profile: 'Shop', endpoint: 'orders' }), []);
  assert.deepEqual(
    findFaults({ ...token, profile: '${shop}', endpoint: '${endpoint}' }).length,
    2,
    'variables',
  );
  assert.deepEqual(findFaults(connect({ authType: 'API_KEY', 'X-Api-Key': 'shop-token' })), []);
});

const faults: [string, object, RegExp][] = [
  ['a profile', { ...token, profile: 'flex-shp' }, /missing-connector-profile: .*did you mean "flex-shop"\?/],
  [
    'a profile',
    { ...token, profile: 'other' },
    /: publish it as connector-profile:other\.json, or use one of "flex-shop"$/,
  ],
  ['an endpoint', { ...token, endpoint: 'Order' }, /missing-connector-endpoint: .*did you mean "Orders"\?/],
  ['an endpoint', { ...token, endpoint: 'Payments' }, /has no endpoint "Payments": use one of "Orders"/],
  ['a secret', connect({ token: 'gone' }), /unknown-secret-reference: .*"gone"/],
  ['a secret', connect({ token: { secretName: 'gone' } }), /unknown-secret-reference: .*"gone"/],
  ['a key', connect({ authType: 'API_KEY', 'X-Api-Key': 'gone' }), /unknown-secret-reference: .*"gone"/],
  ['a property', connect({ tokne: 'shop-token' }), /invalid-connection: .*"tokne".*did you mean "token"\?/],
  ['a property', connect({ token: 'shop-token', region: 'eu' }), /no-effect: the property "region"/],
  ['no token', connect({}), /invalid-connection: .*has no "token"/],
  [
    'a type',
    connect({ ...token.connectionRef.overrides, authType: 'BASIC' }),
    /its profile has BEARER, API_KEY/,
  ],
];

for (const [what, input, expected] of faults)
  test(`${what} that is missing or misspelled is a finding of the component: ${expected.source}`, () => {
    const [found, ...more] = findFaults(input);
    assert.match(found ?? '', /missing-connector-/.test(found ?? '') ? /^error Load / : /^warning Load /);
    assert.match(found ?? '', expected);
    assert.deepEqual(more, []);
  });

test('a misspelled place of the connection, and one that is no map, is an error', () => {
  const value = { token: 'shop-token' };
  for (const [connectionRef, expected] of [
    [{ override: value }, /"connectionRef" has "override".*did you mean "overrides"\?/],
    [{ overrides: 'shop-token' }, /"overrides" must be a map/],
    ['shop', /"connectionRef" must be a map/],
  ] as const) {
    const [found] = findFaults({ connectionRef });
    assert.match(found ?? '', /^error Load invalid-parameter: /);
    assert.match(found ?? '', expected);
  }
});

test('a profile whose content is not known has no finding', () => {
  assert.deepEqual(findFaults(token, { 'connector-profile:flex-shop.json': '{' }), []);
});
