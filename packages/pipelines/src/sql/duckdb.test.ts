import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { duckdb } from './duckdb.ts';

describe('names and literals', () => {
  it('cannot leave their quotes', () => {
    assert.equal(duckdb.name('a" ; drop table x; --'), '"a"" ; drop table x; --"');
    assert.equal(duckdb.literal("a' ; drop table x; --"), "'a'' ; drop table x; --'");
    assert.throws(() => duckdb.name('a\0'), /NUL/);
    assert.throws(() => duckdb.name(''), /empty/);
  });

  it('a table is qualified, so that no CTE of its name hides it', () => {
    assert.equal(duckdb.table({ table: 't' }), '"main"."t"');
    assert.equal(
      duckdb.table({ database: '[Environment Default]', schema: '[Environment Default]', table: 't' }),
      '"main"."t"',
    );
    assert.equal(duckdb.table({ database: 'd', schema: 's', table: 't' }), '"d.s"."t"');
  });
});

describe('types', () => {
  const cases: [type: string, size: string, precision: string, expected: string][] = [
    ['VARCHAR', '255', '', 'VARCHAR'],
    ['text', '', '', 'VARCHAR'],
    ['NUMBER', '10', '2', 'DECIMAL(10, 2)'],
    ['NUMBER', '10', '', 'DECIMAL(10, 0)'],
    ['NUMBER', '', '', 'DECIMAL(38, 0)'],
    ['DATE', '', '', 'DATE'],
    ['TIMESTAMP', '', '', 'TIMESTAMP'],
    ['BOOLEAN', '', '', 'BOOLEAN'],
  ];
  for (const [type, size, precision, expected] of cases) {
    it(`${type}(${size},${precision}) is ${expected}`, () =>
      assert.equal(duckdb.type({ type, size, precision }), expected));
  }

  it('are refused if unknown or if their size is out of range', () => {
    assert.throws(() => duckdb.type({ type: 'INT); drop table x' }), /is not a type: use one of NUMBER, /);
    assert.throws(() => duckdb.type({ type: 'constructor' }), /is not a type/);
    assert.throws(() => duckdb.type({ type: 'NUMBER', size: '39' }), /from 1 to 38, not "39"/);
    assert.throws(() => duckdb.type({ type: 'NUMBER', size: '4', precision: '5' }), /from 0 to 4/);
  });
});

describe('files', () => {
  it('wildcards in a path are literal', () => {
    assert.equal(
      duckdb.readFile("/f/o'dd[1]*.csv", { type: 'CSV', header: true, delimiter: ',' }, [
        { name: "a'b", type: 'DATE' },
      ]),
      "SELECT * FROM read_csv('/f/o''dd[[]1][*].csv', header = true, delim = ',', columns = {'a''b': 'DATE'})",
    );
  });
});
