/** Operands of types that DuckDB does not mix. Results from the vendor's documentation of data type conversion. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSqlFixture, type SqlFixture } from './sql-rewriting-fixture.ts';

let sql: SqlFixture;
before(async () => {
  sql = await createSqlFixture();
  await sql.rows(`create table t (d date, n int, k number(38, 0), s varchar, v variant, x number(10, 2), ts timestamp);
    insert into t select '2024-02-28', 2, 3, '5', parse_json('[12, "7", {"a": "b"}]'), 1.5, '2024-02-28 01:02:03'`);
});
after(() => sql.close());

const cases: readonly (readonly [script: string, rows: unknown[][]])[] = [
  // A number of days is added to a date, whatever the type of the number.
  [
    'select d + n, d - n, d + k, n + d, d + 1 from t',
    [['2024-03-01', '2024-02-26', '2024-03-02', '2024-03-01', '2024-02-29']],
  ],
  [
    'select d + n * 7, d - n + k, (d + n) - k, d + (n + k) from t',
    [['2024-03-13', '2024-02-29', '2024-02-27', '2024-03-04']],
  ],
  ['select d - (d - n), d - d from t', [[2, 0]]],
  ["select count(*) from t where d + n > '2024-02-29' and d - n < d", [[1]]],
  [
    'select case when n > 1 then d + n else d end, coalesce(d + n, d), max(d + n) from t group by 1, 2',
    [['2024-03-01', '2024-03-01', '2024-03-01']],
  ],
  [
    'select case when s + 1 = 6 then v[0] * 2 else case s when 0 then 1 else s - 1 end end, case when true then 1 end + s from t',
    [[24, 6]],
  ],
  // A text is a number.
  [
    "select '5' + 1, 1 + '5', '2.5' * 2, n * '2.5', s + 1, s * n, s - s, -s, s % 3, s || 1 from t",
    [[6, 6, 5, 5, 6, 10, 0, -5, 2, '51']],
  ],
  ['select sum(s + n), avg(s * 2), s + x from t group by s, x', [[7, 10, 6.5]]],
  ['with w as (select s || 0 as ten from t) select ten + 1 from w', [[51]]],
  // So is a VARIANT.
  ['select REGR_AVGX(v[0], v[1]), regr_count(v[0], V[1]) from t', [[7, 1]]],
  ['select v[0] + 1, 1 + v[1], v[0] * v[1], -v[0] from t', [[13, 8, 84, -12]]],
  [
    'create or replace view added as select d + n as later, s + 1 as six, v[0] - 2 as ten from t; select * from added',
    [['2024-03-01', 6, 10]],
  ],
  [
    'create or replace table made as select d + n as later from t; insert into made select d - n from t; update made set later = later + (select n from t); select later from made order by 1',
    [['2024-02-28'], ['2024-03-03']],
  ],
];

// CONCAT writes each value as a cast to VARCHAR does.
const joined: readonly (readonly [script: string, rows: unknown[][]])[] = [
  [
    "select concat(ts, 'x'), concat(d, '/', n, '/', x), concat(v[1], '!'), concat_ws('-', s, v[0], true), concat(s, null) from t",
    [['2024-02-28 01:02:03.000x', '2024-02-28/2/1.50', '7!', '5-12-true', null]],
  ],
  [`select concat(w, 'x'), concat(1::float, 'x') from (select parse_json('"abc"') as w)`, [['abcx', '1x']]],
];

// BINARY_INPUT_FORMAT and BINARY_OUTPUT_FORMAT of Snowflake are HEX.
const binaries: readonly (readonly [script: string, rows: unknown[][]])[] = [
  [
    "select to_binary('4869')::varchar, to_binary('Hi', 'utf-8')::varchar, md5_binary('a')::varchar, '4869'::binary::varchar",
    [['4869', '4869', '0CC175B9C0F1B6A831C399E269772661', '4869']],
  ],
  [
    "create or replace table bytes (b binary); insert into bytes select to_binary('4869'); select b::varchar, concat(b::varchar, '!'), to_varchar(b, 'utf-8'), b::binary = to_binary('4869') from bytes",
    [['4869', '4869!', 'Hi', true]],
  ],
];

describe('operands of different types', () => {
  for (const [script, rows] of [...cases, ...joined, ...binaries])
    it(script.slice(0, 160), async () => assert.deepEqual(await sql.rows(script), rows));

  it('fails for a TIMESTAMP_TZ whose offset would be lost, with the value and the types to use', async () => {
    const lost =
      /TIMESTAMP_TZ keeps no offset here: for 2024-01-02 03:04:05 ?-03:30 write TIMESTAMP_LTZ, which is in UTC, or TIMESTAMP_NTZ/;
    for (const script of [
      "select '2024-01-02 03:04:05 -03:30'::timestamp_tz",
      "select try_to_timestamp_tz(m) from (select '2024-01-02 03:04:05-03:30' as m)",
      "select to_timestamp_tz('2024-01-02 03:04:05-03:30', 'YYYY-MM-DD HH24:MI:SSTZH:TZM')",
    ])
      await assert.rejects(sql.rows(script), lost, script);
    const retained =
      "select '2024-01-02 03:04:05 +00:00'::timestamp_tz::varchar, to_timestamp_tz('2024-01-02 03:04:05')::varchar, '2024-01-02 03:04:05 -03:30'::timestamp_ltz::varchar, '2024-01-02 03:04:05 -03:30'::timestamp_ntz::varchar";
    assert.deepEqual(await sql.rows(retained), [
      [
        '2024-01-02 03:04:05.000 +0000',
        '2024-01-02 03:04:05.000 +0000',
        '2024-01-02 06:34:05.000 +0000',
        '2024-01-02 03:04:05.000',
      ],
    ]);
  });

  it('fails for a text that is no number, with the value', async () => {
    await assert.rejects(sql.rows("select 'five' + 1"), /Could not convert string 'five' to DOUBLE/);
  });

  it('fails as before where no conversion is known', async () => {
    await assert.rejects(sql.rows('select ts + n from t'), /No function matches .*'\+\(TIMESTAMP, BIGINT\)'/);
  });

  it('converts in long lines, after other characters, and in many places', async () => {
    const script = `select 'äöü', '${'x'.repeat(300)}', /* d + n */ ${Array.from({ length: 60 }, (_, index) => `d + n + ${index}`).join(', ')} from t`;
    const [row = []] = await sql.rows(script);
    assert.deepEqual([row[2], row.at(-1)], ['2024-03-01', '2024-04-29']);
  });
});
