/** The same transformations give the same rows in DuckDB and in PostgreSQL. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createTestPostgres } from '../../../testing/postgres.ts';
import { createFixture } from './engine-fixture.ts';
import { createFlow, readTable } from './flow-fixture.ts';

const postgres = await createTestPostgres();
const connection = await postgres.driver.connect(postgres.target);
const duckdb = await createFlow();
const other = await createFixture(undefined, undefined, undefined, connection);
after(async () => {
  duckdb.dispose();
  other.dispose();
  await connection.close();
  await postgres.drop();
});

const tables = [
  `create table sales as select * from (values ('a', 1, 10, 1.5, 'x,y'), ('a', 2, 30, 2.25, 'z'), ('b', 3, null, 0.5, ''),
    ('b', 4, 20, null, 'It''s 100%'), ('c', 5, 20, 1.5, null)) t(region, id, amount, price, note)`,
  "create table later as select * from (values ('a', 1, 11), ('b', 3, null), ('d', 9, 5)) t(region, id, amount)",
  'create table wide as select * from (values (1, 10, 20), (2, null, 40)) t(id, q1, q2)',
  'create table target (id integer primary key, region varchar, amount integer)',
];
for (const statement of tables) {
  await duckdb.sql(statement);
  await connection.execute(statement);
}

type Components = Record<string, object>;
const request = { warehouse: 'POSTGRES', defaults: { database: 'shop', schema: 'wh' } };

async function runInPostgres(components: Components) {
  const text = JSON.stringify({ type: 'transformation', version: '1.0', pipeline: { components } });
  await other.publish({ 'flow.tran.yaml': text });
  return other.run('flow', request);
}

const write = (targetTable: string) => ({
  type: 'rewrite-table',
  sources: ['Last'],
  parameters: { targetTable },
});
/** Rows in any order, with numbers to 9 digits: PostgreSQL gives an average as a text with all its digits. */
const round = (cell: unknown) =>
  typeof cell === 'number' || /^-?\d+\.\d+$/.test(String(cell)) ? Number(Number(cell).toPrecision(9)) : cell;
const sort = (rows: unknown[][]) => rows.map((row) => JSON.stringify(row.map(round))).sort();

/** Runs `Last` in both. Returns the rows. */
async function compare(components: Components): Promise<unknown[][]> {
  const expected = await duckdb.rowsOf(components);
  assert.deepEqual(await runInPostgres({ ...components, Out: write('result') }), { status: 'SUCCESS' });
  const { rows } = await connection.query('select * from result', 1_000);
  assert.deepEqual(sort(rows), sort(expected));
  return rows;
}

const apply = (type: string, parameters: object, table = 'sales'): Components => ({
  In: readTable(table),
  Last: { type, sources: ['In'], parameters },
});
const both = (type: string, parameters: object): Components => ({
  One: readTable('sales', ['region', 'id', 'amount']),
  Two: readTable('later'),
  Last: { type, sources: ['One', 'Two'], parameters },
});

const filter = (...condition: string[]) =>
  apply('filter', { filterConditions: [condition], combineCondition: 'And' });

