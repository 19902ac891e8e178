import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SqlError } from './dialect/dialect.ts';
import { sqlRewriter } from './rewriter.ts';
import { placeSchema } from './tokens/names.ts';

const rewrite = (sql: string) => sqlRewriter.rewriteScript(sql, {});
const texts = (sql: string) => rewrite(sql).map((statement) => statement.sql);

describe('SQL of DuckDB stays as it was written', () => {
  const statements = [
    'SELECT  a ,b -- why\nFROM t /* which */ WHERE x',
    'from t select a where b = 1',
    "SELECT COLUMNS('x.*'), COLUMNS(c -> c LIKE 'a%') FROM t",
    'SELECT list_filter([1, 2], lambda x, y: x > y), list_transform(l, x -> x + 1)',
    "SELECT {'a': b, c: d}, MAP {'k': 1}['k'], l[1:2], l[a:b], s.a.b.c.d, a: 42, b:1",
    'PIVOT t ON a USING first(b) GROUP BY c',
    'UNPIVOT t ON COLUMNS(* EXCLUDE (a)) INTO NAME n VALUE v',
    "COPY (SELECT * FROM t) TO 'x.csv' (FORMAT csv, HEADER)",
    'CREATE MACRO add(a, b) AS a + b',
    'CREATE FUNCTION add(a, b) AS a + b',
    "CREATE TABLE t (a HUGEINT NOT NULL, b VARCHAR DEFAULT 'x', c STRUCT(x UTINYINT)[], CHECK (a > 0))",
    'CREATE OR REPLACE TABLE t AS FROM u',
    "SELECT * FROM read_csv('x.csv', header = true) AS r (a, b)",
    'SELECT a FROM t ASOF JOIN u ON t.a >= u.a ORDER BY ALL LIMIT 5',
    'SELECT * EXCLUDE (a) REPLACE (b + 1 AS b) FROM t POSITIONAL JOIN u',
    'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t',
    'INSERT INTO t BY NAME SELECT 1 AS a ON CONFLICT (a) DO UPDATE SET b = excluded.b RETURNING a',
    'SET VARIABLE x = 1',
    'SHOW TABLES',
    'USE main',
    'BEGIN TRANSACTION',
    "SELECT x::HUGEINT, y::UTINYINT[], 'a' || $$b;c$$, 7 // 2, #1, t.* FROM t",
    'SELECT a FROM x: t',
    "SELECT interval '1 day' + interval 3 hours, date '2020-01-01', x IS DISTINCT FROM y",
  ];
  for (const sql of statements) it(sql, () => assert.deepEqual(texts(sql), [sql]));

  it('whatever its names, blanks and comments', () => {
    const name = fc.stringMatching(/^[a-z_]{1,8}x$/);
    const gap = fc.constantFrom(' ', '\n', '  -- why\n', ' /* ; */ ', '\t');
    fc.assert(
      fc.property(name, name, name, gap, fc.integer({ min: 1 }), (a, b, t, blank, n) => {
        const sql = `SELECT${blank}${a},${blank}"${b}" + ${n} AS ${b} FROM${blank}${t}${blank}WHERE ${a} = 'it''s; ${b}'${blank}ORDER BY ${b}`;
        assert.deepEqual(texts(sql), [sql]);
      }),
    );
  });
});

