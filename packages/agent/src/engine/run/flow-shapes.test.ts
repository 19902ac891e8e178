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

const pick = (rows: unknown[][], ...indexes: number[]) => rows.map((row) => indexes.map((at) => row[at]));

describe('aggregate', () => {
  const aggregate = (parameters: object) => flow.apply('aggregate', 'sales', parameters);
  it('has subtotals by its grouping types', async () => {
    await flow.sql(
      "create or replace table sales as select * from (values ('a', 1, 10), ('b', 1, 5)) t(region, id, amount)",
    );
    const over = (groupingType: string) =>
      aggregate({ groupings: ['region', 'id'], aggregations: [['amount', 'Sum']], groupingType });
    assert.deepEqual(await over('Group By'), [
      ['a', 1, 10],
      ['b', 1, 5],
    ]);
    assert.equal((await over('Group By Rollup')).length, 5);
    assert.equal((await over('Group By Cube')).length, 6);
    assert.deepEqual(await over('Group By Sets'), [
      ['a', null, 10],
      ['b', null, 5],
      [null, 1, 15],
    ]);
  });

  it('names columns by function and column', async () => {
    const aggregations = [
      ['amount', 'Average'],
      ['id', 'Count Distinct'],
      ['region', 'Any Value'],
    ];
    assert.deepEqual(await aggregate({ groupings: ['region'], aggregations }), [
      ['a', 20, 2, 'a'],
      ['b', 20, 2, 'b'],
    ]);
    assert.deepEqual(await flow.columns(), ['region', 'avg_amount', 'count_distinct_id', 'any_value_region']);
  });
});

describe('windows', () => {
  it('sort NULL as the largest value, unless they say otherwise', async () => {
    const first = async (...order: string[]) => {
      const rows = await flow.apply('rank', 'sales', {
        includeInputColumns: 'Yes',
        partitionData: null,
        orderingWithinPartitions: [['amount', ...order]],
        functions: [['Row Number', 'n']],
      });
      return rows.find((row) => row[3] === 1)?.[1];
    };
    assert.equal(await first('Ascending'), 1);
    assert.equal(await first('Desc'), 3);
    assert.equal(await first('Ascending', 'Nulls First'), 3);
    assert.equal(await first('Descending Nulls Last'), 2);
  });

  it('lead-lag', async () => {
    const rows = await flow.apply('lead-lag', 'sales', {
      includeInputColumns: 'Yes',
      partitionData: ['region'],
      orderingsWithinPartitions: [['id', 'Ascending']],
      functions: [
        ['Lag', 'amount', '1', 'before'],
        ['Lead', 'id', '1', 'after'],
      ],
      ignoreNulls: 'No',
    });
    assert.deepEqual(pick(rows, 1, 3, 4), [
      [1, null, 2],
      [2, 10, null],
      [3, null, 4],
      [4, null, null],
    ]);
  });

  it('window-calculation', async () => {
    const rows = await flow.apply('window-calculation', 'sales', {
      includeInputColumns: 'No',
      partitionData: null,
      orderingWithinPartitions: [['id', 'Asc']],
      functions: [
        ['Sum', 'amount', 'running'],
        ['Last Value', 'id', 'last'],
      ],
      lowerBound: 'offset preceding',
      lowerBoundOffset: '1',
      upperBound: 'current row',
    });
    assert.deepEqual(rows, [
      [10, 1],
      [20, 4],
      [30, 3],
      [40, 2],
    ]);
    const whole = { functions: [['Sum', 'amount', 'total']], partitionData: ['region'] };
    assert.deepEqual(pick(await flow.apply('window-calculation', 'sales', whole), 1, 3), [
      [1, 40],
      [2, 40],
      [3, 20],
      [4, 20],
    ]);
  });

  it('lists in groups and windows leave NULLs out, and are empty without values', async () => {
    await flow.sql(
      "create table listed as select * from (values ('a', 1), ('a', null), ('b', null)) v(g, n)",
    );
    const words = ['List Aggregate', 'Array Aggregate', 'Array Aggregate Distinct'];
    const expected = [
      ['a', '1', '[1]', '[1]'],
      ['b', '', '[]', '[]'],
    ];
    const aggregations = words.map((word) => ['n', word]);
    assert.deepEqual(await flow.apply('aggregate', 'listed', { groupings: ['g'], aggregations }), expected);
    const functions = words.map((word, index) => [word, 'n', `l${index}`]);
    const rows = await flow.rowsOf({
      In: readTable('listed'),
      Window: {
        type: 'window-calculation',
        sources: ['In'],
        parameters: { partitionData: ['g'], functions },
      },
      Last: { type: 'distinct', sources: ['Window'], parameters: { columns: ['g', 'l0', 'l1', 'l2'] } },
    });
    assert.deepEqual(rows, expected);
  });

  it('first-last', async () => {
    const parameters = {
      groupingColumns: ['region'],
      orderingInPartitions: [['id', 'Ascending']],
      firstLastColumns: [
        ['amount', 'First'],
        ['amount', 'Last'],
      ],
    };
    assert.deepEqual(await flow.apply('first-last', 'sales', { ...parameters, ignoreNulls: 'No' }), [
      ['a', 10, 30],
      ['b', null, 20],
    ]);
    assert.deepEqual(await flow.apply('first-last', 'sales', { ...parameters, ignoreNulls: 'Yes' }), [
      ['a', 10, 30],
      ['b', 20, 20],
    ]);
    assert.deepEqual(await flow.columns(), ['region', 'first_amount', 'last_amount']);
    await flow.apply('first-last', 'sales', { ...parameters, firstLastColumns: [['amount', 'Last']] });
    assert.deepEqual(await flow.columns(), ['region', 'amount']);
  });
});

