import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { createSqlSuite } from './sql-rewriting-fixture.ts';

const { check, ...sql } = createSqlSuite();

const three =
  'create or replace table few (a int); create or replace table many (a int, b text); create or replace table rest (a int);';
const branches =
  "when a > 1 then into few (a) values (a) when a > 2 then into many values (a, 'n' || a) else into rest select * from (values (1), (2), (3), (null)) t (a);";
const counts =
  'select (select list(a order by a) from few), (select list(b) from many), (select count(*) from rest)';
check('INSERT into several tables', [
  [
    `${three} insert all into few into many (a) values (a * 10) select 7 as a; select few.a, many.a, many.b from few, many`,
    [[7, 70, null]],
  ],
  [`${three} insert all ${branches} ${counts}`, [['["2","3"]', '["n3"]', 2]]],
  [`${three} insert first ${branches} ${counts}`, [['["2","3"]', null, 2]]],
  [`insert overwrite all into few select max(a) + 1 as a from few; select a from few`, [[4]]],
]);

check('rows that change', [
  [
    "create table m (id int, v text, n int); insert into m values (1, 'a', 0), (2, 'b', 0), (3, 'c', 0); merge into m t using (select 1 id, 'x' v union all select 2, 'del' union all select 9, 'new') s on t.id = s.id when matched and s.v = 'del' then delete when matched then update set t.v = s.v, t.n = t.n + 1 when not matched then insert (t.id, t.v) values (s.id, s.v); select id, v, n from m order by id",
    [
      [1, 'x', 1],
      [3, 'c', 0],
      [9, 'new', null],
    ],
  ],
  [
    'merge into m using (select 1 id) s on m.id = s.id when not matched by source then delete; select id from m',
    [[1]],
  ],
  ["update m as t set t.v = s.v from (select 1 id, 'up' v) s where t.id = s.id; select v from m", [['up']]],
  ['update m set m.n = case when m.n > 0 then 10 else 20 end; select n from m', [[10]]],
  ['delete from m using (select 1 as id) s where m.id = s.id; select count(*) from m', [[0]]],
  [
    'create table o (a int); insert into o values (1), (2); insert overwrite into o select a + 1 from o; select a from o order by a',
    [[2], [3]],
  ],
  ['insert overwrite into o (a) with x as (select 7 as a) select a from x; select a from o', [[7]]],
  [
    'truncate table if exists o; truncate table if exists no.such.table; truncate o; select count(*) from o',
    [[0]],
  ],
  [
    'begin; insert overwrite into o select 1; truncate table if exists o; rollback; select count(*) from o',
    [[0]],
  ],
]);

describe('MERGE with several rows of the source for one row', () => {
  const source = "(select 1 id, 'a' v union all select 1, 'b')";
  beforeEach(() =>
    sql.rows(
      "create schema if not exists kept; create or replace table kept.one as select 1 as id, 'old' as v",
    ),
  );
  const values = () => sql.rows('select v from kept.one');

  for (const [into, on] of [
    ['kept.one t', 't.id = s.id'],
    ['kept.one', 'one.id = s.id and one.v = (select max(x.v) from kept.one x where x.id = one.id)'],
  ])
    it(`fails if it updates: ${into}`, async () => {
      const merge = `merge into ${into} using ${source} s on ${on} when matched then update set v = s.v`;
      await assert.rejects(sql.rows(merge), /several rows of the source match the same row of the table/);
      assert.deepEqual(await values(), [['old']]);
    });

  it('runs if only one of them updates, or all delete', async () => {
    const merge = `merge into kept.one t using ${source} s on t.id = s.id when matched`;
    await sql.rows(`${merge} and s.v = 'a' then update set v = s.v`);
    assert.deepEqual(await values(), [['a']]);
    await sql.rows(`${merge} then delete`);
    assert.deepEqual(await values(), []);
  });

  it('is not checked if columns are written with their schema', async () => {
    await sql.rows(
      "merge into kept.one using (select 1 id, 'new' v) s on kept.one.id = s.id when matched then update set v = s.v",
    );
    assert.deepEqual(await values(), [['new']]);
  });
});

describe('a statement with several parts', () => {
  it('is atomic: the rows stay if the new ones cannot be written', async () => {
    await sql.rows('create or replace table whole (x int not null); insert into whole values (1)');
    await assert.rejects(sql.rows('insert overwrite into whole select null'), /NOT NULL/);
    assert.deepEqual(await sql.rows('select x from whole'), [[1]]);
  });

  it('leaves no schema behind if it fails', async () => {
    await assert.rejects(sql.rows('create table gone.s.t as select * from missing'), /missing/);
    assert.deepEqual(
      await sql.rows("select count(*) from information_schema.schemata where schema_name = 'gone.s'"),
      [[0]],
    );
  });
});