const flows: Record<string, Components> = {
  'table-input': { Last: readTable('sales') },
  'table-input of some columns': { Last: readTable('sales', ['id', 'note']) },
  'fixed-flow': {
    Last: {
      type: 'fixed-flow',
      parameters: {
        columns: [
          ['id', 'NUMBER', '10', '0'],
          ['name', 'VARCHAR'],
          ['day', 'DATE'],
        ],
        values: [
          ['1', "O'Hara", '2030-01-02'],
          ['2', '', ''],
        ],
      },
    },
  },
  'generate-sequence': {
    Last: {
      type: 'generate-sequence',
      parameters: { outputColumn: 'n', startValue: '1', incrementValue: '2', endValue: '9' },
    },
  },
  'filter by a number': filter('amount', 'Is', 'Greater than', '15'),
  'filter by a fraction': filter('price', 'Is', 'Greater than or equal to', '1.5'),
  'filter whole numbers by a fraction': filter('amount', 'Is', 'Less than', '20.5'),
  'filter texts by a fraction': filter('note', 'Is', 'Equal to', '1.5'),
  'filter by a text': filter('region', 'Not', 'Equal to', 'a'),
  'filter by a column': {
    In: readTable('sales', ['id', 'amount']),
    Last: {
      type: 'filter',
      sources: ['In'],
      parameters: { filterConditions: [['amount', 'Is', 'Greater than', 'id']], combineCondition: 'And' },
    },
  },
  'filter by Like': filter('note', 'Is', 'Like', '%100\\%'),
  'filter by a part': filter('note', 'Is', 'Contains', '100%'),
  'filter by a beginning': filter('note', 'Is', 'Starts with', 'x'),
  'filter by an end': filter('note', 'Is', 'Ends with', 'y'),
  'filter by Similar to': filter('note', 'Is', 'Similar to', '(x|z)%'),
  'filter by NULL': filter('amount', 'Is', 'Null', ''),
  'filter by a blank': filter('note', 'Is', 'Null or blank', ''),
  'filter by a list': filter('region', 'Is', 'In', "a, 'c'"),
  'filter by a list of fractions': filter('price', 'Is', 'In', '0.5, 1.5'),
  'filter by a range': filter('id', 'Is', 'Between', '2 and 4'),
  calculator: apply('calculator', {
    calculations: [
      ['amount * 2', 'twice'],
      ['upper(region)', 'region'],
    ],
  }),
  'calculator without the source': apply('calculator', {
    calculations: [['id + 1', 'next']],
    includeInputColumns: 'No',
  }),
  aggregate: apply('aggregate', {
    groupings: ['region'],
    aggregations: [
      ...['Sum', 'Count', 'Average', 'Min', 'Max', 'Median', 'Standard Deviation', 'Variance'],
      ...['Count Distinct', 'Any Value', 'Approximate Count Distinct'],
    ].map((word) => [word === 'Any Value' ? 'region' : 'amount', word]),
  }),
  'aggregate of all': apply('aggregate', { groupings: [], aggregations: [['*', 'Count', 'n']] }),
  'aggregate with subtotals': apply('aggregate', {
    groupings: ['region', 'amount'],
    aggregations: [['id', 'Sum']],
    groupingType: 'Group By Cube',
  }),
  rename: apply('rename', {
    columnMapping: [
      ['id', 'number'],
      ['region', 'area'],
    ],
    includeInputColumns: 'Yes',
  }),
  'rename only': apply('rename', { columnMapping: [['id', 'number']], includeInputColumns: 'No' }),
  rank: apply('rank', {
    includeInputColumns: 'Yes',
    partitionData: ['region'],
    orderingWithinPartitions: [['amount', 'Descending']],
    functions: [
      ['Rank', 'r'],
      ['Row Number', 'n'],
    ],
  }),
  'window-calculation': apply('window-calculation', {
    partitionData: ['region'],
    orderingWithinPartitions: [['id', 'Ascending']],
    lowerBound: 'unbounded preceding',
    upperBound: 'current row',
    functions: [
      ['Sum', 'amount', 'total'],
      ['First Value', 'id', 'first'],
    ],
  }),
  'lead-lag': apply('lead-lag', {
    partitionData: [],
    orderingWithinPartitions: [['id', 'Ascending']],
    functions: [['Lag', 'amount', '1', 'before']],
  }),
  'first-last': apply('first-last', {
    groupingColumns: ['region'],
    orderingInPartitions: [['id', 'Ascending']],
    firstLastColumns: [
      ['amount', 'First', 'first'],
      ['amount', 'Last', 'last'],
    ],
    ignoreNulls: 'Yes',
  }),
  distinct: apply('distinct', { columns: ['region'] }),
  limit: apply('limit', { limit: '2', offset: '1', orderBy: [['id', 'Descending']] }),
  join: {
    One: readTable('sales'),
    Two: readTable('later'),
    Last: {
      type: 'join',
      sources: ['One', 'Two'],
      parameters: {
        mainTable: 'One',
        mainTableAlias: 's',
        joins: [['Two', 'l', 'Full']],
        joinExpressions: [['"s"."id" = "l"."id"', 's_Full_l']],
        columnMappings: [
          ['s.id', 'id'],
          ['l.amount', 'amount'],
        ],
      },
    },
  },
  unite: {
    One: readTable('later', ['id', 'amount']),
    Two: readTable('sales', ['region', 'id']),
    Last: { type: 'unite', sources: ['One', 'Two'], parameters: { addSourceComponentColumn: 'Yes' } },
  },
  'unite common columns': {
    ...both('unite', { method: 'Common Columns', removeDuplicates: 'Yes' }),
  },
  'unite of whole tables': {
    One: readTable('later'),
    Two: readTable('wide'),
    Last: { type: 'unite', sources: ['One', 'Two'], parameters: {} },
  },
  except: both('except', { primaryTable: 'One' }),
  intersect: both('intersect', {}),
  'detect-changes': both('detect-changes', {
    masterTable: 'One',
    matchKeys: ['id'],
    compareColumns: ['amount'],
    indicatorColumn: 'change',
  }),
  'map-values': apply('map-values', {
    valueMap: [
      ['amount', 'Is', 'Greater than', '15', 'large'],
      ['amount', 'Is', 'Null', '', 'unknown'],
    ],
    other: 'small',
    columnName: 'size',
  }),
  'convert-type': apply('convert-type', {
    conversions: [
      ['id', 'VARCHAR'],
      ['price', 'NUMBER', '10', '1'],
    ],
  }),
  'split-field': apply('split-field', {
    inputColumn: 'note',
    delimiter: ',',
    outputColumns: [['first'], ['second']],
    includeInputColumn: 'No',
  }),
  pivot: apply(
    'pivot',
    {
      aggregateFunction: 'Sum',
      pivotColumn: 'amount',
      valueColumn: 'region',
      pivotValues: ['a', 'b'],
    },
    'later',
  ),
  unpivot: apply(
    'unpivot',
    {
      columnsToNarrow: ['q1', 'q2'],
      outputNamesColumnName: 'quarter',
      outputValuesColumnName: 'amount',
    },
    'wide',
  ),
  'transpose-columns': apply(
    'transpose-columns',
    {
      ordinaryColumns: ['id'],
      rowLabelName: 'quarter',
      outputColumns: [['amount', 'NUMBER']],
      columnToRowMapping: [
        ['first', 'q1'],
        ['second', 'q2'],
      ],
    },
    'wide',
  ),
  'transpose-rows': apply('transpose-rows', { groupings: ['region'], aggregations: ['id'] }),
  sql: apply('sql', { query: 'select region, count(*) as n from $T{In} group by region' }),
  'multi-table-input': {
    Last: { type: 'multi-table-input', parameters: { pattern: 'lat%', addSourceTable: 'Yes' } },
  },
  'multi-table-input of several tables': {
    Last: {
      type: 'multi-table-input',
      parameters: { pattern: '(later|wide)', patternType: 'Regex', addSourceTable: 'Yes' },
    },
  },
  'assert-view': {
    In: readTable('sales'),
    Last: {
      type: 'assert-view',
      sources: ['In'],
      parameters: {
        rowCountComparisonType: 'Equal To',
        lowerValue: '5',
        metadata: [['region'], ['id'], ['amount'], ['price'], ['note']],
      },
    },
  },
};

