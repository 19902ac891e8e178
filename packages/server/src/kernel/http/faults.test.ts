import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Operation, operations } from '@headgate/contract';
import { roundsOr, testSeed } from '@headgate/contract/testing/rounds';
import fc from 'fast-check';
import { type Fault, findFaults } from './faults.ts';
import { type JsonSchema, listAlternatives } from './json-schema.ts';
import { bodySchemas, isFormat } from './schemas.ts';

const options = { most: 100, quotes: true, isFormat };
const sentences = (schema: JsonSchema, value: unknown, most = 100) =>
  findFaults(schema, value, { ...options, most }).map(({ pointer, detail }) => `${pointer} ${detail}`);

const parts = ['params', 'query', 'headers', 'body'] as const;
const schemas = operations.flatMap((operation: Operation) =>
  parts.flatMap((part) => {
    const schema = operation[part];
    return schema === undefined ? [] : [{ name: `${operation.id} ${part}`, schema: schema as JsonSchema }];
  }),
);

/** All schemas inside a schema. */
function schemasIn(schema: JsonSchema): JsonSchema[] {
  const { properties = {}, items, additionalProperties, propertyNames, anyOf = [] } = schema;
  const inner = [...Object.values(properties), items, additionalProperties, propertyNames, ...anyOf];
  return [schema, ...inner.flatMap((each) => (typeof each === 'object' ? schemasIn(each) : []))];
}

test('findFaults supports every keyword of request schemas, and every pattern has a description', () => {
  const known = new Set([
    ...['type', 'enum', 'const', 'anyOf', 'properties', 'required', 'additionalProperties', 'propertyNames'],
    ...['minProperties', 'maxProperties', 'items', 'minItems', 'maxItems', 'uniqueItems', 'minLength'],
    ...['maxLength', 'pattern', 'format', 'minimum', 'maximum', 'x-form', 'x-words', 'x-name', 'default'],
    'description',
  ]);
  for (const { name, schema } of schemas) {
    for (const each of schemasIn(schema)) {
      const stranger = Object.keys(each).find((keyword) => !keyword.startsWith('~') && !known.has(keyword));
      assert.equal(stranger, undefined, name);
      if (each.pattern !== undefined) assert.ok(each['x-form'], `${name}: ${each.pattern}`);
    }
  }
});

/** Values that nearly match a schema. */
function makeNearlyValid(schema: JsonSchema, depth = 0): fc.Arbitrary<unknown> {
  const odd = fc.oneof(
    fc.constantFrom(null, true, -1, 1.5, 1e9, '', 'x', '\u{1f600}'),
    fc.constant([]),
    fc.constant({}),
  );
  const [first = {}] = listAlternatives(schema);
  const sound =
    schema.anyOf === undefined
      ? makeValid(first, depth)
      : fc.oneof(...listAlternatives(schema).map((each) => makeNearlyValid(each, depth)));
  return fc.oneof({ weight: 6, arbitrary: sound }, { weight: 1, arbitrary: odd });
}

function makeValid(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const { type, enum: words, properties = {}, additionalProperties, items } = schema;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (words !== undefined) return fc.constantFrom(...words);
  switch (type) {
    case 'string':
      return fc.oneof(
        fc.constantFrom(
          'name',
          'My Env',
          '2026-01-01T00:00:00Z',
          '0198c2f4-5d1e-7c3a-9b42-6f0e8d7c1a23',
          '-',
        ),
        fc.string({ maxLength: 5 }),
        fc.constant('x'.repeat((schema.maxLength ?? 10) < 1_000 ? (schema.maxLength ?? 10) + 1 : 1)),
      );
    case 'integer':
    case 'number':
      return fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return depth > 5
        ? fc.constant([])
        : fc.array(makeNearlyValid(items ?? {}, depth + 1), { maxLength: 3 });
    case 'object': {
      const members = Object.entries(properties).map(
        ([name, member]) => [name, makeNearlyValid(member, depth + 1)] as const,
      );
      const record = fc.record(Object.fromEntries(members), { requiredKeys: [] });
      if (typeof additionalProperties !== 'object' || depth > 5) return record;
      return fc.dictionary(fc.string({ maxLength: 3 }), makeNearlyValid(additionalProperties, depth + 1), {
        maxKeys: 3,
      });
    }
    default:
      return fc.jsonValue();
  }
}

test(`a value has faults exactly if Ajv refuses it, for every request schema (TEST_SEED=${testSeed})`, () => {
  for (const { name, schema } of schemas) {
    const isValid = bodySchemas.compile(structuredClone(schema));
    fc.assert(
      fc.property(makeNearlyValid(schema), (value) => {
        const faults = findFaults(schema, value, options);
        // Ajv writes defaults into the value.
        assert.equal(
          faults.length === 0,
          isValid(structuredClone(value)),
          `${name}: ${JSON.stringify({ value, faults })}`,
        );
      }),
      { numRuns: roundsOr(10), seed: testSeed },
    );
  }
});

const makeRows = (cell: unknown, count: number) => ({
  name: 'grid',
  type: 'GRID',
  behaviour: 'SHARED',
  value: { columns: [], rows: Array.from({ length: count / 2 }, () => [cell, cell]) },
});
const createVariable = operations.find(({ id }) => id === 'createVariable')?.body as JsonSchema;

