/** What a client writes comes back without drift, for random profiles; and what hostile ones get. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectorProfile } from '@headgate/contract';
import { roundsOr, testSeed } from '@headgate/contract/testing/rounds';
import fc from 'fast-check';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const { admin } = await server.account();

const text = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((each) => !/[\0\ud800-\udfff]/.test(each));
const word = fc.stringMatching(/^[a-z][a-z0-9_]{0,9}$/);
/** Members that no version knows. */
const strange = fc.dictionary(
  fc
    .oneof(word, fc.constantFrom('constructor', 'toString', 'hasOwnProperty', '__proto__'))
    .map((name) => `x-${name}`),
  fc
    .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
    .filter((each) => !JSON.stringify(each).includes('\\u')),
  { maxKeys: 3 },
);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const anyCase = (...words: string[]) =>
  fc.constantFrom(...words).chain((each) => fc.constantFrom(each, each.toLowerCase(), each.toUpperCase()));
const unique = (names: fc.Arbitrary<string>) =>
  fc.uniqueArray(names, { maxLength: 3, selector: (each) => each.toLowerCase() });

const parameters = unique(word).chain((names) =>
  fc.tuple(
    ...names.map((name) =>
      fc.record({ name: fc.constant(name), value: maybe(text), required: maybe(fc.boolean()) }),
    ),
  ),
);
const headers = unique(word).map((names) => names.map((name) => ({ name: `x-${name}`, value: 'v' })));

const endpoint = unique(word).chain((segments) =>
  fc.record(
    {
      name: fc.constant('to be set'),
      url: fc.constant(`https://api.example.com/v1${segments.map((each) => `/{${each}}`).join('')}?a=b`),
      httpMethod: anyCase('Get', 'Post', 'Put', 'Patch', 'Delete'),
      auth: anyCase('None', 'Basic', 'Bearer', 'Api_Key'),
      authTemplate: maybe(strange),
      paging: maybe(
        fc.record({ type: anyCase('none', 'page', 'offset', 'link-header'), 'x-more': fc.boolean() }),
      ),
      headerParameters: headers,
      queryParameters: parameters,
      uriParameters: fc.constant(segments.map((name) => ({ name, value: null }))),
      structure: maybe(
        fc.record({
          schema: maybe(
            fc.constant({ type: 'object', properties: { id: { type: 'integer', 'x-note': [1] } } }),
          ),
          containedInOuterArray: fc.boolean(),
          repeatingElementPath: fc.array(word, { maxLength: 3 }),
        }),
      ),
      body: maybe(fc.oneof(text, strange)),
    },
    { requiredKeys: ['name', 'url'] },
  ),
);

const profile = fc
  .record(
    {
      icon: maybe(text),
      logo: maybe(fc.record({ type: text, image: fc.record({ url: text }) })),
      more: strange,
    },
    { requiredKeys: ['more'] },
  )
  .chain(({ more, ...rest }) =>
    fc.array(fc.tuple(endpoint, strange), { maxLength: 4 }).map((made) => ({
      ...rest,
      ...more,
      endpoints: made.map(([each, stranger], index) => ({
        ...stranger,
        ...each,
        id: `e${index}`,
        name: `E ${index}`,
      })),
    })),
  );

test('random profiles come back as they were written', async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(profile, fc.constantFrom('flex', 'custom'), async (input, kind) => {
      // Without the null prototypes of random objects.
      const plain = JSON.parse(JSON.stringify(input)) as object;
      const written = { ...plain, name: `P ${count++}`, alternateId: `p${count}` };
      const made = await admin.post<ConnectorProfile>(`/${kind}-connectors`, written);
      assert.equal(made.status, 201, made.text);
      const { id, deleted, deletedTime, lastModified, ...rest } = made.body;
      assert.deepEqual(rest, written);
      const again = await admin.send<ConnectorProfile>('PUT', `/${kind}-connectors/${id}`, {
        body: made.body,
      });
      assert.equal(again.status, 200, again.text);
      const { body: list } = await admin.get<ConnectorProfile[]>(`/${kind}-connectors`);
      assert.deepEqual(list[0], again.body);
      assert.deepEqual({ ...again.body, lastModified }, made.body);
      await admin.delete(`/${kind}-connectors/${id}`);
    }),
    { numRuns: roundsOr(25), seed: testSeed },
  );
});

const build = (endpoint: object) => ({
  name: 'Hostile',
  endpoints: [{ name: 'E', url: 'https://a.example.com', ...endpoint }],
});

test('an address that could lead a secret elsewhere is refused', async () => {
  const urls = [
    'https://user:secret@api.example.com/v1',
    'https://user@api.example.com/v1',
    'https://{host}/v1',
    'https://api.{domain}/v1',
    'https://api.example.com:{port}/v1',
    '{scheme}://api.example.com/v1',
    'https://api.example.com\\@evil.example.com/',
    'https://api.example.com#@evil.example.com/',
    'https://api.example.com/v1#part',
    '//api.example.com/v1',
    'ftp://api.example.com/v1',
    'javascript:alert(1)',
    'https:api.example.com',
    'https:///v1',
    'https://',
    'https://a b.example.com/',
    'https://api.example.com/{a',
    'https://api.example.com/{}',
    'https://api.example.com/v1\n',
  ];
  for (const url of urls) {
    const answer = await admin.post('/flex-connectors', build({ url }));
    const { detail } = requireProblem(answer, 422, 'connector-profile-invalid');
    assert.match(detail, /^body\.endpoints\[0\]\.url: /, url);
  }
});

test('profiles that are too large, too deep or ambiguous are refused', async () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({
    name: `E${index}`,
    url: 'https://a.example.com',
  }));
  requireProblem(
    await admin.post('/flex-connectors', { name: 'Many', endpoints: many }),
    400,
    'invalid-request',
  );
  let schema: object = { type: 'string' };
  for (let depth = 0; depth < 40; depth++) schema = { type: 'object', properties: { a: schema } };
  requireProblem(await admin.post('/flex-connectors', build({ structure: { schema } })), 400, 'invalid-json');
  for (let depth = 0; depth < 100; depth++) schema = { type: 'object', properties: { a: schema } };
  requireProblem(await admin.post('/flex-connectors', build({ structure: { schema } })), 400, 'invalid-json');
  const [one] = build({ id: 'e' }).endpoints;
  for (const endpoints of [
    [one, { ...one, name: 'Other' }],
    [one, { ...one, id: 'other' }],
  ]) {
    const answer = await admin.post('/flex-connectors', { name: 'Twice', endpoints });
    const { violations } = requireProblem(answer, 422, 'connector-profile-invalid');
    assert.match(
      violations?.[0] ?? '',
      /^body\.endpoints\[1\]\.(id|name): is ".*", as that of endpoints\[0\]/,
    );
  }
  const headers = [{ name: 'Host', value: 'evil.example.com' }];
  requireProblem(
    await admin.post('/flex-connectors', build({ headerParameters: headers })),
    422,
    'connector-profile-invalid',
  );
});

test('names of prototypes are plain names', async () => {
  const body = Buffer.from(
    '{"name":"Proto","__proto__":{"polluted":true},"endpoints":[{"name":"constructor","url":"https://a.example.com/","__proto__":{"a":1},"structure":{"schema":{"type":"object","properties":{"__proto__":{"type":"string"}}}}}]}',
  );
  const made = await admin.post<ConnectorProfile>('/flex-connectors', body, {
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(made.status, 201, made.text);
  assert.match(made.text, /"__proto__":\{"polluted":true\}/);
  assert.match((await admin.get('/flex-connectors')).text, /"__proto__":\{"a":1\}/);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});
