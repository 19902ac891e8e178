/** Lineage of SQL as Snowflake reads it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceSnowflake as trace } from './analysis-fixture.ts';

const catalog = { T: 'ID A B', orders: 'id total', OUT: 'P Q', 'DB.OTHER.S': 'ID C', 'LAKE.RAW.R': 'ID C' };

const cases: Record<string, [sql: string | string[], lines: string[]]> = {
  'names without quotes are in upper case, quoted ones as they are written': [
    'INSERT INTO out (p, q) SELECT "total", "id" FROM "orders"',
    ['OUT.P: orders.total', 'OUT.Q: orders.id'],
  ],
  'tables of other schemas and databases are other tables': [
    'INSERT INTO out SELECT s.c, r.c FROM other.s AS s JOIN lake.raw.r AS r ON r.id = s.id',
    ['OUT.P: DB.OTHER.S.C', 'OUT.Q: LAKE.RAW.R.C', 'OUT decided by DB.OTHER.S.ID, LAKE.RAW.R.ID'],
  ],
  'INSERT OVERWRITE writes a table': [
    'INSERT OVERWRITE INTO out (p, q) WITH x AS (SELECT a, b FROM t) SELECT a, b FROM x',
    ['OUT.P: T.A', 'OUT.Q: T.B'],
  ],
  'CREATE TABLE AS makes a table': [
    'CREATE OR REPLACE TABLE made AS SELECT a + 1 AS n FROM t',
    ['MADE.N: T.A CHANGED'],
  ],
  'MERGE changes a table': [
    'MERGE INTO out USING t ON out.p = t.id WHEN MATCHED THEN UPDATE SET q = t.a WHEN NOT MATCHED THEN INSERT (p, q) VALUES (t.id, t.b)',
    ['OUT.Q: T.A, T.B', 'OUT.P: T.ID', 'OUT decided by OUT.P, T.ID'],
  ],
  'a semi-structured value comes from its column': [
    'CREATE TABLE made AS SELECT a:b.c::varchar AS n FROM t',
    ['MADE.N: T.A CHANGED'],
  ],
  'what a call does is not seen': ['CALL load_all()', ['gap: what a statement CALL did is not known']],
};

for (const [name, [sql, lines]] of Object.entries(cases))
  test(name, () => assert.deepEqual(trace(sql, catalog), lines));