test('the search stops at its limit: faults in 20,000 cells cost no more than in 100', () => {
  let reads = 0;
  const createCountedRead = (...all: Parameters<typeof Reflect.get>) => {
    reads += 1;
    return Reflect.get(...all) as unknown;
  };
  const counted = (count: number) => {
    reads = 0;
    const body = makeRows(true, count);
    const rows = body.value.rows.map((row) => new Proxy(row, { get: createCountedRead }));
    const found: Fault[] = findFaults(createVariable, { ...body, value: { ...body.value, rows } }, options);
    assert.equal(found.length, 100);
    return reads;
  };
  assert.equal(counted(20_000), counted(200));
});

test('a fault describes the expected value, the actual value, and the nearest known word', () => {
  const place: JsonSchema = {
    type: 'object',
    properties: {
      kind: { type: 'string', enum: ['SHARED', 'COPIED'] },
      at: { type: 'string', format: 'date-time' },
      id: { type: 'string', pattern: '^[0-9]+$', 'x-form': 'digits such as 17' },
      size: { type: 'integer', minimum: 1 },
      list: { type: 'array', maxItems: 1, items: { type: 'string', minLength: 1 } },
      name: { type: 'string', maxLength: 3 },
    },
    required: ['name'],
  };
  assert.deepEqual(
    sentences(place, { kind: 'SHARD', at: '2026-01-01', id: 'x', size: 0, list: [''], nmae: 'x' }),
    [
      '/name is required; the request has "nmae" instead',
      '/kind must be one of SHARED, COPIED; got "SHARD"; did you mean SHARED?',
      '/at must be a date-time such as 2026-01-01T00:00:00Z; got "2026-01-01"',
      '/id must be digits such as 17; got "x"',
      '/size must be at least 1; got 0',
      '/list/0 must not be empty',
    ],
  );
  assert.deepEqual(sentences(place, { name: 'abcd', size: 1.5, list: ['a', 'b'], kind: 7 }), [
    '/name must have at most 3 characters; it has 4',
    '/size must be an integer, not 1.5',
    '/list must have at most 1 item; it has 2',
    '/kind must be a string, not a number',
  ]);
  assert.deepEqual(sentences({ type: 'string', format: 'date', maxLength: 10 }, '2026-01-31T00:00:00Z'), [
    ' must be a date such as 2026-01-31; got "2026-01-31T00:00:00Z"',
  ]);
  assert.deepEqual(sentences({ type: 'number' }, Number.POSITIVE_INFINITY), [
    ' must be a number, not a number outside the range of a double',
  ]);
  assert.deepEqual(sentences({ anyOf: [{ type: 'string' }, { type: 'null' }] }, true), [
    ' must be a string or null, not a boolean',
  ]);
});

test('of a long list of words the first ones are named, and the nearest one', () => {
  const words = Array.from({ length: 120 }, (_, index) => `word-${index}`);
  const [sentence] = sentences({ type: 'object', properties: { a: { enum: words } } }, { a: 'word-119x' });
  assert.match(
    sentence ?? '',
    /word-49 and 70 more, which the reference lists; got "word-119x"; did you mean word-119/,
  );
});

test('a union is validated against the alternative that its tag names', () => {
  const tagged: JsonSchema = {
    anyOf: ['A', 'B'].map((word) => ({
      type: 'object',
      properties: { type: { const: word }, [`of${word}`]: { type: 'string' } },
      required: ['type', `of${word}`],
    })),
  };
  assert.deepEqual(sentences(tagged, { type: 'B', ofA: 1 }), [
    '/ofB is required; the request has "ofA" instead',
  ]);
  assert.deepEqual(sentences(tagged, { type: 'C' }), ['/type must be one of A, B; got "C"']);
});

test('faults do not quote a body that may hold a secret', () => {
  const schema: JsonSchema = { type: 'string', pattern: '^[0-9]+$', 'x-form': 'digits' };
  assert.deepEqual(findFaults(schema, 'hunter2', { ...options, quotes: false }), [
    { pointer: '', detail: 'must be digits' },
  ]);
});

test('a word in any case tells alternatives apart, and an object can say what it wants', () => {
  const kind = (word: string, pattern: string): JsonSchema => ({
    type: 'string',
    pattern,
    'x-form': word,
    'x-words': [word],
  });
  const box: JsonSchema = { type: 'object', 'x-form': 'a box such as {}', properties: {} };
  const schema: JsonSchema = {
    anyOf: [
      {
        type: 'object',
        required: ['type', 'a', 'b'],
        properties: { type: kind('one', '^[oO]ne$'), a: box, b: box },
      },
      { type: 'object', required: ['type'], properties: { type: kind('two', '^two$') } },
    ],
  };
  assert.deepEqual(sentences(schema, { type: 'One', a: 'x' }), [
    '/b is required',
    '/a must be a box such as {}',
  ]);
  assert.deepEqual(sentences(schema, { type: 'on' }), [
    '/type must be one of one, two; got "on"; did you mean one?',
  ]);
  assert.deepEqual(sentences(schema, { type: 'two' }), []);
});
