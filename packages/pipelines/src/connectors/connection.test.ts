import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseAuthentication } from './connection.ts';
import { createEndpointRequest } from './endpoint-request.ts';
import type { ConnectorEndpoint } from './profile.ts';
import { readProfile } from './read-profile.ts';

function readEndpoint(members: object): ConnectorEndpoint {
  const read = readProfile({
    name: 'p',
    endpoints: [{ name: 'e', url: 'https://api.example.com/{a}', ...members }],
  });
  assert.deepEqual(read.findings, []);
  return read.profile?.endpoints[0] as ConnectorEndpoint;
}

test('each type of authentication takes its properties; secrets are names of references', () => {
  assert.deepEqual(
    chooseAuthentication(readEndpoint({ auth: 'BASIC' }), { username: 'me', password: 'pw-ref' }),
    {
      type: 'BASIC',
      username: { text: 'me' },
      password: { secretName: 'pw-ref' },
    },
  );
  assert.deepEqual(chooseAuthentication(readEndpoint({ auth: 'BEARER' }), { token: { secretName: 't' } }), {
    type: 'BEARER',
    token: { secretName: 't' },
  });
  assert.deepEqual(
    chooseAuthentication(readEndpoint({ auth: 'API_KEY' }), {
      keyName: 'k',
      addTo: 'Query Parameter',
      apiKey: 'ref',
    }),
    {
      type: 'API_KEY',
      keys: [{ name: 'k', addTo: 'QUERY', value: { secretName: 'ref' } }],
    },
  );
  assert.deepEqual(chooseAuthentication(readEndpoint({ auth: 'NONE' }), { authType: 'NONE' }), {
    type: 'NONE',
  });
  assert.throws(() => chooseAuthentication(readEndpoint({ auth: 'BASIC' }), {}), /has no "username"/);
  for (const keyName of ['Host', 'a\r\nb'])
    assert.throws(
      () => chooseAuthentication(readEndpoint({ auth: 'API_KEY' }), { keyName, apiKey: 'ref' }),
      /"keyName" of the connection is refused/,
    );
  assert.throws(() => chooseAuthentication(readEndpoint({}), { authType: 'BASIC' }), /its profile has NONE/);
});

test('a misspelled property is refused with the nearest name, also if another one would do', () => {
  const keys = { type: 'API_KEY', parameters: [{ name: 'X-Api-Key', addTo: 'HEADER' }] };
  const endpoint = readEndpoint({ auth: 'BEARER', authenticationOptions: [{ type: 'BEARER' }, keys] });
  for (const [input, nearest] of [
    [{ authTyp: 'API_KEY', token: 't' }, 'authType'],
    [{ tokne: 't' }, 'token'],
    [{ authType: 'API_KEY', XApiKy: 't' }, 'X-Api-Key'],
  ] as const)
    assert.throws(() => chooseAuthentication(endpoint, input), new RegExp(`did you mean "${nearest}"`));
  // Another spelling of the same, what is empty, and what another endpoint may use.
  const others = { Token: 't', tokens: '', region: 'eu' };
  assert.equal(chooseAuthentication(endpoint, others).type, 'BEARER');
});

test('a property for another endpoint of the profile is not taken for a misspelled one', () => {
  const bearer = readEndpoint({ auth: 'BEARER' });
  for (const others of [{ 'X-Api-Key': 'k' }, { 'X-Auth': 'k' }, { 'User-Name': 'n' }, { tokens: 'k' }])
    assert.equal(chooseAuthentication(bearer, { token: 't', ...others }).type, 'BEARER');
  assert.throws(() => chooseAuthentication(bearer, { 'X-Api-Key': 'k' }), /has no "token"/);
  const keys = [{ name: 'X-Api-Key', addTo: 'HEADER' }];
  const key = readEndpoint({
    auth: 'API_KEY',
    authenticationOptions: [{ type: 'API_KEY', parameters: keys }],
  });
  const both = { 'X-Api-Key': 'k', 'X-App-Key': 'other' };
  assert.equal(chooseAuthentication(key, both).type, 'API_KEY');
  assert.throws(() => chooseAuthentication(key, { 'X-App-Key': 'k' }), /did you mean "X-Api-Key"/);
});

test('the connection selects one of the OAuth configurations of the endpoint', () => {
  const endpoint = readEndpoint({
    auth: 'OAUTH',
    authenticationOptions: [
      {
        type: 'OAUTH',
        parameters: [
          { name: 'oauth', value: 'EU' },
          { name: 'oauth', value: 'US' },
        ],
      },
    ],
  });
  assert.deepEqual(chooseAuthentication(endpoint), { type: 'OAUTH', name: 'EU' });
  assert.deepEqual(chooseAuthentication(endpoint, { oauth: 'US' }), { type: 'OAUTH', name: 'US' });
  assert.throws(() => chooseAuthentication(endpoint, { oauth: 'XX' }), /has "EU", "US"/);
});

const nothing = { headers: [], query: [], uri: [] };

test('a request has the values of the profile, of the pipeline and of the page, in this order', () => {
  const endpoint = readEndpoint({
    httpMethod: 'POST',
    headerParameters: [{ name: 'Accept', value: 'application/json' }],
    queryParameters: [
      { name: 'kind', value: 'all' },
      { name: 'page', value: '9' },
    ],
    body: { filter: { city: 'x' } },
  });
  const page = {
    parameters: [
      { at: { in: 'query', name: 'page' }, value: 2 },
      { at: { in: 'body', path: ['filter', 'token'] }, value: 't' },
    ],
  } as const;
  const values = {
    headers: [['ACCEPT', 'text/json']],
    query: [['kind', 'new & old']],
    uri: [['a', 'x/../y']],
  } as const;
  assert.deepEqual(createEndpointRequest(endpoint, values, page), {
    method: 'POST',
    url: 'https://api.example.com/x%2F..%2Fy?page=2&kind=new+%26+old',
    headers: [
      ['accept', 'text/json'],
      ['content-type', 'application/json'],
    ],
    body: '{"filter":{"city":"x","token":"t"}}',
  });
});

test('a value cannot leave its segment of the path, and a missing one stops the request', () => {
  const send = (value: string) => () =>
    createEndpointRequest(readEndpoint({}), { ...nothing, uri: [['a', value]] }, { parameters: [] });
  assert.throws(send('..'), /not a segment of a path/);
  assert.throws(send(''), /"a" has no value/);
  assert.equal(send('?#@evil.example')().url, 'https://api.example.com/%3F%23%40evil.example');
  assert.throws(
    () =>
      createEndpointRequest(
        readEndpoint({ queryParameters: [{ name: 'q', required: true }] }),
        { ...nothing, uri: [['a', '1']] },
        { parameters: [] },
      ),
    /the query parameter "q" has no value/,
  );
});

test('a URI parameter that the address lacks is refused, because it would have no effect', () => {
  const uri = [
    ['a', '1'],
    ['b', '2'],
  ] as const;
  assert.throws(
    () => createEndpointRequest(readEndpoint({}), { ...nothing, uri }, { parameters: [] }),
    /has no URI parameter "b": it has "a"/,
  );
});
