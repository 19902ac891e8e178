import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSqlSuite } from './sql-rewriting-fixture.ts';

const { check, ...sql } = createSqlSuite();

check('keys that are declared and not enforced', [
  [
    'create table keyed (id int primary key, code int unique, a int, b int, unique (a, b)); insert into keyed values (1, 1, 1, 1), (1, 1, 1, 1); describe table keyed',
    [
      ['id', 'BIGINT', 'NO', 'PRI', null, null],
      ['code', 'BIGINT', 'YES', 'UNI', null, null],
      ['a', 'BIGINT', 'YES', 'UNI', null, null],
      ['b', 'BIGINT', 'YES', 'UNI', null, null],
    ],
  ],
  [
    "select constraint_type, constraint_name, enforced from information_schema.table_constraints where table_name = 'KEYED' and constraint_type <> 'CHECK' order by 2",
    [
      ['UNIQUE', 'keyed_a_b_key', 'NO'],
      ['UNIQUE', 'keyed_code_key', 'NO'],
      ['PRIMARY KEY', 'keyed_pkey', 'NO'],
    ],
  ],
  [
    "select constraint_name, column_name, ordinal_position from information_schema.key_column_usage where table_name = 'keyed' order by 1, 3",
    [
      ['keyed_a_b_key', 'a', 1],
      ['keyed_a_b_key', 'b', 2],
      ['keyed_code_key', 'code', 1],
      ['keyed_pkey', 'id', 1],
    ],
  ],
  ["select count(column_comment) from information_schema.columns where table_name = 'keyed'", [[0]]],
]);

check('functions of users', [
  [
    "create or replace function area(width float, height float default 2) returns number(10, 1) language sql as 'width * height'; select area(3), area('3', 4), area(width => 1.26)",
    [[6, 12, 2.5]],
  ],
  [
    "create or replace function label_of(a varchar, n int) returns varchar as $$ -- a comment\n iff(n > 1, a || 's', a) $$; select label_of('row', 1), label_of('row', '2'), count(*) from values (1), (2) group by label_of('row', 1), 2, label_of('row', 2) having count(*) > 0",
    [['row', 'rows', 2]],
  ],
  [
    "create table fx as select * from values (1, 'a'), (2, 'b') v(id, name); create function crm.tools.name_of(wanted int) returns varchar as $$ select max(name) from fx where id = wanted; $$; select crm.tools.name_of(2), crm.tools.name_of(9)",
    [['b', null]],
  ],
  [
    "create or replace function rows_from(least int) returns table (id varchar, upper_name varchar) as 'select id, upper(name) from fx where id >= least'; select * from table(rows_from(2))",
    [['2', 'B']],
  ],
  ['select t.upper_name from rows_from(1) t order by 1', [['A'], ['B']]],
  [
    "create function crm.tools.all_rows() returns table (id int) as 'select id from fx'; select count(*) from table(crm.tools.all_rows())",
    [[2]],
  ],
  [
    "create function joined(parts array) returns varchar as $$ md5(array_to_string(parts, ',')) $$; select joined(array_construct('a', 'b')) = md5('a,b')",
    [[true]],
  ],
  [
    "create function size_of(parts array, o object) returns varchar as 'array_size(parts) || get(o, ''k'')::varchar'; select size_of(array_construct(1, 'b', null), object_construct('k', 'v')), size_of(array_construct(), object_construct())",
    [['3v', null]],
  ],
  [
    "create or replace function plus_one(x int) returns int strict immutable comment = 'c' as 'coalesce(x, 5) + 1'; select plus_one(null), plus_one(1)",
    [[null, 2]],
  ],
  [
    'create or replace function larger(float, float) returns float stable as $$ select case when $1 > $2 then $1 else $2 end $$ language sql; select larger(1, 2.5)',
    [[2.5]],
  ],
  ['drop function larger(float, float); drop function if exists larger(float, float); select 1', [[1]]],
]);