describe('a script', () => {
  it('gives each statement its line, kind, reads and writes', () => {
    const [first, second] = rewrite(
      '-- load\nCREATE TABLE d.s.t AS\nSELECT 1;\n\nINSERT INTO s.u SELECT * FROM d.s.t;',
    );
    assert.deepEqual(
      [first?.line, first?.kind, second?.line, second?.kind],
      [2, 'CREATE TABLE', 5, 'INSERT'],
    );
    assert.deepEqual(first?.writes, [{ database: 'd', schema: 's', table: 't' }]);
    assert.deepEqual(first?.before, ['CREATE SCHEMA IF NOT EXISTS "d.s"']);
    assert.deepEqual(second?.writes, [{ database: undefined, schema: 's', table: 'u' }]);
    assert.deepEqual(second?.reads, [{ database: 'd', schema: 's', table: 't' }]);
    assert.equal(first?.sql, '-- load\nCREATE TABLE "d.s"."t" AS\nSELECT 1');
  });

  const ignored: [sql: string, note: RegExp][] = [
    ['use warehouse w', /^USE WAREHOUSE/],
    ["alter session set query_tag = 'x'", /QUERY_TAG has no effect/],
    ['alter warehouse w set warehouse_size = large', /^ALTER WAREHOUSE/],
    ["comment on table t is 'x'", /^COMMENT/],
    ['vacuum full t', /^VACUUM/],
    ['create or replace file format f type = csv', /^CREATE FILE FORMAT/],
    ['create database if not exists d', /^CREATE DATABASE/],
    ['alter table t cluster by (a)', /CLUSTER has no effect/],
    ['drop task s', /^DROP TASK/],
    ["set query_group to 'x'", /^SET QUERY_GROUP/],
    ["show tables like 'x' in schema s", /^SHOW TABLES/],
  ];
  for (const [sql, note] of ignored) {
    it(`notes that it has no effect: ${sql}`, () => {
      const [statement] = rewrite(sql);
      assert.equal(statement?.sql, '');
      assert.match(statement?.notes[0] ?? '', note);
    });
  }

  it('takes names that are the same for Snowflake too, and lists whose names do not matter', () => {
    for (const sql of [
      'select a.id, b.ID from a join b on a.id = b.id',
      'select 1 as "x" union all select 2 as "X"',
      'insert into t (a, b) select x as "n", y as "N" from s',
    ])
      assert.equal(rewrite(sql)[0]?.sql, sql);
  });

  const refused: [sql: string, fault: RegExp][] = [
    ['select 1 from a, b where a.x = b.x (+)', /outer join by \(\+\) is not supported here: write LEFT JOIN/],
    ["select * from t, lateral split_to_table(t.a, ',')", /^SPLIT_TO_TABLE is not supported here: write/],
    ["select * from table(split_to_table('a', ','))", /^SPLIT_TO_TABLE is not supported here: write/],
    ['select 1;\ncopy into t from @s', /^COPY INTO is not supported here: .*\(line 2\)$/],
    ["copy t from 's3://b' iam_role 'x'", /COPY from a bucket/],
    ['insert all into a values (1) into b', /INSERT ALL needs INTO with a table, and then a query/],
    ['insert first when 1 = 1 into a select 1', /a WHEN has no THEN/],
    ['insert all into a values (default) select 1', /DEFAULT is not supported/],
    ["select * from identifier('a' || lower('b'))", /IDENTIFIER needs a text/],
    ['select * from table(result_scan(last_query_id()))', /RESULT_SCAN/],
    ['select * from @stage/file', /stage/],
    ['create stage s', /a stage without URL is not supported here: give the address of an object store/],
    ["create stage s url = 's3://b/' credentials = (aws_key_id = 'x')", /CREDENTIALS of a stage .*remove it/],
    ["create temporary stage s url = 's3://b/'", /a temporary stage/],
    ['create stage s url = s3', /the value of URL must be a text in quotes/],
    ["alter stage s set url = 's3://b/'", /write CREATE OR REPLACE STAGE/],
    ['call p()', /CALL/],
    [
      'select x."Full" from (select a as "Full", upper(a) as "FULL" from t) x',
      /^two columns of a SELECT are named "Full" and "FULL", which differ only in case: rename one of them/,
    ],
    ['select t."name", upper(b) name from t', /named "name" and "NAME"/],
    ["execute immediate 'select 1'", /EXECUTE/],
    ['declare x int; begin x := 1; end', /DECLARE/],
    ['begin let x := 1; end', /BEGIN … END/],
    ['create or replace procedure p() returns int language sql as $$ begin end $$', /CREATE PROCEDURE/],
    ['create stream s on table t', /detect-changes/],
    ['create task t as select 1', /schedule/],
    ['create external table t', /CREATE EXTERNAL TABLE/],
    ["alter session set timezone = 'America/New_York'", /it would change results/],
    ['create share s', /^CREATE SHARE is not supported here/],
    ['create network policy p', /^CREATE NETWORK is not supported here/],
    ['let x := 1', /^LET is Snowflake Scripting/],
    ['fetch c into x', /^FETCH of a cursor is not/],
    ['drop database warehouse', /is the one of the environment/],
    ['create or replace database warehouse', /always there/],
    ['create or replace schema public clone s', /always there/],
    ['create schema s clone s', /into itself/],
    ["create schema s clone t at (timestamp => '2024-01-01'::timestamp)", /only the present state/],
    [
      'alter schema s rename to t',
      /ALTER SCHEMA … RENAME TO is not supported here: use CREATE SCHEMA … CLONE/,
    ],
    ['alter database d swap with e', /SWAP WITH is not supported/],
    ['select * from t at (offset => -60)', /time travel/],
    ['select a from t start with a = 1 connect by prior a = b', /CONNECT BY/],
    ['select f.seq from t, lateral flatten(x) f', /SEQ of FLATTEN/],
    ['select max(j:a) from t', /MAX of a semi-structured value needs its type/],
    ['select $x', /\$x is not set/],
    ["select 1;\nselect 'not closed", /^a text in '…' has no end: write ' after it \(line 2\)$/],
    ["select 'C:\\', 2", /^a text in '…' has no end/],
    ['select 1;\n\nselect "not closed', /^a name in "…" has no end: write " after it \(line 3\)$/],
    ['select 1; /* insert into t values (1);', /^a comment \/\* has no end: write \*\/ after it \(line 1\)$/],
    ['select $q$ a;\n$$', /^a text in dollars has no end/],
    ['select 1;\nselect (1', /^the parentheses of the statement do not match: .*\(line 2\)$/],
    ['set x = (select 1); select * from identifier($x)', /IDENTIFIER needs a text/],
    ['select * from a.b.c.d', /4 parts/],
    ['undrop table t', /UNDROP/],
    ["select * from t, lateral flatten(input => x, mode => 'LIST')", /mode of FLATTEN is "LIST"/],
    ['alter table a.b.t rename to a.c.t', /another schema/],
    ['create table t (a geography)', /GEOGRAPHY is not supported.*\(line 1\)/],
    ['select 1,\n  split_part(1)', /SPLIT_PART takes.*\(line 2\)/],
  ];
  const access = [
    'grant select on t to role r',
    'revoke all on t from r',
    'create role r',
    'create user u',
    'alter user u set password = x',
    'drop role r',
    'create or replace masking policy m as (v text) returns text -> v',
    'create row access policy p as (v text) returns boolean -> true',
    'alter table t add row access policy p on (a)',
    'alter table t drop all row access policies',
    'alter table t modify column a set masking policy m',
    'alter table t owner to r',
    'create table t (a int with masking policy m using (a), b int)',
    'create table t (a int) with row access policy p on (a)',
    'create view v with row access policy p on (a) as select 1 as a',
  ];
  for (const sql of access) {
    it(`changes who may read, and is refused unless the project says so: ${sql}`, () => {
      assert.throws(
        () => rewrite(sql),
        (error: Error) =>
          error instanceof SqlError && /changes who may read.*ignoreAccessStatements/.test(error.message),
      );
      const [statement] = sqlRewriter.rewriteScript(sql, { ignoresAccess: true });
      assert.match(statement?.notes[0] ?? '', /has no effect here: who may read/);
      assert.doesNotMatch(statement?.sql ?? '', /policy|grant|revoke|role|user/i);
    });
  }

  it('leaves columns named policy alone', () => {
    assert.deepEqual(texts('alter table t add column policy text'), [
      'alter table t ADD COLUMN policy VARCHAR',
    ]);
  });

  for (const [sql, fault] of refused) {
    it(`refuses ${sql}`, () =>
      assert.throws(
        () => rewrite(sql),
        (error: Error) => error instanceof SqlError && fault.test(error.message),
      ));
  }
});

describe('the place of a schema', () => {
  it('is another one for each database and schema, ignoring case', () => {
    const name = fc.stringMatching(/^[a-c.%"/]{1,4}$/);
    const placeOf = (database: string, schema: string) =>
      JSON.stringify(placeSchema(database, schema).path.map((part) => part.toLowerCase()));
    fc.assert(
      fc.property(name, name, name, name, (d1, s1, d2, s2) => {
        assert.equal(placeOf(d1, s1) === placeOf(d2, s2), d1 === d2 && s1 === s2);
        assert.notEqual(placeOf(d1, s1), placeOf('', s1));
      }),
      { numRuns: 2_000 },
    );
    assert.equal(placeOf('DB', 'S'), placeOf('db', 's'));
  });

  it('is main for the schema public of the default database, and for no name', () => {
    for (const schema of [undefined, '', 'PUBLIC', 'main', '[Environment Default]'])
      assert.deepEqual(placeSchema('WAREHOUSE', schema).path, ['main']);
  });
});

describe('hostile SQL', () => {
  const hostile: Readonly<Record<string, string>> = {
    parentheses: `select ${'('.repeat(20_000)}1${')'.repeat(20_000)}`,
    'calls in calls': `select ${'nvl('.repeat(399)}1${',2)'.repeat(399)}`,
    'CASE in CASE': `select ${'case when '.repeat(5_000)}1${' then 1 end'.repeat(5_000)}`,
    'a long path': `select a${':b'.repeat(5_000)}`,
    'many subscripts': `select a${'[0]'.repeat(5_000)}`,
    'casts of casts': `select x${'::date::varchar'.repeat(100)}`,
    'casts of one type': `select x${'::int'.repeat(1_600)}`,
    'many lines': `${'\n'.repeat(20)}a;`.repeat(40_000),
    'a long tag': `$${'a'.repeat(250_000)}b${'a'.repeat(250_000)}$${'a'.repeat(500_000)}`,
    comments: '/*'.repeat(50_000),
    'many terms': `select 1 where ${Array(5_000).fill('a = 1').join(' or ')}`,
    'many unions': Array(5_000).fill('select a from t').join(' union all '),
    'a NUL': 'select \0',
  };
  for (const [name, sql] of Object.entries(hostile)) {
    it(`${name}: is rewritten or refused in time`, () => {
      const start = process.cpuUsage().user;
      try {
        rewrite(sql);
      } catch (error) {
        assert.ok(error instanceof SqlError, String(error));
      }
      assert.ok(process.cpuUsage().user - start < 3_000_000);
    });
  }

  it('fails with an SqlError or not at all', () => {
    const word = fc.constantFrom(
      ...'select from where ( ) [ ] { } , ; : :: . .. = => -> :b a t.a "q" \'x\' \' " $x $$ @ 1 1.5 case when then else end cast as int flatten lateral table merge into using update set delete insert values create or replace if not exists with over within group distinct like any in between and top minus use alter drop identifier nvl iff / % - + * || \\ -- /* */ # ? number variant array date'.split(
        ' ',
      ),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), fc.constantFrom(' ', '', '\n'), (words, blank) => {
        const sql = words.join(blank);
        for (const run of [
          sqlRewriter.rewriteScript,
          sqlRewriter.rewriteExpression,
          sqlRewriter.rewriteQuery,
        ]) {
          try {
            run(sql, {});
          } catch (error) {
            if (!(error instanceof SqlError)) throw error;
          }
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
