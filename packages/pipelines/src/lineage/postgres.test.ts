/** Lineage of SQL as PostgreSQL reads it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tracePostgres as trace, traceRedshift } from './analysis-fixture.ts';

const catalog = { t: 'id a b', s: 'id c d', Orders: 'id total', 'db.public.old': 'x', out: 'p q' };

const cases: Record<string, [sql: string | string[], lines: string[]]> = {
  'names without quotes are in lower case, quoted ones as they are written': [
    'INSERT INTO OUT (P, q) SELECT Total, ID FROM "Orders"',
    ['out.p: Orders.total', 'out.q: Orders.id'],
  ],
  'a table without a schema is in that of the connection, else in public': [
    'INSERT INTO out SELECT x, x FROM old',
    ['out.p: db.public.old.x', 'out.q: db.public.old.x'],
  ],
  'a table of another schema is another table': [
    'CREATE TABLE other.t AS SELECT a FROM wh.t',
    ['db.other.t.a: t.a'],
  ],
  'SELECT INTO makes a table': ['SELECT a + b AS n INTO made FROM t', ['made.n: t.a CHANGED, t.b CHANGED']],
  'a temporary table is followed': [
    ['SELECT a INTO TEMP aside FROM t', 'CREATE TABLE made AS SELECT a FROM aside'],
    ['made.a: t.a'],
  ],
  'a statement in WITH writes its table, and what it returns goes on': [
    'WITH moved AS (DELETE FROM s WHERE d > 1 RETURNING c) INSERT INTO t (a) SELECT c FROM moved',
    ['s decided by s.d', 't.a: s.c', 't decided by s.d'],
  ],
  'what an INSERT returns comes from what it inserted': [
    'WITH made AS (INSERT INTO t (a) SELECT c FROM s RETURNING a AS n) INSERT INTO out (p) SELECT n FROM made',
    ['t.a: s.c', 'out.p: s.c'],
  ],
  'WITH before INSERT': ['WITH x AS (SELECT c FROM s) INSERT INTO t (b) SELECT c FROM x', ['t.b: s.c']],
  'an UPDATE of several columns by a subquery': [
    'UPDATE t SET (a, b) = (SELECT c, d FROM s WHERE s.id = t.id)',
    ['t.a: s.c', 't.b: s.d', 't decided by s.id, t.id'],
  ],
  'an UPDATE with FROM': [
    'UPDATE ONLY t SET a = s.c FROM s WHERE s.id = t.id',
    ['t.a: s.c', 't decided by s.id, t.id'],
  ],
  'an upsert': [
    'INSERT INTO t AS q (a) SELECT c FROM s ON CONFLICT (a) DO UPDATE SET b = q.b + excluded.a WHERE q.b > 0',
    ['t.b: s.c CHANGED, t.b CHANGED', 't.a: s.c', 't decided by t.b'],
  ],
  'a table that the step makes anew under another name has the sources of what it was made of': [
    [
      'CREATE TABLE wh.new_t AS SELECT c FROM s',
      'DROP TABLE IF EXISTS wh.x',
      'ALTER TABLE wh.new_t RENAME TO x',
    ],
    ['x.c: s.c'],
  ],
  'a table that another step made has its values under the new name': [
    'ALTER TABLE t RENAME TO u',
    ['u.id: t.id', 'u.a: t.a', 'u.b: t.b', 't dropped'],
  ],
  'what is rolled back to a savepoint was not written': [
    [
      'BEGIN',
      'INSERT INTO t (a) SELECT c FROM s',
      'SAVEPOINT one',
      'INSERT INTO t (b) SELECT d FROM s',
      'ROLLBACK TO SAVEPOINT one',
      'COMMIT',
    ],
    ['t.a: s.c'],
  ],
  'columns of VALUES': [
    "CREATE TABLE made AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v",
    ['made.column1:', 'made.column2:'],
  ],
  'a materialized view': [
    'CREATE MATERIALIZED VIEW v AS TABLE s WITH NO DATA',
    ['v.id: s.id', 'v.c: s.c', 'v.d: s.d'],
  ],
  'a table without a log': ['CREATE UNLOGGED TABLE made AS SELECT a FROM t', ['made.a: t.a']],
  'functions of JSON, arrays and time': [
    "INSERT INTO out SELECT a->>'x' || (b)::text, c AT TIME ZONE 'UTC' FROM t JOIN LATERAL (SELECT c FROM s WHERE s.id = t.id) l ON true",
    ['out.p: t.a CHANGED, t.b CHANGED', 'out.q: s.c CHANGED', 'out decided by s.id, t.id'],
  ],
  'a refreshed view is written': [
    'REFRESH MATERIALIZED VIEW out',
    [
      'out from ',
      'gap: a statement is known by its tables only: Expected: an SQL statement, found: refresh at Line: 1, Column: 1',
    ],
  ],
  'what a block or a procedure did is not known': [
    ['DO $$ BEGIN DELETE FROM t; END $$', 'CALL load(1)'],
    ['gap: what a statement DO did is not known', 'gap: what a statement CALL did is not known'],
  ],
  'tables without a schema are left out when the session looks for them elsewhere': [
    [
      'SET search_path TO other',
      'INSERT INTO t (a) SELECT c FROM s',
      'INSERT INTO wh.t (a) SELECT c FROM wh.s',
    ],
    ['t.a: s.c', 'gap: the session has set its search path: tables without a schema are left out'],
  ],
  'system tables are no datasets': [
    'CREATE TABLE made AS SELECT 1 AS n FROM pg_catalog.pg_class',
    ['made.n:'],
  ],
};

for (const [name, [sql, lines]] of Object.entries(cases))
  test(name, () => {
    assert.deepEqual(trace(sql, catalog), lines);
  });

test('in Redshift, names in quotes are in lower case too', () => {
  const sql = 'INSERT INTO "Out" (p, q) SELECT "Total", id FROM "WH"."Orders"';
  assert.deepEqual(traceRedshift(sql, { orders: 'id total', out: 'p q' }), [
    'out.p: orders.total',
    'out.q: orders.id',
  ]);
});