describe('a function of users', () => {
  const refused: readonly (readonly [script: string, message: RegExp])[] = [
    [
      "create function f(x int) returns int language javascript as 'return X'",
      /a function in JAVASCRIPT is not/,
    ],
    [
      "create function f(x int) returns int language plpythonu as 'return x'",
      /a function in PLPYTHONU is not/,
    ],
    ["create external function f(x int) returns int as 'https://a'", /CREATE EXTERNAL FUNCTION is not/],
    [
      "create aggregate function f(x int) returns int language python as 'x'",
      /CREATE AGGREGATE FUNCTION is not/,
    ],
    ["create function nvl2(x int) returns int as 'x'", /"nvl2" is a function of the warehouse/],
    ["create function lower(x text) returns text as 'x'", /"lower" is a function of the warehouse/],
    ["create function list_sum(x text) returns text as 'x'", /the name "list_sum" of a function of DuckDB/],
    ["create function f(x int) returns int as 'x) as y, (1'", /not one query or expression/],
    ["create function f(x int) returns int as 'x; drop table t'", /not one query or expression/],
    ["create function f(x int) returns int as 'query(x)'", /the function "query" is not allowed/],
    [
      "create function f(id int) returns varchar as 'select max(name) from fx where id = id'",
      /Conflicting column names for column id/,
    ],
    ['create function f(x int) returns int as $$ 1 /* $$', /the ends of its texts and comments/],
    ['select larger(1, 2)', /larger/],
  ];
  for (const [script, message] of refused)
    it(`is refused: ${script}`, async () => assert.rejects(sql.rows(script), message));
});

check('INFORMATION_SCHEMA.TABLES counts the rows that are there', [
  [
    "create table counted as select * from values (1), (2), (3) v(a); delete from counted where a > 1; create table counts.far.counted (a int); select table_schema, row_count, bytes, created from information_schema.tables where table_name = 'COUNTED' order by 1",
    [
      ['FAR', 0, null, null],
      ['main', 1, null, null],
    ],
  ],
  [
    "create view counts.far.v as select 1 x; select row_count, last_altered from counts.information_schema.tables where table_name = 'v'",
    [[null, null]],
  ],
  ["select created from information_schema.schemata where schema_name = 'far'", [[null]]],
]);

