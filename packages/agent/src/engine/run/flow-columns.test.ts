import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFlow, type Flow, readTable } from './flow-fixture.ts';

let flow: Flow;
beforeEach(async () => {
  flow = await createFlow();
  await flow.sql(
    "create table sales as select * from (values ('a', 1, 10), ('a', 2, 30), ('b', 3, null), ('b', 4, 20)) t(region, id, amount)",
  );
});
afterEach(() => flow.dispose());

describe('columns', () => {
  it('a calculator replaces all columns of a source whose columns are not known', async () => {
    const calculations = [
      ['id * 2', 'ID'],
      ['upper(region)', 'Region'],
      ['1', 'amount'],
    ];
    const rows = await flow.apply('calculator', 'sales', { includeInputColumns: 'Yes', calculations });
    assert.deepEqual(rows.slice(0, 2), [
      [2, 'A', 1],
      [4, 'A', 1],
    ]);
    assert.deepEqual(await flow.columns(), ['ID', 'Region', 'amount']);
  });

  it('whose names differ only in case are refused, because a later component would read the wrong one', async () => {
    const rename = (columnMapping: string[][]) => ({ includeInputColumns: 'No', columnMapping });
    const calculations = [
      ['"region"', 'FullName'],
      ['upper("region")', 'FULLNAME'],
    ];
    const wrong =
      /"Last" failed: its columns "(\w+)" and "(\w+)" differ only in case, .*: rename one of them/;
    for (const [type, parameters] of [
      ['calculator', { includeInputColumns: 'No', calculations }],
      [
        'rename',
        rename([
          ...[
            ['region', 'Place'],
            ['id', 'PLACE'],
          ],
        ]),
      ],
    ] as const) {
      await assert.rejects(flow.apply(type, 'sales', parameters), wrong);
    }
    await assert.rejects(
      flow.apply(
        'rename',
        'sales',
        rename([
          ...[
            ['region', 'a'],
            ['id', 'a'],
          ],
        ]),
      ),
      /"Last" failed: it has two columns "a": rename one of them/,
    );
  });

  it('without a name are named by what they are', async () => {
    await flow.rowsOf({
      In: readTable('sales'),
      Join: {
        type: 'join',
        sources: ['In'],
        parameters: {
          mainTable: 'In',
          mainTableAlias: 'm',
          joins: [['In', 'o', 'Inner']],
          joinExpressions: [['"m"."id" = "o"."id"', 'm_Inner_o']],
          columnMappings: [
            ['m.id', ''],
            ['o.amount', 'amount'],
          ],
        },
      },
      Rename: {
        type: 'rename',
        sources: ['Join'],
        parameters: {
          columnMapping: [
            ['id', ''],
            ['amount', 'a'],
          ],
        },
      },
      Last: {
        type: 'calculator',
        sources: ['Rename'],
        parameters: {
          includeInputColumns: 'No',
          calculations: [
            ['"id"', ''],
            ['"a" + 1', ''],
          ],
        },
      },
    });
    assert.deepEqual(await flow.columns(), ['id', '"a" + 1']);
  });

  it('convert-type keeps the order of columns', async () => {
    const conversions = [
      ['id', 'VARCHAR', '10', ''],
      ['AMOUNT', 'NUMBER', '10', '2'],
    ];
    assert.deepEqual((await flow.apply('convert-type', 'sales', { conversions }))[0], ['a', '1', 10]);
    assert.deepEqual(await flow.columns(), ['region', 'id', 'AMOUNT']);
  });

  it('fixed-flow reads dates in the usual forms', async () => {
    const parameters = {
      columns: [['d', 'DATE', '', '']],
      values: [['02/29/2024'], ['2024-03-01 10:00:00.123'], ['']],
    };
    const Last = { type: 'fixed-flow', parameters };
    assert.deepEqual(await flow.rowsOf({ Last }), [['2024-02-29'], ['2024-03-01'], [null]]);
  });

  it('convert-type reads dates and times in the usual forms', async () => {
    await flow.sql("create table moments as select '02/29/2024' as d, '2024-02-29T10:00:00.5+0200' as t");
    const conversions = [
      ['d', 'DATE', '', ''],
      ['t', 'TIMESTAMP', '', ''],
    ];
    assert.deepEqual(await flow.apply('convert-type', 'moments', { conversions }), [
      ['2024-02-29', '2024-02-29T10:00:00.5'],
    ]);
  });

  it('distinct, split-field and generate-sequence', async () => {
    assert.deepEqual(await flow.apply('distinct', 'sales', { columns: ['region'] }), [['a'], ['b']]);
    await flow.sql("create table people as select 'Ann B Cole' as name");
    const parameters = {
      inputColumn: 'name',
      delimiter: ' ',
      outputColumns: [
        ['first', '10'],
        ['second', '10'],
        ['third', '10'],
        ['fourth', '10'],
      ],
      includeInputColumn: 'No',
    };
    assert.deepEqual(await flow.apply('split-field', 'people', parameters), [['Ann', 'B', 'Cole', '']]);
    assert.deepEqual(await flow.columns(), ['first', 'second', 'third', 'fourth']);
    const numbered = {
      ...parameters,
      outputColumns: [
        ['2', 'last'],
        ['0', 'first'],
      ],
    };
    assert.deepEqual(await flow.apply('split-field', 'people', numbered), [['Cole', 'Ann']]);
    assert.deepEqual(await flow.columns(), ['last', 'first']);
    const sequence = { startValue: '10', incrementValue: '-4', endValue: '1', outputColumn: 'n' };
    const Last = { type: 'generate-sequence', parameters: sequence };
    assert.deepEqual(await flow.rowsOf({ Last }), [[2], [6], [10]]);
  });
});

