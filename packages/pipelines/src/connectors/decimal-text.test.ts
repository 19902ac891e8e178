import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareDecimals, isExactDouble } from './decimal-text.ts';

test('numbers are compared with all their digits', () => {
  const rising = [
    '-1e400',
    '-10',
    '-9.5',
    '0',
    '1e-400',
    '0.1',
    '0.10000000000000000001',
    '9',
    '10',
    '1e400',
  ];
  for (const [index, one] of rising.entries())
    for (const [place, other] of rising.entries())
      assert.equal(Math.sign(compareDecimals(one, other)), Math.sign(index - place), `${one} ${other}`);
  for (const [one, other] of [
    ['1.50', '15e-1'],
    ['-0', '0.00'],
    ['007', '7'],
    ['9007199254740993', '9007199254740993.0'],
  ] as const)
    assert.equal(compareDecimals(one, other), 0);
  assert.ok(compareDecimals('9007199254740993', '9007199254740992') > 0);
});

test('a double keeps what it writes itself, and no other long number', () => {
  for (const text of [
    '0.1',
    '0.10000000000000001',
    '100.00000000000000',
    '9007199254740992',
    '0e999',
    '1e22',
  ])
    assert.equal(isExactDouble(text), true, text);
  for (const text of ['9007199254740993', '0.1234567890123456789', '1e400', '1e-400', '36028797018963968'])
    assert.equal(isExactDouble(text), false, text);
});
