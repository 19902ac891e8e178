import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findStructureFault, readJson } from './json-body.ts';

const describeDuplicate = (name: string) => `the member ${JSON.stringify(name).slice(0, 200)} occurs twice`;

test('a duplicate member is detected with any spelling and at any depth', () => {
  const cases: [string, string | undefined][] = [
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1, "b":[{"c":"a","a":{"x":1}},{"c":1 ,\n"c" : 2}]}', 'c'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"\\"":1,"b":"\\\\","\\"":2}', '"'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['[{"a":1},{"a":1}]', undefined],
    ['{"a":{"a":{"a":"a"}},"b":"\\"a\\":1"}', undefined],
    ['{"a":["b","b","a"],"b":{"a":":"}}', undefined],
    ['"a"', undefined],
    ['7', undefined],
  ];
  for (const [text, name] of cases)
    assert.equal(findStructureFault(text), name && describeDuplicate(name), text);
});

test('output of JSON.stringify has no duplicates, and an added one is detected', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 20 }), fc.nat({ max: 2 }), (value, indent) => {
      assert.equal(findStructureFault(JSON.stringify(value, null, indent)), undefined);
    }),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (object) => {
      const [first = ''] = Object.keys(object);
      const text = `${JSON.stringify(object).slice(0, -1)},${JSON.stringify(first)}:0}`;
      assert.equal(findStructureFault(text), describeDuplicate(first));
    }),
  );
});

test('limits apply to objects and arrays, members per object, and distinct names', () => {
  const makeObjects = (count: number, name: (index: number) => string) =>
    `[${Array.from({ length: count }, (_, index) => `{"${name(index)}":1}`).join(',')}]`;
  assert.equal(findStructureFault(makeObjects(100_000, () => 'a')), undefined);
  assert.match(
    findStructureFault(makeObjects(200_000, () => 'a')) ?? '',
    /more than 200,000 objects and arrays; send less/,
  );
  assert.match(
    findStructureFault(makeObjects(20_001, String)) ?? '',
    /more than 20,000 different member names/,
  );
  const makeMembers = (count: number) =>
    `{${Array.from({ length: count }, (_, index) => `"${index}":1`).join(',')}}`;
  assert.equal(findStructureFault(makeMembers(10_000)), undefined);
  assert.match(findStructureFault(makeMembers(10_001)) ?? '', /an object has more than 10,000 members/);
});

test('where no schema lists the members, limits apply to values and to different short texts', () => {
  const open = { isOpen: true };
  const makeList = (count: number, item: (index: number) => string) =>
    `{"a":[${Array.from({ length: count }, (_, index) => item(index)).join(',')}]}`;
  const numbers = makeList(300_001, () => '1');
  assert.equal(findStructureFault(numbers), undefined);
  assert.match(findStructureFault(numbers, open) ?? '', /more than 300,000 values; send less/);
  assert.equal(
    findStructureFault(
      makeList(300_000, () => '"a,b"'),
      open,
    ),
    undefined,
  );
  const texts = makeList(100_001, (index) => `"${index}"`);
  assert.equal(findStructureFault(texts), undefined);
  assert.match(
    findStructureFault(texts, open) ?? '',
    /more than 100,000 different texts of up to 10 characters/,
  );
  assert.equal(
    findStructureFault(
      makeList(200_000, (index) => `"longer than ten ${index}"`),
      open,
    ),
    undefined,
  );
});

test('invalid JSON is left to JSON.parse', () => {
  for (const text of ['"', '{"a', '{"a"', '{"a":1,"a', ']]]]', '}}}}', '{"\\x":1,"\\x":2}', '']) {
    assert.throws(() => readJson(Buffer.from(text)), /is not valid JSON/, text);
  }
});

test('a duplicate empty name and nesting beyond 64 levels are detected', () => {
  assert.equal(findStructureFault('{"":1,"":2}'), describeDuplicate(''));
  const makeNested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  assert.equal(findStructureFault(makeNested(64)), undefined);
  assert.equal(findStructureFault(makeNested(65)), 'it is nested deeper than 64 levels');
  assert.equal(
    findStructureFault('{"a":['.repeat(33) + ']}'.repeat(33)),
    'it is nested deeper than 64 levels',
  );
});

test('faults of a body with a secret quote nothing, but give the position if known', () => {
  const secret = 'hunter2';
  const texts: [string, RegExp][] = [
    [`{"a": ${secret}}`, /an unexpected character$/],
    [`${secret}`, /an unexpected character$/],
    [`{"a": "${secret}`, /Unterminated string in JSON at position 14 \(line 1 column 15\)$/],
    [`{"a":\n"x" ${secret}}`, /at position 10 \(line 2 column 5\)$/],
    [`{"a": "\\x${secret}"}`, /Bad escaped character/],
    [`{"${secret}":`, /Unexpected end of JSON input$/],
    [`{"${secret}": 1, "${secret}": 2}`, /: a member occurs twice$/],
  ];
  for (const [text, expected] of texts) {
    assert.throws(
      () => readJson(Buffer.from(text), { holdsSecret: true }),
      (fault: Error) => {
        assert.match(fault.message, expected);
        assert.ok(!fault.message.includes(secret) && !fault.message.includes("'h'"), fault.message);
        return true;
      },
    );
  }
});
