import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onlyReads } from './reading-sql.ts';

describe('a statement only reads', () => {
  for (const sql of [
    'SELECT 1',
    "/* a */ -- b\n (with a as (select 1) select 'x' from a)",
    'BEGIN',
    'COMMIT',
    'SET VARIABLE x = 1',
    'use other',
  ])
    it(sql, () => assert.equal(onlyReads(sql), true));
});

describe('a statement may write', () => {
  for (const sql of [
    'insert into a select 1',
    'with a as (select 1) delete from b',
    "select nextval('s')",
    "SET VARIABLE x = nextval('s')",
    'explain analyze drop table a',
    // DuckDB's comments may be inside of each other.
    '/* /* */ set */ insert into a select 1',
    '/* /* */ select */ drop table a',
    '/* /* */ select */ alter table a add b int',
    '/* /* */ from */ truncate a',
  ])
    it(sql, () => assert.equal(onlyReads(sql), false));
});
