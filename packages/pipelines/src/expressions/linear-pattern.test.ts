import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePattern } from './linear-pattern.ts';

const matches = async (pattern: string, text: string) => (await compilePattern('filter', pattern))(text);

describe('a regular expression of a pipeline', () => {
  for (const [pattern, yes, no] of [
    ['orders_[0-9]+[.]csv', 'orders_12.csv', 'old orders_12.csv'],
    ['(?i).*\\.CSV', 'a.csv', 'a.csv.gz'],
    ['a|b', 'b', 'ab'],
    ['(?is)a.b', 'A\nB', 'a\n\nb'],
    ['(?u)\\u00e4\\d', 'ä1', 'a1'],
    ['.\\.txt', '😀.txt', 'ab.txt'],
    ['(?<day>\\d{4}-\\d\\d)-x', '2026-01-x', '2026-1-x'],
    ['[(?=]\\(\\?=', '?(?=', '(?='],
  ] as const)
    it(`must match the whole text: ${pattern}`, async () => {
      assert.equal(await matches(pattern, yes), true);
      assert.equal(await matches(pattern, no), false);
    });

  it('takes no longer for one that would backtrack', async () => {
    for (const pattern of ['(a+)+', '(a|a?)+b', '(.*a){12}', '.*.*.*.*b'])
      assert.equal(await matches(pattern, `${'a'.repeat(2_000)}!`), false);
  });

  for (const [pattern, said] of [
    ['a(?=b)', 'has look-around at character 2: that is not supported; write all that must match'],
    ['(?<!a)b', 'has look-around at character 1'],
    ['(a)\\1', 'has a back-reference at character 4: that is not supported; write the expression'],
    ['(?<n>a)\\k<n>', 'has a back-reference'],
    ['(?>a)', 'has an atomic group'],
    ['a++', 'has a possessive quantifier at character 2'],
    ['(', 'cannot be used as a regular expression: missing closing ): `(`'],
    ['a{1,1000}b{1,1000}c{1,1000}d{1,1000}e{1,1000}f{1,1000}', 'repeats too much'],
    ['a'.repeat(1_001), 'has 1001 characters; the limit is 1000'],
  ] as const)
    it(`is refused: ${pattern.slice(0, 30)}`, () =>
      assert.rejects(compilePattern('filter', pattern), ({ message }: Error) => message.includes(said)));
});