check('names', [
  [
    'create table Sales.Raw.T (a int); insert into SALES.raw.t values (1); select * from sales.RAW."T"',
    [[1]],
  ],
  ['create table d..t1 as select 1 x; select * from d.public.t1', [[1]]],
  ['create table warehouse.public.t2 as select 2 x; select x from t2', [[2]]],
  ['select main.t2.x, public.t2.x, warehouse.main.t2.x from public.t2', [[2, 2, 2]]],
  [
    'create table "a.b"."c".t as select 1 x; create table a."b.c".t as select 2 x; select x from "a.b".c.t',
    [[1]],
  ],
  [
    'create table d.s.t3 (x int); insert into d.s.t3 values (7); select d.s.t3.x, s.t3.x, t3.x from d.s.t3 where d.s.t3.x = 7',
    [[7, 7, 7]],
  ],
  ['create table "../../etc/passwd"."x".t as select 5 x; select x from "../../etc/passwd"."X".t', [[5]]],
  [
    'use database other; create or replace table u (x int); insert into u values (1); use schema other2.s; create or replace table u as select 2 x; select x from other.public.u',
    [[1]],
  ],
  ['use schema other2.s; with u as (select 9 x) select x from u', [[9]]],
  [
    'use schema other2.s; select table_name, current_schema(), CURRENT_DATABASE() from information_schema.tables where table_catalog = current_database() and table_schema = current_schema()',
    [['u', 's', 'other2']],
  ],
  ["set t = 'd.s.t3'; select x from identifier($t)", [[7]]],
  ["select x from table('d.s.t3')", [[7]]],
  [
    "select table_catalog, table_schema from d.information_schema.tables where table_schema = 's'",
    [['D', 'S']],
  ],
  [
    "select count(*) from information_schema.tables where table_catalog = 'd' and table_name in ('T3', 't3')",
    [[1]],
  ],
  [
    "select information_schema.schemata.schema_name from information_schema.schemata where catalog_name = 'D' and schema_name = 's'",
    [['S']],
  ],
  [
    "create table d.info.x (a number(9, 2), b string, c int, t timestamp_ntz, v variant); select c.data_type, c.numeric_precision, c.numeric_scale, c.character_maximum_length from d.information_schema.columns c where c.table_catalog = 'D' and c.table_schema = 'INFO' and c.column_name <> 'C' order by c.ordinal_position",
    [
      ['NUMBER', 9, 2, null],
      ['TEXT', null, null, 16_777_216],
      ['TIMESTAMP_NTZ', null, null, null],
      ['VARIANT', null, null, null],
    ],
  ],
  [
    'create or replace temporary table d.s.tmp as select 4 x; update d.s.tmp set x = 5; select x from d.s.tmp',
    [[5]],
  ],
  [
    'create schema if not exists shop.eu; create table shop.eu.o as select 1 x; drop table shop.eu.o; drop schema shop.eu; select 1',
    [[1]],
  ],
  ['create sequence d.s.seq start = 5 increment = 5; select d.s.seq.nextval, d.s.seq.nextval', [[5, 10]]],
  ['create table described (a int); describe table described', [['a', 'BIGINT', 'YES', null, null, null]]],
  ['select column_name from (describe described)', [['a']]],
  ["select timestamp '2024-01-31' + interval '1 month, 2 days'", [['2024-03-02T00:00:00']]],
  ["alter session set timezone = 'UTC'; select 1", [[1]]],
]);

check('names and places', [
  [
    'create table later if not exists (a int); create table later if not exists (b int); select a from later',
    [],
  ],
  ["set part = 'la'; select count(*) from identifier($part || 'ter')", [[0]]],
]);

check('queries', [
  ['select top 2 x from (values (3), (1), (2)) v(x) order by x', [[1], [2]]],
  ['select distinct top 1 x from (values (3), (3)) v(x)', [[3]]],
  ['select 1 minus select 2', [[1]]],
  ['select x from (values (1), (null), (2)) v(x) order by x', [[1], [2], [null]]],
  ['select x from (values (1), (null), (2)) v(x) order by x desc', [[null], [2], [1]]],
  ['select row_number() over (order by x) from (values (null), (1)) v(x) order by x', [[1], [2]]],
  [
    "select column2, $1 from values (1, 'a'), (2, 'b') order by 1",
    [
      ['a', 1],
      ['b', 2],
    ],
  ],
  ["select column1 from (values ('a')) order by column1", [['a']]],
  ['select a, b from values (1, 2) as v(a, b)', [[1, 2]]],
  ['select * exclude b rename a as c from (select 1 a, 2 b)', [[1]]],
  [
    'select x, x + 1 as y, y * 2 as z from (select 1 x) where y > 1 qualify row_number() over (partition by y order by x) = 1',
    [[1, 2, 4]],
  ],
  ['select k, sum(v) from (values (1, 2), (1, 3)) t(k, v) group by all', [[1, 5]]],
  ['select count(*) from (select * from range(1000)) sample (100)', [[1000]]],
  ['select count(*) from range(1000) tablesample (10 rows)', [[10]]],
  ['select count(*) from table(generator(rowcount => 5))', [[5]]],
  [
    "select 'x' like any ('a', 'x'), 'x' not like all ('a%', 'b%'), 'abc' rlike 'a.c', 'abcd' rlike 'a.c'",
    [[true, true, true, false]],
  ],
  [
    "select 'it\\'s', 'a\\\\b', 'tab\\there', 'x\\d', $$it's$$",
    [["it's", 'a\\b', 'tab\there', 'x\\d', "it's"]],
  ],
  ['// a comment\nselect 1 // 2\n// the end', [[0]]],
  ['set (a, b) = (1, 2); set c = (select max(x) from (values (5)) v(x)); select $a + $B + $c', [[8]]],
  [
    'select last_value(x) over (order by x), first_value(x) ignore nulls over (order by x) from (values (1), (2)) v(x)',
    [
      [2, 1],
      [2, 1],
    ],
  ],
  [
    "select substring('abcdef' from 2 for 3), position('c' in 'abc'), trim(both 'x' from 'xax'), extract(year from date '2020-05-01')",
    [['bcd', 3, 'a', 2020]],
  ],
  ['select cast(2.5 as int), 1.5::number, 1.456::number(10, 2), 3000000000::int', [[3, 2, 1.46, 3000000000]]],
]);

