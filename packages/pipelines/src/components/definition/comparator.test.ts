import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { duckdb } from '../../sql/duckdb.ts';
import { isConditionMet, readCondition } from './comparator.ts';
import { renderCondition, renderConditions } from './condition-sql.ts';

const sql = (...row: string[]) => renderCondition(readCondition(row), duckdb);
const holds = (value: string | number | null, ...row: string[]) =>
  isConditionMet(readCondition(['v', ...row]), value);

describe('conditions as SQL', () => {
  const cases: [string[], string][] = [
    [['a', 'Is', 'Equal to', "x' or 1=1 --"], `"a" = 'x'' or 1=1 --'`],
    [['a', 'Not', 'Equal to', 'x'], `NOT ("a" = 'x')`],
    [['a"b', 'Is', 'Less than or equal to', '5'], `"a""b" <= '5'`],
    [['a', 'Is', 'Like', '%x'], `CAST("a" AS VARCHAR) LIKE '%x'`],
    [['a', 'Is', 'Null', ''], '"a" IS NULL'],
    [['a', 'Not', 'Blank'], `NOT (trim(CAST("a" AS VARCHAR)) = '')`],
    [['a', 'Is', 'In', "x, 'y, z', it's"], `"a" IN ('x', 'y, z', 'it''s')`],
    [['a', 'Is', 'Between', '1 and 5'], `("a" >= '1' AND "a" <= '5')`],
    [['a', 'Is', 'Between', "'b', 'c'"], `("a" >= 'b' AND "a" <= 'c')`],
  ];
  for (const [row, expected] of cases) it(row.join(' '), () => assert.equal(sql(...row), expected));

  it('are joined by And or Or; no conditions are TRUE', () => {
    const rows = [
      ['a', 'Is', 'Null', ''],
      ['b', 'Is', 'Null', ''],
    ];
    assert.equal(renderConditions(rows, 'OR', duckdb), '"a" IS NULL\n  OR "b" IS NULL');
    assert.equal(renderConditions([], 'AND', duckdb), 'TRUE');
  });

  it('that are invalid fail with a list of the known words', () => {
    assert.throws(() => sql('a', 'Is', 'Equals', 'x'), /"Equals" is not a comparator: use one of equal to, /);
    assert.throws(() => sql('a', 'Maybe', 'Null'), /"Maybe": use Is or Not/);
    assert.throws(() => sql('a', 'Is', 'Between', '1'), /needs two values/);
  });
});

describe('conditions on values', () => {
  it('compare numbers numerically and texts alphabetically', () => {
    assert.ok(holds(10, 'Is', 'Greater than', '9'));
    assert.ok(!holds('10', 'Is', 'Greater than', '9'));
    assert.ok(holds(5, 'Is', 'Between', '1 and 5'));
    assert.ok(holds('b', 'Is', 'In', 'a, b'));
    assert.ok(holds('b', 'Not', 'Equal to', 'a'));
  });

  it('support null and blank', () => {
    assert.ok(holds(null, 'Is', 'Null'));
    assert.ok(holds(' ', 'Is', 'Blank'));
    assert.ok(!holds(null, 'Is', 'Equal to', ''));
  });

  it('match patterns like SQL LIKE, in bounded time', () => {
    assert.ok(holds('abcbd', 'Is', 'Like', 'a%b_'));
    assert.ok(holds('', 'Is', 'Like', '%'));
    assert.ok(!holds('abc', 'Is', 'Like', 'a%d'));
    assert.ok(!holds('a'.repeat(5_000), 'Is', 'Like', `${'%a'.repeat(500)}b`));
  });
});
