/** SQL that is too much for the parser costs its columns, and ends nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trace } from './analysis-fixture.ts';

const catalog = { t: 'a b', out: 'a b' };
const repeat = (text: string, times: number, between: string) => Array(times).fill(text).join(between);

const cases: [name: string, sql: string][] = [
  ['1 MB of conditions', `INSERT INTO out SELECT a, b FROM t WHERE ${repeat('a = 12345', 80_000, ' OR ')}`],
  ['1 MB of comments', `INSERT INTO out SELECT a, b FROM t /*${'x'.repeat(1_000_000)}*/`],
  ['1,000 ORed terms', `INSERT INTO out SELECT a, b FROM t WHERE ${repeat('a = 1', 1_000, ' OR ')}`],
  ['10,000 UNIONs', `INSERT INTO out ${repeat('SELECT a, b FROM t', 10_000, ' UNION ALL ')}`],
  ['10,000 parentheses', `INSERT INTO out SELECT ${'('.repeat(10_000)}a${')'.repeat(10_000)}, b FROM t`],
  [
    'a subquery in a subquery, 200 times',
    `INSERT INTO out SELECT a, b FROM ${'(SELECT * FROM '.repeat(200)}t${')'.repeat(200)}`,
  ],
  ['a text without its end', "INSERT INTO out SELECT a, 'b FROM t"],
  ['5,000 NOTs', `INSERT INTO out SELECT a, b FROM t WHERE ${'NOT '.repeat(5_000)}a`],
  ['5,000 signs', `INSERT INTO out SELECT ${'- '.repeat(5_000)}a, b FROM t`],
];

for (const [name, sql] of cases)
  test(name, () => {
    const [first = '', ...others] = trace(sql, catalog);
    assert.match(first, /^out from /);
    assert.match(others.join('\n'), /^gap: a statement is known by its tables only: /);
  });

test('a long list of values is analyzed by its first row', () =>
  assert.deepEqual(trace(`INSERT INTO out VALUES ${repeat("(1, 'x')", 20_000, ', ')}`, catalog), [
    'out.a:',
    'out.b:',
  ]));

test('300 ANDed conditions and 200 UNIONs are analyzed', () => {
  const query = `SELECT a, b FROM t WHERE ${repeat('a = 1', 300, ' AND ')}`;
  assert.deepEqual(trace(`INSERT INTO out ${query}`, catalog), [
    'out.a: t.a',
    'out.b: t.b',
    'out decided by t.a',
  ]);
  const union = repeat('SELECT a, b FROM t', 200, ' UNION ALL ');
  assert.deepEqual(trace(`INSERT INTO out ${union}`, catalog), ['out.a: t.a', 'out.b: t.b']);
});
