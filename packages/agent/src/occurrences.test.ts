import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findOccurrences, findWords } from './occurrences.ts';

function findSimply(text: string, expected: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(expected); at >= 0; at = text.indexOf(expected, at + 1)) found.push(at);
  return found;
}

test('the same positions as those of indexOf are found', () => {
  const letters = (most: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: most });
  fc.assert(
    fc.property(letters(40), fc.nat(90), letters(4), (text, repeated, end) => {
      const expected = `${'a'.repeat(repeated)}b${end}`;
      const whole = `${text}${expected}${text}${'a'.repeat(repeated)}${expected}a`;
      assert.deepEqual([...findOccurrences(whole, expected)], findSimply(whole, expected));
    }),
  );
  assert.deepEqual([...findOccurrences('aaaa', 'aa')], [0, 1, 2]);
  assert.deepEqual([...findOccurrences('a', '')], []);
});

test('a text of one letter is searched for another one at once', () => {
  // `indexOf` takes minutes for it.
  const expected = `${'a'.repeat(100_000)}b${'a'.repeat(100_000)}`;
  assert.deepEqual([...findOccurrences('a'.repeat(1_000_000), expected)], []);
  assert.deepEqual([...findOccurrences(`aa${expected}`, expected)], [2]);
});

test('a word is found between other characters than letters', () => {
  const letter = /^[\p{L}\p{N}]$/u;
  assert.deepEqual([...findWords('ab xab abx éab ab𝐀 (ab) ab', 'ab', letter)], [0, 21, 25]);
});
