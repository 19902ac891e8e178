import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeProfileFinding, readProfile, readProfileText } from './read-profile.ts';

const endpoint = (members: object = {}) => ({
  id: '1',
  name: 'Orders',
  url: 'https://api.example.com/v1/shops/{shop}/orders',
  httpMethod: 'GET',
  auth: 'BEARER',
  authTemplate: null,
  authenticationOptions: [{ type: 'BEARER', parameters: [], additionalParameters: null }],
  paging: { type: 'none' },
  headerParameters: [],
  queryParameters: [],
  uriParameters: [{ name: 'shop' }],
  structure: { schema: {}, containedInOuterArray: false, repeatingElementPath: ['data'] },
  body: null,
  ...members,
});
const profile = (...endpoints: object[]) => ({ name: 'Shop', icon: 'x', somethingElse: 1, endpoints });
const listFindings = (json: unknown) => readProfile(json).findings.map(describeProfileFinding);

test('a profile as the interface shows it is read; words may have any case', () => {
  const read = readProfile(
    profile(endpoint({ httpMethod: 'get', auth: 'bearer', paging: { type: 'NONE' } })),
  );
  assert.deepEqual(read.findings, []);
  const [first] = read.profile?.endpoints ?? [];
  assert.equal(first?.httpMethod, 'GET');
  assert.equal(first?.auth, 'BEARER');
  assert.deepEqual(first?.structure.repeatingElementPath, ['data']);
});

test('a profile without optional members is read', () => {
  const read = readProfile({ name: 'Shop', endpoints: [{ name: 'All', url: 'https://api.example.com' }] });
  assert.deepEqual(read.findings, []);
  assert.equal(read.profile?.endpoints[0]?.id, 'All');
  assert.deepEqual(readProfile({ name: 'Empty' }).profile?.endpoints, []);
});

const faults: [string, object, RegExp][] = [
  ['a relative address', { url: '/orders' }, /endpoints\[0\]\.url" must be an absolute address/],
  ['a parameter in the host', { url: 'https://{shop}.example.com' }, /parameter in its host/],
  ['a parameter in the port', { url: 'https://example.com:{port}/' }, /parameter in its host/],
  ['a user in the address', { url: 'https://a:b@example.com/{shop}' }, /holds a user name/],
  ['another scheme', { url: 'file:///etc/passwd' }, /absolute address/],
  [
    'another method',
    { httpMethod: 'TRACE' },
    /httpMethod" is "TRACE": use one of GET, POST, PUT, PATCH, DELETE/,
  ],
  ['another type of authentication', { auth: 'BERER' }, /auth" is "BERER": did you mean "BEARER"/],
  [
    'a URI parameter that the address lacks',
    { uriParameters: [{ name: 'city' }] },
    /has no \{city\} in its path/,
  ],
  ['a repeated header', { headerParameters: [{ name: 'A' }, { name: 'a' }] }, /a second time/],
  ['a header that splits the request', { headerParameters: [{ name: 'A', value: 'x\r\ny' }] }, /line break/],
  ['the Host header', { headerParameters: [{ name: 'Host', value: 'x' }] }, /cannot be set/],
  ['a cursor without a path', { paging: { type: 'cursor', parameter: 'after' } }, /paging\.path" is missing/],
  ['unknown paging', { paging: { type: 'script' } }, /paging\.type" is "script": use one of none, page/],
  ['a size without a parameter', { paging: { type: 'page', size: 100 } }, /sizeParameter" is missing/],
  [
    'a schema of an unknown type',
    { structure: { schema: { type: 'strin' } } },
    /structure\.schema" has the type/,
  ],
  ['a path that is no list', { structure: { repeatingElementPath: [1] } }, /must be a list of names/],
  [
    'an API key without a place',
    { auth: 'API_KEY', authenticationOptions: [{ type: 'API_KEY', parameters: [{ name: 'k' }] }] },
    /addTo" is missing: use QUERY or HEADER/,
  ],
];
for (const [what, members, message] of faults) {
  test(`${what} is a finding`, () => {
    const findings = listFindings(profile(endpoint(members)));
    assert.match(findings.join('\n'), message);
  });
}

test('names and ids of endpoints are unique, and the name of an API key stands for one key', () => {
  assert.match(listFindings(profile(endpoint(), endpoint())).join('\n'), /endpoints\[1\]\.id" is "1"/);
  const keyed = (id: string, addTo: string) =>
    endpoint({
      id,
      name: id,
      auth: 'API_KEY',
      authenticationOptions: [{ type: 'API_KEY', parameters: [{ name: 'key', addTo }] }],
    });
  assert.deepEqual(listFindings(profile(keyed('a', 'query'), keyed('b', 'Query Parameter'))), []);
  assert.match(
    listFindings(profile(keyed('a', 'query'), keyed('b', 'HEADER'))).join('\n'),
    /unique in its profile/,
  );
});

test('what is not a profile is a finding, never an error', () => {
  for (const json of [null, 1, 'x', [], { endpoints: {} }, { name: [], endpoints: [1, null, []] }]) {
    assert.ok(readProfile(json).findings.length > 0, JSON.stringify(json));
  }
  assert.match(String(readProfileText('{"name":').findings[0]?.message), /is not JSON/);
});
