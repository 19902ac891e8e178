import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readJson, structureFault } from './json-body.ts';

const twice = (name: string) => `the member ${JSON.stringify(name).slice(0, 200)} is there twice`;

test('a member that is there twice is found, however it is written and however deep', () => {
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
  for (const [text, name] of cases) assert.equal(structureFault(text), name && twice(name), text);
});

test('what JSON.stringify writes has no member twice, and one more is noticed', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 20 }), fc.nat({ max: 2 }), (value, indent) => {
      assert.equal(structureFault(JSON.stringify(value, null, indent)), undefined);
    }),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (object) => {
      const [first = ''] = Object.keys(object);
      const text = `${JSON.stringify(object).slice(0, -1)},${JSON.stringify(first)}:0}`;
      assert.equal(structureFault(text), twice(first));
    }),
  );
});

test('the structure of a body is bounded: objects and lists, members of an object, and different names', () => {
  const objects = (count: number, name: (index: number) => string) =>
    `[${Array.from({ length: count }, (_, index) => `{"${name(index)}":1}`).join(',')}]`;
  assert.equal(structureFault(objects(100_000, () => 'a')), undefined);
  assert.match(
    structureFault(objects(200_000, () => 'a')) ?? '',
    /more than 200,000 objects and lists; send less/,
  );
  assert.match(structureFault(objects(20_001, String)) ?? '', /more than 20,000 different names of members/);
  const members = (count: number) =>
    `{${Array.from({ length: count }, (_, index) => `"${index}":1`).join(',')}}`;
  assert.equal(structureFault(members(10_000)), undefined);
  assert.match(structureFault(members(10_001)) ?? '', /an object has more than 10,000 members/);
});

test('text that is not JSON is left to JSON.parse', () => {
  for (const text of ['"', '{"a', '{"a"', '{"a":1,"a', ']]]]', '}}}}', '{"\\x":1,"\\x":2}', '']) {
    assert.throws(() => readJson(Buffer.from(text)), /is not valid JSON/, text);
  }
});

test('an empty name that is there twice is found, and nesting beyond 64 levels', () => {
  assert.equal(structureFault('{"":1,"":2}'), twice(''));
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  assert.equal(structureFault(nested(64)), undefined);
  assert.equal(structureFault(nested(65)), 'it is nested deeper than 64 levels');
  assert.equal(structureFault('{"a":['.repeat(33) + ']}'.repeat(33)), 'it is nested deeper than 64 levels');
});

test('of a body that holds a secret no fault repeats any of it, and a place is told where there is one', () => {
  const secret = 'hunter2';
  const texts: [string, RegExp][] = [
    [`{"a": ${secret}}`, /a character where JSON allows none$/],
    [`${secret}`, /a character where JSON allows none$/],
    [`{"a": "${secret}`, /Unterminated string in JSON at position 14 \(line 1 column 15\)$/],
    [`{"a":\n"x" ${secret}}`, /at position 10 \(line 2 column 5\)$/],
    [`{"a": "\\x${secret}"}`, /Bad escaped character/],
    [`{"${secret}":`, /Unexpected end of JSON input$/],
    [`{"${secret}": 1, "${secret}": 2}`, /: a member is there twice$/],
  ];
  for (const [text, told] of texts) {
    assert.throws(
      () => readJson(Buffer.from(text), true),
      (fault: Error) => {
        assert.match(fault.message, told);
        assert.ok(!fault.message.includes(secret) && !fault.message.includes("'h'"), fault.message);
        return true;
      },
    );
  }
});
