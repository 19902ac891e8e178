/** SQL of any form is read in linear time before DuckDB gets it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkCalls } from './statements/duckdb-functions.ts';
import { readStatements, splitStatements } from './statements/sql-words.ts';

const functions = { names: new Set(['range']), refused: new Set(['checkpoint']) };
const length = 500_000;

describe('SQL of half a million characters', () => {
  for (const part of [
    'upper(',
    'a.',
    '(',
    ')',
    ';',
    "'",
    '"',
    '$$ ',
    '$a',
    '/* a */ ',
    '/*',
    '--\n',
    'a ',
    "\\'",
  ])
    it(`is read if it repeats ${part.trim()}`, () => {
      const sql = part.repeat(length / part.length);
      checkCalls(`${sql} macro`, functions);
      assert.ok(readStatements(sql).length <= length);
      assert.ok(splitStatements(sql).length <= length);
    });

  it('is refused for a call at its end', () => {
    const sql = `with a(b) as (select 1), c(d) as materialized (select ${'upper('.repeat(50_000)}checkpoint(`;
    assert.throws(() => checkCalls(sql, functions), /the function "checkpoint" is not allowed/);
    const named = 'with checkpoint(b) as (select 1) select * from checkpoint';
    assert.doesNotThrow(() => checkCalls(named, functions));
  });
});