check('definitions', [
  [
    "create or replace table k (id int, \"at\" date, end int, note varchar collate 'en-ci', constraint pk primary key (id) rely, constraint f foreign key (id) references other.x.y (id), unique (end) not enforced, d int references other.x.z (id)); insert into k values (1, current_date, 2, 'Ab', 3); select id, \"end\", d, note = 'aB' from k",
    [[1, 2, 3, true]],
  ],
  [
    "create or replace transient table ct (id number(10,0) not null comment 'the id', s string, v variant, t timestamp_ntz(9), b varchar(max)) cluster by (id) data_retention_time_in_days = 1 copy grants comment = 'x'; select column_name, data_type from information_schema.columns where table_name = 'ct' order by ordinal_position",
    [
      ['id', 'NUMBER'],
      ['s', 'TEXT'],
      ['v', 'VARIANT'],
      ['t', 'TIMESTAMP_NTZ'],
      ['b', 'TEXT'],
    ],
  ],
  [
    "create table rs (id int identity(1,1) not null encode az64 distkey, a varchar(max) default 'z') diststyle key compound sortkey (id, a); insert into rs (a) values (default); insert into rs (a) values ('q'); select id, a from rs order by id",
    [
      [1, 'z'],
      [2, 'q'],
    ],
  ],
  [
    'create or replace table rs (id int autoincrement start 10 increment 5 noorder, a int); insert into rs (a) values (1), (2); select id from rs order by id',
    [[10], [15]],
  ],
  [
    'create table if not exists rs (id int autoincrement, a int); insert into rs (a) values (3); select max(id) from rs',
    [[20]],
  ],
  [
    'create table c1 clone rs; create table c2 like rs; create table c3 (like rs); select (select count(*) from c1), (select count(*) from c2), (select count(*) from c3)',
    [[3, 0, 0]],
  ],
  ["create table ca (a int, b string) as select '5', 6; select a + 1, b || '!' from ca", [[6, '6!']]],
  ['create table cb (a, b) as select 1, 2; select a, b from cb', [[1, 2]]],
  [
    "create or replace secure view d.v.vv (a comment 'x') copy grants comment = 'c' as select 1; select a from d.v.vv",
    [[1]],
  ],
  ['create view w as select * from ca with no schema binding; select count(*) from w', [[1]]],
  ['create or replace materialized view mv as select 2 x; select x from mv', [[2]]],
  [
    'alter table ca add column c int default 3, d string; alter table ca drop column b, d; alter table ca rename column c to e; select * from ca',
    [[5, 3]],
  ],
  [
    'alter table ca alter column e set data type string; alter table ca modify column e number(10,1); select e from ca',
    [[3]],
  ],
  [
    'create table s1 as select 1 x; create table s2 as select 2 x; alter table s1 swap with s2; select s1.x, s2.x from s1, s2',
    [[2, 1]],
  ],
  [
    "alter table s1 rename to main.s3; drop table s2, s3; select count(*) from information_schema.tables where table_name in ('s1', 's2', 's3')",
    [[0]],
  ],
  [
    'desc table ca',
    [
      ['a', 'BIGINT', 'YES', null, null, null],
      ['e', 'DECIMAL(10,1)', 'YES', null, '3', null],
    ],
  ],
]);

