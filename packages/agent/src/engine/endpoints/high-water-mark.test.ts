import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '@headgate/pipelines';
import { createHighWaterMark } from './high-water-mark.ts';

const open = (before?: string, hasKeys = false) =>
  createHighWaterMark({ column: 'at', at: undefined }, hasKeys, before);

/** Values as JSON. Returns the mark after them. */
function raise(values: readonly string[], before?: string): string | undefined {
  const mark = open(before);
  for (const value of values) mark.take(parseJson(`{"at": ${value}}`) as { at: unknown });
  return mark.value;
}

test('numbers are ordered by value, with all their digits, also if they are texts', () => {
  assert.equal(raise(['9', '10', '9.5']), '10');
  assert.equal(raise(['9007199254740993', '9007199254740992', '999999999999999']), '9007199254740993');
  assert.equal(raise(['"999999999999999999"', '"1000000000000000000"']), '1000000000000000000');
  assert.equal(raise(['0.12345678901234567891', '0.12345678901234567890']), '0.12345678901234567891');
  assert.equal(raise(['-1', '-2'], '-3'), '-1');
  assert.equal(open('10000000000000000').take({ at: '9999999999999999' }), false);
});

test('moments are ordered by what they mean, with all digits of the second', () => {
  assert.equal(
    raise(['"2026-01-02T02:30:00+01:00"', '"2026-01-02T02:00:00Z"', '"2026-01-02 01:59:59 +0000"']),
    '2026-01-02T02:00:00Z',
  );
  assert.equal(
    raise(['"2026-01-02T00:00:00.1234561"', '"2026-01-02T00:00:00.123456"']),
    '2026-01-02T00:00:00.1234561',
  );
  assert.equal(raise(['"2026-01-10"', '"2026-01-09T23:59"']), '2026-01-10');
  assert.equal(open('2026-01-02T00:00:00Z').take({ at: '2026-01-02T00:00:00.000Z' }), false);
  assert.equal(open('2026-01-02T00:00:00Z', true).take({ at: '2026-01-02T01:00:00+01:00' }), true);
});

test('what has no known order is refused with the column and the value', () => {
  for (const value of ['"02/01/2026"', '"Fri, 02 Jan 2026"', '"2026-02-30"', '"abc"', '""', 'true'])
    assert.throws(() => raise([value]), /"at", has the value .*which has no known order/, value);
  for (const values of [
    ['1', '"2026-01-02"'],
    ['"2026-01-02T00:00:00Z"', '"2026-01-02T00:00:00"'],
  ])
    assert.throws(() => raise(values), /which have no common order/);
  assert.throws(() => raise(['5'], '2026-01-02'), /which have no common order/);
  assert.throws(() => raise(['null']), /has no value at "at"/);
});
