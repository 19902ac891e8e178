/**
 * VARCHAR(n) and CHAR(n). From "String & binary data types" and TRY_CAST of Snowflake's documentation, and "Character
 * types" of Redshift's: a longer value is refused, a cast of Redshift cuts it and one of Snowflake fails, CHAR is
 * CHAR(1), and Redshift counts bytes.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { explainError } from './duckdb-errors.ts';
import { createSqlFixture, type SqlFixture } from './sql-rewriting-fixture.ts';

let snowflake: SqlFixture;
let redshift: SqlFixture;
before(async () => {
  snowflake = await createSqlFixture();
  redshift = await createSqlFixture({ vendor: 'redshift' });
});
after(() => {
  snowflake.close();
  redshift.close();
});

/** The message for the user. */
async function readRefusal(sql: SqlFixture, script: string): Promise<string> {
  const error = await sql.rows(script).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  return error === undefined
    ? 'no error'
    : explainError(error, { memoryMegabytes: 100, processMegabytes: 512 });
}

const tooLong = (column: string, table: string, length: string, type: string) =>
  `a value for the column ${column} of the table ${table} has ${length}, and the column is ${type}: shorten the value, as in left(${column}, n), or make the column longer`;

describe('lengths of texts', () => {
  it('are kept by every statement that writes', async () => {
    await snowflake.rows(`create table people (id int, name varchar(3) not null default 'x', sex char, "full name" string(5), free varchar);
      insert into people values (1, 'abc', 'd', 'abcde', repeat('x', 1000)), (2, 'äöü', null, null, null)`);
    const name = tooLong('name', 'people', '4 characters', 'VARCHAR(3)');
    for (const script of [
      "insert into people (name) values ('abc'), ('abcd')",
      "insert into people (id, name) select 3, 'ab' || 'cd'",
      "update people set name = 'abcd' where id = 2",
      "merge into people using (select 'abcd' as v) s on id = 1 when matched then update set name = v when not matched then insert (name) values (v)",
    ])
      assert.equal(await readRefusal(snowflake, script), name, script);
    const full = tooLong('full name', 'people', '7 characters', 'STRING(5)');
    assert.equal(await readRefusal(snowflake, `insert into people ("full name") values ('abcdefg')`), full);
    const sex = tooLong('sex', 'people', '2 characters', 'CHAR(1)');
    assert.equal(await readRefusal(snowflake, "insert into people (sex) values ('mf')"), sex);
    assert.deepEqual(await snowflake.rows('select count(*), max(name) from people'), [[2, 'äöü']]);
  });

  it('are cut by casts of Redshift', async () => {
    const script =
      "select 'abcdef'::varchar(3), 'abc'::char, cast(12345 as varchar(2)), 'abc'::text, 'ab'::varchar(10)";
    assert.deepEqual(await redshift.rows(script), [['abc', 'a', '12', 'abc', 'ab']]);
  });

  it('are kept by casts of Snowflake: CAST fails where TRY_CAST gives NULL', async () => {
    assert.deepEqual(
      await snowflake.rows(
        "select 'abc'::varchar(3), 'abc'::text, try_cast('abc' as char(2)), left('abc', 2)::char(2)",
      ),
      [['abc', 'abc', null, 'ab']],
    );
    for (const cast of ["'abcdef'::varchar(3)", "'abc'::char", 'cast(12345 as varchar(2))'])
      assert.match(
        await readRefusal(snowflake, `select ${cast}`),
        /has more than \d characters: write LEFT/,
        cast,
      );
  });

  it('are kept by tables that are made like others, with defaults, NOT NULL and keys', async () => {
    await snowflake.rows(`create or replace table origin (id int primary key, code varchar(2) not null default 'zz', note varchar);
      insert into origin values (1, 'ab', 'n');
      create or replace table cloned clone origin; create or replace table empty like origin;
      create or replace temporary table brief clone origin; create table if not exists cloned clone empty;
      create schema originals; create table originals.t clone origin; create schema copies clone originals;
      insert into cloned (id) values (2); insert into copies.t (id) values (3)`);
    for (const table of ['cloned', 'empty', 'brief', 'copies.t'])
      assert.match(
        await readRefusal(snowflake, `insert into ${table} (id, code) values (9, 'abc')`),
        /has 3 characters, and the column is VARCHAR\(2\)/,
        table,
      );
    assert.match(await readRefusal(snowflake, 'insert into cloned (id, code) values (9, null)'), /NOT NULL/);
    assert.deepEqual(
      await snowflake.rows(
        'select id, code from cloned union all select id, code from copies.t order by 1, 2',
      ),
      [
        [1, 'ab'],
        [1, 'ab'],
        [2, 'zz'],
        [3, 'zz'],
      ],
    );
    assert.deepEqual(await snowflake.rows('select count(*) from empty'), [[0]]);
    const keys =
      "select table_name from information_schema.table_constraints where constraint_type = 'PRIMARY KEY' and table_name in ('CLONED', 'EMPTY') order by 1";
    assert.deepEqual(await snowflake.rows(keys), [['cloned'], ['empty']]);
    assert.match(
      await readRefusal(snowflake, 'create table past clone origin at (offset => -60)'),
      /CLONE of an earlier state \(AT, BEFORE\) is not supported here/,
    );
    assert.match(
      await readRefusal(snowflake, 'create or replace table cloned clone cloned'),
      /cannot be made from itself/,
    );
    assert.match(await readRefusal(snowflake, 'create table x clone nowhere'), /there is no table nowhere/);
    await redshift.rows(`create table origin (id int primary key, code varchar(2) default 'zz');
      create table plain (like origin); create table full_copy (like origin including defaults);
      insert into plain (id) values (1); insert into full_copy (id) values (2)`);
    assert.deepEqual(
      await redshift.rows(
        'select code from plain union all select code from full_copy order by 1 nulls first',
      ),
      [[null], ['zz']],
    );
    assert.match(await readRefusal(redshift, "insert into plain values (1, 'abc')"), /VARCHAR\(2\)/);
  });

  it('hold for columns that are added', async () => {
    await snowflake.rows(`create or replace table grown (id int); insert into grown values (1);
      alter table grown add column code varchar(2) default 'ab', note varchar(3), free varchar`);
    assert.deepEqual(await snowflake.rows('select * from grown'), [[1, 'ab', null, null]]);
    for (const script of ["insert into grown values (2, 'abc', 'n', 'x')", "update grown set note = 'abcd'"])
      assert.match(await readRefusal(snowflake, script), /and the column is VARCHAR\([23]\)/, script);
    await snowflake.rows("insert into grown values (2, 'cd', 'abc', repeat('x', 100))");
  });

  it('hold for tables that are made of a query', async () => {
    await snowflake.rows(`create table made (code varchar(2), free varchar, n int) as select 'ab', repeat('x', 9), 1;
      create or replace temp table brief as select 'abc'::varchar(3) as code, cast('x' as char(1)) flag, 'y' as free`);
    for (const script of [
      "insert into made values ('abc', 'x', 1)",
      "insert into brief values ('abcd', 'x', 'y')",
      "update brief set flag = 'xy'",
      "create table longer (code varchar(2)) as select 'abc'",
    ])
      assert.match(
        await readRefusal(snowflake, script),
        /and the column is (?:VARCHAR\([23]\)|CHAR\(1\))/,
        script,
      );
    await snowflake.rows("insert into made values ('cd', repeat('x', 99), 2)");
    assert.deepEqual(await snowflake.rows('select code, n from made order by n'), [
      ['ab', 1],
      ['cd', 2],
    ]);
    const place = "select database_name from duckdb_tables() where table_name = 'brief'";
    assert.deepEqual(await snowflake.rows(place), [['temp']]);
  });

  it('can be changed, and the rest of the table stays', async () => {
    await snowflake.rows(`create table parts (id int autoincrement, name varchar(2) not null, note varchar(1) default 'n');
      insert into parts (name) values ('ab'); create index parts_by_id on parts (id);
      create view all_parts as select * from parts`);
    assert.match(await readRefusal(snowflake, "insert into parts (name) values ('abc')"), /VARCHAR\(2\)/);
    await snowflake.rows(`alter table parts alter column name set data type varchar(4);
      insert into parts (name) values ('abcd')`);
    assert.deepEqual(
      await snowflake.rows("select index_name from duckdb_indexes() where table_name = 'parts'"),
      [['parts_by_id']],
    );
    // DuckDB renames no column of a table with an index.
    await snowflake.rows(`drop index parts_by_id; alter table parts rename column name to title`);
    const refusal = await readRefusal(snowflake, "insert into parts (title) values ('abcde')");
    assert.equal(refusal, tooLong('title', 'parts', '5 characters', 'VARCHAR(4)'));
    assert.match(await readRefusal(snowflake, 'insert into parts (title) values (null)'), /NOT NULL/);
    assert.match(
      await readRefusal(snowflake, "insert into parts (title, note) values ('a', 'bc')"),
      /VARCHAR\(1\)/,
    );
    assert.deepEqual(await snowflake.rows('select title, note, id < 5 from parts order by 1'), [
      ['ab', 'n', true],
      ['abcd', 'n', true],
    ]);
    await snowflake.rows(
      "alter table parts modify column title varchar; insert into parts (title) values ('abcdefgh')",
    );
    await snowflake.rows(
      'alter table parts alter note type int using 7; alter table parts drop column title',
    );
    assert.deepEqual(await snowflake.rows('select distinct note, typeof(note) from parts'), [[7, 'BIGINT']]);
  });

  it('hold for temporary tables, which stay temporary', async () => {
    await snowflake.rows('create temp table short (a varchar(2)); alter table short alter a type varchar(3)');
    assert.match(await readRefusal(snowflake, "insert into short values ('abcd')"), /VARCHAR\(3\)/);
    const script = "select database_name from duckdb_tables() where table_name = 'short'";
    assert.deepEqual(await snowflake.rows(script), [['temp']]);
  });

  it('are named if a column is added, where they cannot be kept', async () => {
    await snowflake.rows('create or replace table grown (a int)');
    assert.deepEqual(await snowflake.notes('alter table grown add column if not exists b varchar(2)'), [
      'with IF NOT EXISTS, the length of an added column is not checked here',
    ]);
  });

  it('count bytes in Redshift, where a column without a length has 256', async () => {
    await redshift.rows(`create table texts (a varchar(4), b varchar, c bpchar);
      insert into texts values ('äö', repeat('x', 256), 'c'), ('abcd   ', null, null)`);
    assert.equal(
      await readRefusal(redshift, "insert into texts (a) values ('äöü')"),
      tooLong('a', 'texts', '6 bytes', 'VARCHAR(4)'),
    );
    assert.equal(
      await readRefusal(redshift, "insert into texts (b) values (repeat('x', 257))"),
      tooLong('b', 'texts', '257 bytes', 'VARCHAR(256)'),
    );
  });
});