describe('a division by 0', () => {
  for (const script of [
    'select 1 / 0',
    'select x % y from (select 1 x, 0 y)',
    'select sum(x) / count(y) from (select 1 x, null y)',
  ])
    it(`fails: ${script}`, () => assert.rejects(sql.rows(script), /division by zero/));

  it('is NULL by NULLIF, and 0 by DIV0', async () =>
    assert.deepEqual(await sql.rows('select 1 / nullif(0, 0), div0(1, 0), 7 / 2, 7 % 4'), [
      [null, 0, 3.5, 3],
    ]));
});

check('texts beside numbers are numbers', [
  [
    "select sum(case when x > 1 then v else 0 end) from (values (1, '5'), (2, '7'), (3, '1.5')) t(x, v)",
    [[8.5]],
  ],
  [
    "select case x when 1 then -1 when 2 then case when v = '7' then v end end + 1 from (values (1, '5'), (2, '7')) t(x, v)",
    [[0], [8]],
  ],
  ["select case when true then date '2024-05-06' else null end", [['2024-05-06']]],
  ["select case when v = '5' then v else 'none' end from (values ('5')) t(v)", [['5']]],
]);

const mixed = "from (values ('7', 10, date '2024-01-02')) t(a, b, d)";
check('columns of texts, numbers and dates together', [
  [
    `select length(b), upper(b), replace(b, '1', '2'), trim(b), left(d, 4), reverse(b) ${mixed}`,
    [[2, '10', '20', '10', '2024', '01']],
  ],
  [`select b like '1%', d like '2024%', contains(b, '0') ${mixed}`, [[true, true, true]]],
  [`select a > 5, a > b, a < b, a between 1 and 8 ${mixed}`, [[true, false, true, true]]],
  [`select coalesce(a, b), iff(b > 5, a, b) ${mixed}`, [['7', '7']]],
]);

check('queries in parentheses at the start', [
  ['select iff((select count(*) from (values (1), (2)) t) > 1, (select 7), 0)', [[7]]],
  ['select nvl((select max(x) from (values (4)) t(x)), 0), abs((select 2) - 5)', [[4, 3]]],
  ['select * from ((select 1 x) a join (select 1 x, zeroifnull(null) y) b on a.x = b.x)', [[1, 1, 0]]],
  ['select x from ((select zeroifnull(null) x) union all select 2 order by 1)', [[0], [2]]],
]);

check('names of expressions without an alias', [
  [
    "create table unnamed as select nvl(1, 2), iff(true, 'aB', null), dateadd(day, 1, '2024-01-01'::date) as d; select column_name from information_schema.columns where table_name = 'unnamed' order by ordinal_position",
    [['NVL(1, 2)'], ["IFF(TRUE, 'aB', NULL)"], ['d']],
  ],
  ['select distinct nvl(x, 0) from (values (1), (null)) t(x) order by nvl(x, 0)', [[0], [1]]],
  ['select nvl(max(x), 0) from (values (1), (null)) t(x) minus select 5', [[1]]],
]);

check('RLIKE as a function', [
  [
    "select rlike(x, 'a.*'), not rlike(x, 'b'), x rlike 'a1' from (values ('a1')) t(x) where rlike(x, '[a-z][0-9]') and x not rlike 'z'",
    [[true, true, true]],
  ],
]);

check('names and dates as in Databricks', [
  [
    'create table `a b`.`s`.`t` (`n` int); insert into `a b`.s.`t` values (1); select `t`.`n` from `a b`.`s`.`t` -- `',
    [[1]],
  ],
  ["select '`a`', datediff('2024-03-01', `d`) from (select date '2024-02-28' as `d`)", [['`a`', 2]]],
]);
