import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordLines } from './json-records.ts';

function write(text: string, size: number, options: { strips?: boolean; keeps?: boolean } = {}): string[] {
  const records = new RecordLines({
    stripsOuterArray: options.strips === true,
    keepsDigits: options.keeps !== false,
  });
  const bytes = Buffer.from(text);
  let written = '';
  for (let at = 0; at < bytes.byteLength; at += size)
    written += records.take(bytes.subarray(at, at + size), false).toString('latin1');
  written += records.take(Buffer.alloc(0), true).toString('latin1');
  const lines = Buffer.from(written, 'latin1').toString('utf8').split('\n');
  assert.equal(lines.pop(), '');
  assert.equal(records.longest, Math.max(0, ...lines.map((line) => Buffer.byteLength(line))));
  return lines;
}

/** However the bytes come. */
function check(text: string, expected: readonly string[], options = {}): void {
  for (const size of [1, 2, 3, 5, 7, 1_000])
    assert.deepEqual(write(text, size, options), expected, `${size}`);
}

test('each record is on a line of its own', () => {
  check('{"a": 1}\n{"a":\r\n {"b": [1, 2]}}{"c": "}\\"{"}\n', [
    '{"a": 1}',
    '{"a":   {"b": [1, 2]}}',
    '{"c": "}\\"{"}',
  ]);
  check('\ufeff {"ä": "ö"} 1 "x y" true [1,\n2]', ['{"ä": "ö"}', '1', '"x y"', 'true', '[1, 2]']);
  check('', []);
});

test('each element of an array is a record if it shall be', () => {
  const strips = { strips: true };
  check('[{"a": [1]}, 2,"x", [3]]\n[ ]{"b": 1}', ['{"a": [1]}', '2', '"x"', '[3]', '{"b": 1}'], strips);
  for (const text of ['[1 2]', '[1,]', '[,1]', '[1,,2]', '[{"a": 1}', '['])
    assert.throws(() => write(text, 2, strips), /it is no JSON: /, text);
});

test('a number becomes a text if a double has not all its digits', () => {
  check(
    '{"a": 12345678901234567890.123456789, "b": [-0.1000000000000000055, 1e400], "c": 1.2345678901234567890E-5}',
    [
      '{"a": "12345678901234567890.123456789", "b": ["-0.1000000000000000055", "1e400"], "c": "1.2345678901234567890E-5"}',
    ],
  );
  const exact =
    '{"a": 0.30000000000000004, "b": 1.50000000000000000000, "c": 1e21, "d": 123456789012345678901234567890, "e": -2.5E+3, "f": 0.000, "g": "12345678901234567890.123456789"}';
  check(exact, [exact]);
  check('[1.00000000000000000001]', ['[1.00000000000000000001]'], { keeps: false });
});

test('what does not end is left to the warehouse, which says what is wrong', () => {
  check('{"a": 1', ['{"a": 1']);
  check('"x', ['"x']);
});
