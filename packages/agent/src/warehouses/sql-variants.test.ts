import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSqlFixture, type SqlFixture } from './sql-rewriting-fixture.ts';

let sql: SqlFixture;
before(async () => {
  sql = await createSqlFixture();
  await sql.rows(`create table src (id int, j variant);
    insert into src select 1, parse_json('{"a": {"b": [1, 2, {"c d": "x"}]}, "n": null, "s": "12", "f": 1.5, "yes": true,
      "ts": "2020-01-02 03:04:05", "Case": "u", "arr": [{"k": "p", "l": [1, 2]}, {"k": "q", "l": []}], "o": {"k1": "v1", "k2": 2}}');
    insert into src select 2, parse_json('{"arr": []}');
    insert into src select 3, null`);
});
after(() => sql.close());

const cases: readonly (readonly [script: string, rows: unknown[][]])[] = [
  // Paths.
  [
    'select j:a.b[0]::int, j:a.b[2]."c d"::string, j:a:b[1]::float, j:"s"::varchar from src where id = 1',
    [[1, 'x', 2, '12']],
  ],
  [
    "select j['s']::string, j['a']['b'][1]::int, src.j:o.k1::string, (j:o).k2::int from src where id = 1",
    [['12', 2, 'v1', 2]],
  ],
  [
    'select j:missing is null, j:missing::string is null, j:n::string is null, j:n is null from src where id = 1',
    [[true, true, true, false]],
  ],
  ['select j:Case::string, j:case::string from src where id = 1', [['u', null]]],
  [
    'select j:s::int + 1, j:f::number(10, 1), j:yes::boolean, j:ts::timestamp, j:ts::date from src where id = 1',
    [[13, 1.5, true, '2020-01-02T03:04:05', '2020-01-02']],
  ],
  [
    "select j:s = '12', j:f > 1, j:f + 1, j:s || 'x', upper(j:o.k1), j:yes = true, case when j:yes then 1 else 0 end from src where id = 1",
    [[true, true, 2.5, '12x', 'V1', true, 1]],
  ],
  [
    "select case j:o.k1 when 'v1' then 'one' else 'other' end, case j:f when 1.5 then 1 end, case when j:s = '12' then 2 end from src where id = 1",
    [['one', 1, 2]],
  ],
  ["select count(*) from src where j:s in ('12', '13') and j:o.k1 like 'v%' and j:f between 1 and 2", [[1]]],
  [
    "select coalesce(j:missing::string, 'none'), nvl(j:o.k1, 'none'), iff(j:yes, 1, 2) from src where id = 1",
    [['none', 'v1', 1]],
  ],
  [
    'select try_cast(j:s as int), cast(j:o.k1 as varchar(1)), j:arr[0]:k::string from src where id = 1',
    [[12, 'v', 'p']],
  ],
  [
    'with x as (select j:s as v from src where id = 1) select v::string, length(v::string) from x where v:zzz is null',
    [['12', 2]],
  ],
  [
    "with x as (select id, j:o.k1 as v, 'b' as s from src where id = 1) select upper(v), initcap(x.v), left(v, 1), replace(v, 'v', 'w'), split_part(v, '1', 1), regexp_replace(v, '[0-9]'), trim(lower(s)), v:a from x",
    [['V1', 'V1', 'v', 'w1', 'v', 'v', 'b', null]],
  ],
  ['select max(j:ts::timestamp), sum(j:f::float) from src', [['2020-01-02T03:04:05', 1.5]]],
  [
    "select j :s :: string, j:s = id + 11, id = j:missing, t.k = j:o.k1 from src, (select 'v1' as k) t where id = 1",
    [['12', true, null, true]],
  ],
  // A column gets a value of its type, and a text without quotes.
  [
    'create table named (s varchar, d date, v variant, n int); insert into named select j:o.k1, j:ts, j:o.k1 as v, j:s from src where id = 1; insert into named (v, s) select src.j:arr[0], j:o.k2 from src where id = 1; select s, d, v:k::string, v, n from named order by s desc',
    [
      ['v1', '2020-01-02', null, '"v1"', 12],
      ['2', null, 'p', '{"k":"p","l":[1,2]}', null],
    ],
  ],
  [
    'create table grouped (s varchar, n int); insert into grouped select j:o.k1, count(*) from src where id = 1 group by j:o.k1; insert into grouped select distinct j:o.k1 as s, 2 from src where id = 1 order by 1 limit 1; insert into grouped select j:o.k1, count(*) + 2 from src where id = 1 group by all; insert into grouped select j:o.k1::string, 4 from src where id = 1 union all select j:s::string, 5 from src where id = 1; select * from grouped order by n',
    [
      ['v1', 1],
      ['v1', 2],
      ['v1', 3],
      ['v1', 4],
      ['12', 5],
    ],
  ],
  // FLATTEN.
  [
    'select f.index, f.key, f.path, f.value:k::string from src, lateral flatten(input => j:arr) f order by f.index',
    [
      [0, null, '[0]', 'p'],
      [1, null, '[1]', 'q'],
    ],
  ],
  [
    'select key, index, value::string from src, lateral flatten(j:o) order by key',
    [
      ['k1', null, 'v1'],
      ['k2', null, '2'],
    ],
  ],
  [
    "select id, f.value from src, table(flatten(input => src.j, path => 'arr', outer => true)) f where id > 1 order by id",
    [
      [2, null],
      [3, null],
    ],
  ],
  [
    "select f.path from src, lateral flatten(input => j, path => 'arr') f where f.value:k = 'q'",
    [['arr[1]']],
  ],
  [
    'select f.value:k::string, g.value::int from src s, lateral flatten(s.j:arr) f, lateral flatten(f.value:l) g order by 2',
    [
      ['p', 1],
      ['p', 2],
    ],
  ],
  [
    'select s.id, f.value:k::string as k from src s left join lateral flatten(input => s.j:arr) f where id <> 3 order by 1, 2',
    [
      [1, 'p'],
      [1, 'q'],
      [2, null],
    ],
  ],
  [
    'select count(*) from src join lateral flatten(input => j:arr) f join lateral flatten(input => f.value:l, outer => true) g',
    [[3]],
  ],
  [
    'select path, value::string from src, lateral flatten(input => j:o, recursive => true) order by path',
    [
      ['k1', 'v1'],
      ['k2', '2'],
    ],
  ],
  [
    'select path from table(flatten(input => parse_json(\'{"a": [1, {"b": 2}]}\'), recursive => true)) order by path',
    [['a'], ['a[0]'], ['a[1]'], ['a[1].b']],
  ],
  ["select count(*) from src, lateral flatten(input => j, mode => 'ARRAY')", [[0]]],
  ["select this:k1::string from src, lateral flatten(input => j:o) f where f.key = 'k2'", [['v1']]],
  ['select value::int from table(flatten(input => array_construct(3, 4))) order by 1', [[3], [4]]],
  [
    'select array_size(j:arr), array_agg(f.value:k::string) within group (order by f.index) from src, lateral flatten(j:arr) f where id = 1 group by j',
    [[2, '["p","q"]']],
  ],
];

describe('semi-structured values', () => {
  for (const [script, rows] of cases)
    it(script.slice(0, 160), async () => assert.deepEqual(await sql.rows(script), rows));
});
