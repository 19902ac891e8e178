import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leavesState } from '../../warehouses/session-state.ts';
import { isQuery, onlyReads } from './reading-sql.ts';

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

describe('comments at the head of a statement', () => {
  for (const lines of [40, 5_000])
    it(`${lines} of them are passed`, () => {
      const head = '/* one line of a long comment */\n'.repeat(lines);
      assert.equal(onlyReads(`${head}select 1`), true);
      assert.equal(onlyReads(`${head}alter table a add b int`), false);
      assert.equal(isQuery(`${head}(select 1)`), true);
      assert.equal(isQuery(`${head}insert into a select 1`), false);
      assert.equal(leavesState(`${head}set schema = 'a'`), true);
      assert.equal(leavesState(`${head}select 1`), false);
    });
});
