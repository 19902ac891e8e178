/** Redshift's SQL: the results are those of its documentation (https://docs.aws.amazon.com/redshift/latest/dg). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSqlFixture, type SqlFixture } from './sql-rewriting-fixture.ts';

let sql: SqlFixture;
before(async () => {
  sql = await createSqlFixture({ vendor: 'redshift' });
});
after(() => sql.close());

const answers: readonly (readonly [query: string, row: readonly unknown[]])[] = [
  [
    "'abcde' ~ 'bc', 'abcde' !~ 'bc', 'abcde' ~ '^bc', 'ABC' ~* 'b', 'ABC' !~* 'b'",
    [true, false, false, true, false],
  ],
  ["not 'a' ~ 'b', 'a' || 'b' ~ '^ab$', null::varchar ~ 'a', 'a b' ~ '\\\\s'", [true, true, null, true]],
  ['~5, 1 + ~2, case ~1 when -2 then 3 end', [-6, -2, 3]],
  // https://docs.aws.amazon.com/redshift/latest/dg/pattern-matching-conditions-similar-to.html
  [
    "'abc' similar to '_b_', 'abc' similar to 'a%', 'abc' similar to 'b', 'abc' similar to '%(b|d)%'",
    [true, true, false, true],
  ],
  [
    "'abc' not similar to 'a.c', 'a.c' similar to 'a.c', 'aab' similar to 'a{2}b?', 'b' similar to '[^a]'",
    [true, true, true, true],
  ],
  [
    "'a%' similar to 'a\\\\%', 'ab' similar to 'a\\\\%', 'a%' similar to 'a^%' escape '^'",
    [true, false, true],
  ],
  ['greatest(1, null, 3), least(null, 2), greatest(null, null)', [3, 2, null]],
  // https://docs.aws.amazon.com/redshift/latest/dg/r_CONVERT_function.html
  [
    "convert(int, '12'), convert(decimal(10, 2), '1.25')::varchar, convert(varchar, 5), convert(date, '2020-01-02')",
    [12, '1.25', '5', '2020-01-02'],
  ],
  // https://docs.aws.amazon.com/redshift/latest/dg/r_STRTOL.html
  [
    "strtol('0xf', 16), strtol('abcd1234', 16), strtol('1234567', 8), strtol('110101', 2)",
    [15, 2882343476, 342391, 53],
  ],
  ["strtol('-z', 36), strtol('', 10), strtol(null, 10)", [-35, 0, null]],
  ["isnull(null, 5), isnull('a', 'b'), nvl(null, null, 3), 1 isnull", [5, 'a', 3, false]],
];

describe('Redshift', () => {
  for (const [query, row] of answers)
    it(query, async () => assert.deepEqual(await sql.rows(`select ${query}`), [row]));

  it('TRUNC gives a date for a timestamp, and else a number, by the type of the column', async () => {
    await sql.rows(
      "create table updates as select '2008-04-09 11:22:33'::timestamp as x, 12.75::decimal(10, 2) as last_update, -1.9::float8 as f, 5 as i",
    );
    assert.deepEqual(
      await sql.rows(
        'select trunc(x), trunc(last_update)::int, trunc(f), trunc(i), trunc(12.345, 2) from updates',
      ),
      [['2008-04-09', 12, -1, 5, 12.34]],
    );
    assert.deepEqual(
      await sql.rows('select trunc(max(x)), typeof(trunc(updates.x)) from updates group by updates.x'),
      [['2008-04-09', 'DATE']],
    );
  });

  it('LISTAGG leaves NULLs out, and is NULL without rows', async () => {
    await sql.rows("create table letters as select * from (values ('b'), (null), ('a')) v(x)");
    assert.deepEqual(
      await sql.rows(
        "select listagg(x, ', ') within group (order by x), (select listagg(x) from letters where false) from letters",
      ),
      [['a, b', null]],
    );
  });

  it('matches in conditions of UPDATE and DELETE', async () => {
    await sql.rows(
      "create table marks as select * from (values ('a1', 0), ('b', 0)) v(x, n); update marks set n = 1 where x ~ '[0-9]'; delete from marks where x not similar to 'a_' and n !~ '1'",
    );
    assert.deepEqual(await sql.rows('select x, n from marks'), [['a1', 1]]);
  });

  for (const [query, message] of [
    ['select x similar to x from letters', /SIMILAR TO needs a pattern in quotes here: use ~/],
    ["select 'a' similar to 'a\\\\'", /ends with its escape character/],
    ["select strtol('12', 2)", /"12" is not a number of base 2/],
    ['select convert(5)', /CONVERT takes a type and a value, as in CONVERT\(INT, x\)/],
    ["select 'a' ~ '(?=a)'", /invalid perl operator/],
  ] as const)
    it(`refuses ${query}`, async () => assert.rejects(sql.rows(query), message));
});
