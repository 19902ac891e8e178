/**
 * The scale of quotients. Results from "Arithmetic operators" of Snowflake's documentation (the scale is
 * max(s1, min(s1 + 6, 12)), and the last digit is rounded), and "Computations with numeric values" of Redshift's.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSqlFixture, type SqlFixture } from './sql-rewriting-fixture.ts';

let snowflake: SqlFixture;
let redshift: SqlFixture;
before(async () => {
  snowflake = await createSqlFixture();
  redshift = await createSqlFixture({ vendor: 'redshift' });
  await snowflake.rows(`create table t (a int, b int, x number(10, 2), y number(38, 0), k number(38, 12), f float, s varchar, v variant);
    insert into t select 10, 3, 1.5, 7, 2, 2.5, '9', parse_json('{"n": 9}')`);
  await redshift.rows(`create table t (a int, b int, c bigint, x numeric(8, 2), f float8, r real);
    insert into t select 10, 3, -7, 1.5, 2.5, 0.5`);
});
after(() => {
  snowflake.close();
  redshift.close();
});

const cases: readonly (readonly [script: string, row: unknown[]])[] = [
  [
    'select (10/3)::varchar, (1.00/3)::varchar, (2/3)::varchar, (10/4)::varchar, (-2/3)::varchar',
    ['3.333333', '0.33333333', '0.666667', '2.500000', '-0.666667'],
  ],
  [
    'select (1/3*3)::varchar, (1.5/2.25)::varchar, (1.1234567/1)::varchar, (0.1234567890123/1)::varchar',
    ['0.999999', '0.6666667', '1.123456700000', '0.1234567890123'],
  ],
  [
    'select (a/b)::varchar, (x/b)::varchar, (a/x)::varchar, (y/b)::varchar, (k/b)::varchar, (a/-b)::varchar from t',
    ['3.333333', '0.50000000', '6.666667', '2.333333', '0.666666666667', '-3.333333'],
  ],
  [
    'select (a * 2 / b)::varchar, (a / b / x)::varchar, ((a + b) / (x + 1))::varchar, (a - b / 2)::varchar, round(a / b, 2) from t',
    ['6.666667', '2.222222000000', '5.200000', '8.500000', 3.33],
  ],
  [
    'select (sum(a) / count(*))::varchar, (sum(x) / sum(b))::varchar, (sum(a) over () / count(*) over ())::varchar from t group by a',
    ['10.000000', '0.50000000', '10.000000'],
  ],
  [
    "select 'r' || a / b, concat(a / b, ''), md5((a / b)::varchar) = md5('3.333333') from t",
    ['r3.333333', '3.333333', true],
  ],
  ['select f / b = 2.5::float / 3::float, a / f, v:n / 2, s / 2, 18 / s from t', [true, 4, 4.5, 4.5, 2]],
  [
    'select a / nullif(b, 3), null / b, div0(a, 0)::varchar, div0(a, b)::varchar, div0null(a, nullif(b, 3))::varchar from t',
    [null, null, '0.000000', '3.333333', '0.000000'],
  ],
  [
    'select ((select max(a) from t) / (select min(b) from t))::varchar, (case when a > 1 then a end / b)::varchar from t',
    ['3.333333', '3.333333'],
  ],
  [
    'with q as (select a / b as part from t) select part::varchar, (part * 3)::varchar from q',
    ['3.333333', '9.999999'],
  ],
  [
    "select 7 // 2, interval '3 hours' / 2 = interval '90 minutes', /* a / b */ a -- whole\n / b from t",
    [3, true, 3.333333],
  ],
];

describe('division', () => {
  for (const [script, row] of cases)
    it(script.slice(0, 160), async () => assert.deepEqual(await snowflake.rows(script), [row]));

  for (const script of [
    'select 1 / 0',
    'select a / (b - 3) from t',
    'select a / 0.0 from t',
    'select 1 / (select b - 3 from t)',
  ])
    it(`${script} is a division by zero`, async () => {
      await assert.rejects(snowflake.rows(script), /division by zero/);
      await assert.rejects(redshift.rows(script), /division by zero/);
    });

  it('of whole numbers gives a whole number in Redshift', async () => {
    const script =
      'select 10/3, a/b, c/2, a/b*b, sum(a)/count(*), (a + 1) / 2, typeof(a / b) from t group by a, b, c';
    assert.deepEqual(await redshift.rows(script), [[3, 3, -3, 9, 10, 5, 'INTEGER']]);
  });

  it('has the scale of Redshift where the types are written', async () => {
    // max(4, 1 + 10 - 0 + 1) = 12, max(4, 2 + 8 - 2 + 1) = 9, max(4, 2 + 8 - 7 + 1) = 4
    const script =
      'select (10.0/3)::varchar, (x::decimal(8,2) / 3::decimal(8,2))::varchar, (1::decimal(8,2) / 3::decimal(8,7))::varchar from t';
    assert.deepEqual(await redshift.rows(script), [['3.333333333333', '0.500000000', '0.3333']]);
    assert.deepEqual(await redshift.rows('select a / f, r / 2, f / b = 2.5::float8 / 3 from t'), [
      [4, 0.25, true],
    ]);
  });

  it('has the scale of Redshift by the types of columns, and cuts further digits off', async () => {
    // A logged session of Redshift divides DECIMAL(8, 2) by DECIMAL(8, 7): 0.3333.
    await redshift.rows(`create table money (paid numeric(8, 2), rate numeric(8, 7), sold smallint, n int);
      insert into money values (2, 3, 3, 7), (-2, 3, 3, 7), (null, 3, 3, 7)`);
    const script = `select (paid / rate)::varchar, (paid / paid)::varchar, (paid / sold)::varchar, (n / paid)::varchar,
      (paid / nullif(rate, 3))::varchar, (paid / (select max(n) from money))::varchar from money order by paid`;
    assert.deepEqual(await redshift.rows(script), [
      ['-0.6666', '1.000000000', '-0.66666666', '-3.5000000', null, '-0.2857142857142'],
      ['0.6666', '1.000000000', '0.66666666', '3.5000000', null, '0.2857142857142'],
      [null, null, null, null, null, null],
    ]);
    // DECIMAL(8, 2) / SMALLINT is DECIMAL(14, 8): max(4, 8 + 10 - 0 + 1) = 19.
    const nested =
      'select left((paid / sold / n)::varchar, 17), length((paid / sold / n)::varchar), (sum(paid) / count(*))::varchar from money where paid > 0 group by all';
    assert.deepEqual(await redshift.rows(nested), [['0.095238094285714', 21, '2.0000']]);
    await assert.rejects(redshift.rows('select paid / (sold - 3) from money'), /division by zero/);
  });

  it('a mean of decimals has their scale in Redshift', async () => {
    // The prices of the example of PIVOT in Redshift's documentation.
    const script = `select avg(x)::varchar, avg(y)::varchar, avg(z)::varchar, typeof(avg(x))
      from (values (10::decimal(12, 2), 2.5::decimal(12, 2), 1), (9, 3.75, 2), (12, 1.9, 2)) v(x, y, z)`;
    assert.deepEqual(await redshift.rows(script), [['10.33', '2.71', '1', 'DECIMAL(38,2)']]);
    const running = 'select avg(x) over (order by x)::varchar from (values (1.0), (1.1), (1.3)) v(x)';
    assert.deepEqual(await redshift.rows(running), [['1.0'], ['1.0'], ['1.1']]);
  });
});