describe('pivots', () => {
  it('pivot makes columns of values', async () => {
    const parameters = {
      aggregateFunction: 'Sum',
      pivotColumn: 'amount',
      valueColumn: 'region',
      pivotValues: ['a', 'b'],
      quotePivotValueColumns: 'No',
    };
    await flow.sql('create table narrow as select region, amount from sales');
    assert.deepEqual(await flow.apply('pivot', 'narrow', parameters), [[40, 20]]);
    assert.deepEqual(await flow.columns(), ['a', 'b']);
    await flow.apply('pivot', 'narrow', { ...parameters, quotePivotValueColumns: 'Yes' });
    assert.deepEqual(await flow.columns(), ["'a'", "'b'"]);
    const byNumber = { ...parameters, valueColumn: 'id', pivotValues: ['1', '4'] };
    assert.deepEqual(await flow.apply('pivot', 'sales', byNumber), [
      ['a', 10, null],
      ['b', null, 20],
    ]);
  });

  it('unpivot makes rows of columns', async () => {
    const parameters = {
      columnsToNarrow: ['id', 'amount'],
      outputNamesColumnName: 'what',
      outputValuesColumnName: 'value',
    };
    const rows = await flow.apply('unpivot', 'sales', parameters);
    assert.equal(rows.length, 7);
    assert.deepEqual(rows[0], ['a', 'amount', 10]);
  });

  it('transpose-columns and transpose-rows', async () => {
    const parameters = {
      ordinaryColumns: ['region'],
      rowLabelName: 'label',
      outputColumns: [['value', 'NUMBER']],
      columnToRowMapping: [
        ['one', 'id'],
        ['two', 'amount'],
      ],
    };
    const rows = await flow.apply('transpose-columns', 'sales', parameters);
    assert.deepEqual(rows[0], ['a', 'one', 1]);
    assert.equal(rows.length, 8);
    const grouped = { groupings: ['region'], aggregations: ['amount'], sortOrder: '' };
    assert.deepEqual(await flow.apply('transpose-rows', 'sales', grouped), [
      ['a', '[ 10, 30 ]'],
      ['b', '[ 20 ]'],
    ]);
  });

  it('cuts a text that is converted to a shorter one, as a cast of Snowflake does', async () => {
    await flow.sql("create table long_texts as select 'abcdef' as a, 123456 as b");
    const conversions = [
      ['a', 'VARCHAR', '3', ''],
      ['b', 'VARCHAR', '', ''],
    ];
    assert.deepEqual(await flow.apply('convert-type', 'long_texts', { conversions }), [['abc', '123456']]);
  });
});