describe('several sources', () => {
  const both = (type: string, parameters: object, one = readTable('sales'), two = readTable('other')) =>
    flow.rowsOf({ One: one, Two: two, Last: { type, sources: ['One', 'Two'], parameters } });
  beforeEach(() => flow.sql("create table other as select 1.5 as id, 'a' as region, 'x' as extra"));

  it('unite with overlapping columns, known or not', async () => {
    const parameters = {
      method: 'Overlapping Columns',
      castTypes: 'Yes',
      addSourceComponentColumn: 'No',
      removeDuplicates: 'No',
    };
    for (const two of [readTable('other'), readTable('other', ['id', 'region', 'extra'])]) {
      assert.equal((await both('unite', parameters, readTable('sales'), two)).length, 5);
      assert.deepEqual(await flow.columns(), ['region', 'id']);
    }
  });

  it('unite removes the duplicates of a single source', async () => {
    await flow.sql('create table twice as select 1 as a union all select 1');
    assert.deepEqual(await flow.apply('unite', 'twice', { removeDuplicates: 'Yes' }), [[1]]);
  });

  it('except and intersect', async () => {
    const [one, two] = [readTable('sales', ['region', 'id']), readTable('other', ['id', 'region'])];
    await flow.sql("insert into other values (2, 'a', null)");
    const except = { castTypes: 'Yes', primaryTable: 'One' };
    assert.deepEqual(await both('except', except, one, two), [
      ['a', 1],
      ['b', 3],
      ['b', 4],
    ]);
    assert.deepEqual(await both('except', { ...except, primaryTable: 'Two' }, one, two), [[1.5, 'a']]);
    assert.deepEqual(await both('intersect', { castTypes: 'Yes' }, one, two), [['a', 2]]);
  });

  it('detect-changes', async () => {
    await flow.sql(
      "create table old as select * from (values (1, 'a', 1), (2, 'b', null), (3, 'c', 3), (null, 'z', 0)) v(id, name, n)",
      "create table new as select * from (values (1, 'a', 2), (2, 'b', null), (4, 'd', 4), (null, 'z', 1)) v(id, name, n)",
    );
    const parameters = {
      masterTable: 'One',
      matchKeys: ['id'],
      compareColumns: ['name', 'n'],
      outputColumnMapping: [
        ['master_id', 'id'],
        ['compare_id', 'new_id'],
        ['compare_n', 'n'],
      ],
      indicatorColumn: 'change',
    };
    assert.deepEqual(await both('detect-changes', parameters, readTable('old'), readTable('new')), [
      [1, 1, 2, 'C'],
      [2, 2, null, 'I'],
      [3, null, null, 'D'],
      [null, 4, 4, 'N'],
    ]);
    const standard = { ...parameters, outputColumnMapping: [], compareColumns: ['n'], indicatorColumn: '' };
    await both('detect-changes', standard, readTable('old'), readTable('new'));
    assert.deepEqual(await flow.columns(), [
      'id',
      'master_id',
      'compare_id',
      'master_n',
      'compare_n',
      'Indicator',
    ]);
    const unmapped = { ...parameters, outputColumnMapping: [['compare_n', 'n']] };
    assert.deepEqual(await both('detect-changes', unmapped, readTable('old'), readTable('new')), [
      [1, 2, 'C'],
      [2, null, 'I'],
      [3, null, 'D'],
      [4, 4, 'N'],
    ]);
  });

  it('limit, order and replicate', async () => {
    const rows = await flow.rowsOf({
      In: readTable('sales'),
      Order: { type: 'sort', sources: ['In'], parameters: { orderBy: [['amount', 'Descending']] } },
      Copy: { type: 'replicate', sources: ['Order'], parameters: {} },
      Last: { type: 'limit', sources: ['Copy'], parameters: { limit: '2' } },
    });
    assert.deepEqual(pick(rows, 1), [[2], [3]]);
  });
});

