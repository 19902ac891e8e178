/** PIVOT and UNPIVOT. Results from the vendors' documentation of these constructs and of identifiers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSqlFixture, type SqlFixture } from './sql-rewriting-fixture.ts';

let snowflake: SqlFixture;
let redshift: SqlFixture;
before(async () => {
  snowflake = await createSqlFixture();
  redshift = await createSqlFixture({ vendor: 'redshift' });
  const tables = `create table sales (emp int, amount int, month varchar);
    insert into sales values (1, 10, 'JAN'), (1, 20, 'FEB'), (2, 5, 'JAN');
    create table wide (id int, jan int, "Feb" int, mar int);
    insert into wide values (1, 10, 20, null)`;
  await snowflake.rows(tables);
  await redshift.rows(tables);
});
after(() => {
  snowflake.close();
  redshift.close();
});

const pivoted = [
  [1, 10, 20],
  [2, 5, null],
];
const cases: readonly (readonly [script: string, rows: unknown[][]])[] = [
  ["select * from (sales) pivot (sum(amount) for month in ('JAN', 'FEB')) as p order by emp", pivoted],
  ["select * from ((sales)) s pivot (sum(amount) for month in ('JAN', 'FEB')) p order by emp", pivoted],
  [
    "select * from (select * from sales) pivot (sum(amount) for month in ('JAN', 'FEB')) order by emp",
    pivoted,
  ],
  ["select * from sales pivot (sum(amount) for month in ('JAN', 'FEB')) as p (e, j, f) order by e", pivoted],
  // Without an alias a column has the value's quotes in its name.
  [
    `select emp, p."'JAN'", "'FEB'" from sales pivot (sum(amount) for month in ('JAN', 'FEB')) p order by 1`,
    pivoted,
  ],
  [
    "select emp, j, f from sales pivot (sum(amount) for month in ('JAN' as j, 'FEB' as f)) order by 1",
    pivoted,
  ],
  ['select id, s.emp from (wide) w join (sales) s on w.id = s.emp and s.amount > 15', [[1, 1]]],
  // A name without quotes is upper case as a value.
  [
    'select month, sales from wide unpivot (sales for month in (jan, "Feb", mar)) order by 1',
    [
      ['Feb', 20],
      ['JAN', 10],
    ],
  ],
  [
    "select month, sales from (wide) unpivot include nulls (sales for month in (jan as january, mar as 'March')) order by 1",
    [
      ['JANUARY', 10],
      ['March', null],
    ],
  ],
  ['select object_construct(*) from wide', [['{"FEB":20,"ID":1,"JAN":10}']]],
  ['select object_construct_keep_null(* exclude (id)) from wide', [['{"FEB":20,"JAN":10,"MAR":null}']]],
  [
    'select object_construct(w.*) as o, o:JAN::int, o:jan::int from wide w',
    [['{"FEB":20,"ID":1,"JAN":10}', 10, null]],
  ],
];

describe('PIVOT and UNPIVOT', () => {
  for (const [script, rows] of cases)
    it(script.slice(0, 160), async () => assert.deepEqual(await snowflake.rows(script), rows));

  it('folds names to lower case in Redshift, and names columns as the values', async () => {
    const values = 'select month, sales from wide unpivot (sales for month in (JAN, "Feb")) order by 1';
    assert.deepEqual(await redshift.rows(values), [
      ['Feb', 20],
      ['jan', 10],
    ]);
    const columns =
      "select emp, jan, \"FEB\" from sales pivot (sum(amount) for month in ('JAN', 'FEB')) order by 1";
    assert.deepEqual(await redshift.rows(columns), pivoted);
  });
});