describe('a transformation gives the same rows in DuckDB and PostgreSQL:', () => {
  for (const [name, components] of Object.entries(flows))
    it(name, async () => {
      await compare(components);
    });
});

describe('what writes', () => {
  const from = (columns: readonly string[] = ['id', 'region', 'amount']) => readTable('sales', columns);
  async function compareTable(table: string, components: Components) {
    assert.deepEqual(await duckdb.run(components), { status: 'SUCCESS' });
    assert.deepEqual(await runInPostgres(components), { status: 'SUCCESS' });
    const { rows } = await connection.query(`select * from ${table}`, 1_000);
    assert.deepEqual(sort(rows), sort(await duckdb.fixture.rows(`select * from ${table}`)));
    return rows.length;
  }
  const output = (parameters: object, type = 'table-output') => ({ type, sources: ['In'], parameters });

  it('appends, truncates, and reads what it replaces', async () => {
    const Out = (outputMode: string) => output({ targetTable: 'target', outputMode });
    assert.equal(await compareTable('target', { In: from(), Out: Out('Append') }), 5);
    assert.equal(await compareTable('target', { In: from(), Out: Out('Truncate') }), 5);
    const In = {
      type: 'filter',
      sources: ['T'],
      parameters: { filterConditions: [['id', 'Is', 'Less than', '4']] },
    };
    assert.equal(await compareTable('target', { T: readTable('target'), In, Out: Out('Truncate') }), 3);
  });

  it('updates, deletes and inserts rows', async () => {
    const Out = output(
      {
        targetTable: 'target',
        targetAlias: 't',
        sourceAlias: 's',
        joinExpression: [['"t"."id" = "s"."id"', 'Case']],
        whenMatched: [
          ['"s"."amount" is null', 'Delete'],
          ['true', 'Update'],
        ],
        updateMapping: [['amount', 'amount']],
        includeNotMatched: 'Yes',
        insertMapping: ['id', 'region', 'amount'].map((column) => [column, column]),
      },
      'table-update',
    );
    assert.equal(await compareTable('target', { In: readTable('later'), Out }), 3);
  });

  it('refuses to change a row twice', async () => {
    const In = { type: 'sql', parameters: { query: 'select 1 as id, 5 as amount union all select 1, 6' } };
    const Out = output(
      {
        targetTable: 'target',
        joinExpression: [['"target"."id" = "input"."id"', 'Case']],
        whenMatched: [['true', 'Update']],
        updateMapping: [['amount', 'amount']],
      },
      'table-update',
    );
    const { message = '' } = await runInPostgres({ In, Out });
    assert.match(message, /MERGE command cannot affect row a second time/);
  });

  it('makes views, and replaces tables that its query reads', async () => {
    const Out = output({ viewName: 'seen' }, 'create-view');
    assert.equal(await compareTable('seen', { In: from(), Out }), 5);
    await connection.execute('drop view seen');
    const again = { In: readTable('later'), Out: output({ targetTable: 'later' }, 'rewrite-table') };
    assert.equal(await compareTable('later', again), 3);
  });

  it('says in its own words what an assert found', async () => {
    const Last = {
      type: 'assert-view',
      sources: ['In'],
      parameters: { rowCountComparisonType: 'Equal To', lowerValue: '4' },
    };
    const { message = '' } = await runInPostgres({ In: from(), Last });
    assert.match(message, /"Last" failed: the source has 5 rows, but should have = 4/);
  });

  it('leaves nothing of a transaction that fails', async () => {
    await connection.execute('create table strict (id integer not null)');
    await connection.execute('insert into strict values (7)');
    const In = { type: 'sql', parameters: { query: 'select 1 as id union all select null' } };
    const { status } = await runInPostgres({
      In,
      Out: output({ targetTable: 'strict', outputMode: 'Truncate' }),
    });
    assert.equal(status, 'FAILED');
    assert.deepEqual((await connection.query('select * from strict', 9)).rows, [[7]]);
  });
});