it('lists may come from grids', async () => {
  await flow.sql(
    'create table target (id integer primary key, amount integer)',
    'insert into target values (1, 0), (9, 0)',
  );
  const grid = (variable: string, ...columns: string[]) => ({ fromGrid: { variable, columns } });
  const variable = (columns: string[], defaultValue: string[][]) => ({
    metadata: {
      type: 'GRID',
      scope: 'COPIED',
      visibility: 'PUBLIC',
      columns: Object.fromEntries(columns.map((column) => [column, { columnType: 'TEXT' }])),
    },
    defaultValue,
  });
  const components = {
    In: {
      type: 'table-input',
      parameters: { targetTable: 'sales', columnNames: grid('names', 'name') },
    },
    Rank: {
      type: 'rank',
      sources: ['In'],
      parameters: {
        includeInputColumns: 'Yes',
        partitionData: grid('none', 'name'),
        orderingWithinPartitions: [['id', 'Descending']],
        functions: [['Row Number', 'n']],
      },
    },
    Join: {
      type: 'join',
      sources: ['Rank', 'In'],
      parameters: {
        mainTable: 'Rank',
        mainTableAlias: 'S',
        joins: [['In', 'T', 'Left']],
        joinExpressions: [['"S"."id" = "T"."id"', 'S_Left_T']],
        columnMappings: grid('output', 'from', 'to'),
      },
    },
    Merge: {
      type: 'table-update',
      sources: ['Join'],
      parameters: {
        targetTable: 'target',
        targetAlias: 'TARGET',
        sourceAlias: 'SOURCE',
        joinExpression: [['"SOURCE"."id" = "TARGET"."id"', 'Case']],
        whenMatched: [['"SOURCE"."id" = "TARGET"."id" AND "SOURCE"."id" IN (1, 2)', 'Update']],
        updateMapping: grid('names', 'name', 'name'),
        includeNotMatched: 'Yes',
        insertMapping: grid('names', 'name', 'name'),
      },
    },
  };
  const variables = {
    names: variable(['name'], [['id'], ['amount']]),
    none: variable(['name'], []),
    output: variable(
      ['from', 'to'],
      [
        ['S.id', 'id'],
        ['T.amount', 'amount'],
      ],
    ),
  };
  const text = JSON.stringify({
    type: 'transformation',
    version: '1.0',
    pipeline: { components, variables },
  });
  await flow.fixture.publish({ 'grids.tran.yaml': text });
  assert.deepEqual(await flow.fixture.run('grids'), { status: 'SUCCESS' });
  assert.deepEqual(await flow.fixture.rows('select * from target order by id'), [
    [1, 10],
    [2, 30],
    [3, null],
    [4, 20],
    [9, 0],
  ]);
});
