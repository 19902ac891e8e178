import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSqlSuite } from './sql-rewriting-fixture.ts';

const { check, ...sql } = createSqlSuite();

const cloned =
  "create schema c1; create table c1.t (id int identity(3, 2), a text default 'x', b int not null); insert into c1.t (b) values (1), (2); create table c1.u as select 5 x;";
check('schemas and databases are copied and dropped', [
  [
    `${cloned} create schema c2 clone c1; drop schema c1; insert into c2.t (b) values (9); select id, a, b from c2.t order by id`,
    [
      [3, 'x', 1],
      [5, 'x', 2],
      [7, 'x', 9],
    ],
  ],
  ['select x from c2.u', [[5]]],
  ['create schema if not exists c2 clone nowhere; select x from c2.u', [[5]]],
  [
    'create table c3.old as select 1 x; create or replace schema c3 clone c2; select count(*) from c3.t',
    [[3]],
  ],
  ["select count(*) from information_schema.tables where table_schema = 'C3' and table_name = 'OLD'", [[0]]],
  [
    'create table dx.s1.t as select 1 x; create table dx.s2.u as select 2 x; create database dy clone dx; drop database dx; select t.x, u.x from dy.s1.t, dy.s2.u',
    [[1, 2]],
  ],
  [
    "create or replace database dy; select count(*) from dy.information_schema.tables where table_catalog = 'DY'",
    [[0]],
  ],
  ['create table c5.t as select 8 x; create database dz clone warehouse; select x from dz.c5.t', [[8]]],
  ['use database dz; create schema fresh clone c5; select x from dz.fresh.t', [[8]]],
]);

describe('a copy of a schema fails', () => {
  const cases: [sql: string, fault: RegExp][] = [
    ['create schema n clone not_there', /there is no not_there to clone/],
    [
      'create schema v1; create view v1.v as select 1 x; create schema v2 clone v1',
      /the view v cannot be cloned here/,
    ],
    [
      'create table d7.s.t as select 1 x; create table d8.s.t as select 1 x; create database d8 clone d7',
      /the database d8 exists/,
    ],
  ];
  for (const [script, fault] of cases) it(script, () => assert.rejects(sql.rows(script), fault));
  it('leaves nothing behind', async () =>
    assert.deepEqual(
      await sql.rows("select count(*) from information_schema.schemata where schema_name in ('N', 'V2')"),
      [[0]],
    ));
});
