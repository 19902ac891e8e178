import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFlow, type Flow, readTable } from './flow-fixture.ts';

let flow: Flow;
beforeEach(async () => {
  flow = await createFlow();
  await flow.sql(
    'create table customers (id integer primary key, name varchar, city varchar, changed date)',
    "insert into customers values (1, 'Ann', 'Berlin', null), (2, 'Bob', 'Paris', null), (3, 'Cem', 'Rome', null)",
    "create table news as select * from (values (2, 'Robert', 'Paris', 'u'), (3, 'Cem', 'Rome', 'd'), (4, 'Dora', 'Oslo', 'u')) v(id, name, city, op)",
  );
});
afterEach(() => flow.dispose());

const update = {
  warehouse: '[Environment Default]',
  database: '[Environment Default]',
  schema: '[Environment Default]',
  targetTable: 'customers',
  targetAlias: 'target',
  sourceAlias: 'input',
  joinExpression: [['"input"."id" = "target"."id"', 'Case']],
  whenMatched: [['true', 'Update']],
  updateMapping: [['name', 'name']],
  includeNotMatched: 'Yes',
  insertMapping: [
    ['id', 'id'],
    ['name', ''],
  ],
};
const merge = (parameters: object) => ({
  In: readTable('news'),
  Merge: { type: 'table-update', sources: ['In'], parameters: { ...update, ...parameters } },
});
const customers = () => flow.fixture.rows('select id, name, city from customers order by id');

describe('table-update', () => {
  it('updates rows that match and inserts the others', async () => {
    assert.deepEqual(await flow.run(merge({})), { status: 'SUCCESS' });
    assert.deepEqual(await customers(), [
      [1, 'Ann', 'Berlin'],
      [2, 'Robert', 'Paris'],
      [3, 'Cem', 'Rome'],
      [4, 'Dora', null],
    ]);
    assert.equal([...flow.fixture.steps.values()].at(-1)?.rowCount, 3);
  });

  it('uses the first rule whose condition holds', async () => {
    const whenMatched = [
      ['"input"."op" = \'d\' -- deleted', 'Delete'],
      ['<none>', 'Update'],
    ];
    const outcome = await flow.run(merge({ whenMatched, includeNotMatched: 'No', insertMapping: [] }));
    assert.deepEqual(outcome, { status: 'SUCCESS' });
    assert.deepEqual(await customers(), [
      [1, 'Ann', 'Berlin'],
      [2, 'Robert', 'Paris'],
    ]);
  });

  it('only inserts if there are no rules', async () => {
    await flow.run(merge({ whenMatched: null, updateMapping: null }));
    assert.deepEqual(
      (await customers()).map(([id]) => id),
      [1, 2, 3, 4],
    );
  });

  it('reads the table that it changes', async () => {
    const outcome = await flow.run({
      In: readTable('customers', ['id', 'name']),
      Upper: {
        type: 'calculator',
        sources: ['In'],
        parameters: { includeInputColumns: 'Yes', calculations: [['upper("name")', 'name']] },
      },
      Merge: { ...merge({ includeNotMatched: 'No' }).Merge, sources: ['Upper'] },
    });
    assert.deepEqual(outcome, { status: 'SUCCESS' });
    assert.deepEqual(
      (await customers()).map((row) => row[1]),
      ['ANN', 'BOB', 'CEM'],
    );
  });

  it('fails and changes nothing if several rows would update the same row', async () => {
    await flow.sql("insert into news values (2, 'Rob', 'Paris', 'u')");
    assert.match(await flow.failureOf(merge({})), /several rows of the source match the same row/);
    assert.deepEqual(
      (await customers()).map((row) => row[1]),
      ['Ann', 'Bob', 'Cem'],
    );
    const whenMatched = [['"input"."name" = \'Robert\'', 'Update']];
    assert.deepEqual(await flow.run(merge({ whenMatched, includeNotMatched: 'No' })), { status: 'SUCCESS' });
    assert.deepEqual(
      (await customers()).map((row) => row[1]),
      ['Ann', 'Robert', 'Cem'],
    );
  });

  it('fails before the run if it is wrong', async () => {
    assert.match(await flow.failureOf(merge({ updateMapping: [] })), /"updateMapping" is empty/);
    assert.match(await flow.failureOf(merge({ insertMapping: null })), /"insertMapping" is empty/);
    assert.match(await flow.failureOf(merge({ whenMatched: [['true', 'Merge']] })), /use Update or Delete/);
    assert.match(
      await flow.failureOf(merge({ whenMatched: [], includeNotMatched: 'No' })),
      /it changes nothing/,
    );
  });
});

describe('an output as a source', () => {
  it('gives the rows of the table after the write', async () => {
    const components = {
      In: readTable('news', ['id', 'name']),
      Write: {
        type: 'table-output',
        sources: ['In'],
        parameters: {
          targetTable: 'customers',
          outputMode: 'Truncate',
          fixDataTypeMismatches: 'Yes',
          columnMapping: [
            ['id', 'id'],
            ['name', 'name'],
          ],
          orderBy: [['id', 'Descending Nulls Last']],
        },
      },
      Count: {
        type: 'aggregate',
        sources: ['Write'],
        parameters: { groupings: [], aggregations: [['*', 'Count']], groupingType: 'Group By' },
      },
      Last: { type: 'rename', sources: ['Count'], parameters: { columnMapping: [['count_*', 'n']] } },
    };
    assert.deepEqual(await flow.rowsOf(components), [[3]]);
    assert.deepEqual(
      (await customers()).map(([id]) => id),
      [2, 3, 4],
    );
  });

  it('works for all outputs', async () => {
    const components = {
      In: readTable('news', ['id']),
      Rewrite: { type: 'rewrite-table', sources: ['In'], parameters: { targetTable: 'copy' } },
      View: { type: 'create-view', sources: ['Rewrite'], parameters: { viewName: 'seen' } },
      Last: {
        type: 'filter',
        sources: ['View'],
        parameters: { filterConditions: [['id', 'Is', 'Greater than', '2']], combineCondition: 'And' },
      },
    };
    assert.deepEqual(await flow.rowsOf(components), [[3], [4]]);
  });
});

describe('create-view', () => {
  it('creates a view that sees later changes, and replaces it', async () => {
    const view = (name: string) => ({
      In: readTable(name),
      View: {
        type: 'create-view',
        sources: ['In'],
        parameters: { viewName: 'v', secureView: 'No', viewType: 'Standard' },
      },
    });
    assert.deepEqual(await flow.run(view('customers')), { status: 'SUCCESS' });
    await flow.sql('delete from customers where id = 1');
    assert.deepEqual(await flow.fixture.rows('select count(*) from v'), [[2]]);
    assert.deepEqual(await flow.run(view('news')), { status: 'SUCCESS' });
    assert.deepEqual(await flow.fixture.rows('select op from v where id = 4'), [['u']]);
  });
});

describe('multi-table-input', () => {
  const parameters = {
    patternType: 'Like',
    pattern: 'SHOP_%',
    castTypes: 'False',
    addSourceTable: 'True',
    columns: ['id', 'name'],
  };
  beforeEach(() =>
    flow.sql(
      "create table shop_a as select 1 as id, 'x' as name, 9 as other",
      "create table shop_b as select 2.5 as id, 'y' as name",
    ),
  );

  it('unites the tables whose names match', async () => {
    const Last = { type: 'multi-table-input', parameters };
    assert.deepEqual(await flow.rowsOf({ Last }), [
      [1, 'x', 'shop_a'],
      [2.5, 'y', 'shop_b'],
    ]);
    assert.deepEqual(await flow.columns(), ['id', 'name', 'Source Table']);
  });

  it('takes a regular expression, and all columns', async () => {
    const all = {
      ...parameters,
      patternType: 'Regex',
      pattern: 'shop_[ab]',
      columns: [],
      addSourceTable: 'No',
    };
    const rows = await flow.rowsOf({ Last: { type: 'multi-table-input', parameters: all } });
    assert.deepEqual(rows, [
      [1, 'x', 9],
      [2.5, 'y', null],
    ]);
  });

  it('may be read by a view', async () => {
    const components = {
      In: { type: 'multi-table-input', parameters },
      View: { type: 'create-view', sources: ['In'], parameters: { viewName: 'shops' } },
    };
    assert.deepEqual(await flow.run(components), { status: 'SUCCESS' });
    assert.deepEqual(await flow.fixture.rows('select count(*) from shops'), [[2]]);
  });

  it('fails if no table matches', async () => {
    const Out = { type: 'rewrite-table', sources: ['Last'], parameters: { targetTable: 'result' } };
    const Last = { type: 'multi-table-input', parameters: { ...parameters, pattern: 'nothing%' } };
    assert.match(await flow.failureOf({ Last, Out }), /no table matches "nothing%"/);
  });
});

describe('assert-view', () => {
  const check = (parameters: object) => ({
    In: readTable('news'),
    Check: {
      type: 'assert-view-sf',
      sources: ['In'],
      parameters: { ignoreMetadataOrder: 'No', ...parameters },
    },
  });
  const atLeast = (lowerValue: string) => ({
    rowCountComparisonType: 'Greater Than or Equal To',
    lowerValue,
  });

  it('compares the number of rows, and passes them on', async () => {
    const { In, Check } = check(atLeast('3'));
    const Last = { type: 'distinct', sources: ['Check'], parameters: { columns: ['op'] } };
    assert.deepEqual(await flow.rowsOf({ In, Check, Last }), [['d'], ['u']]);
    assert.match(await flow.failureOf(check(atLeast('4'))), /the source has 3 rows, but should have >= 4/);
    const range = { rowCountComparisonType: 'Range', lowerValue: '1', upperValue: '2' };
    assert.match(await flow.failureOf(check(range)), /has 3 rows, but should have from 1 to 2/);
  });

  it('compares the columns', async () => {
    const metadata = [['id', 'NUMBER'], ['name', 'VARCHAR'], ['city'], ['op']];
    assert.deepEqual(await flow.run(check({ metadata })), { status: 'SUCCESS' });
    const reversed = { metadata: metadata.toReversed() };
    assert.match(
      await flow.failureOf(check(reversed)),
      /has the columns id, name, city, op, but should have op, /,
    );
    assert.deepEqual(await flow.run(check({ ...reversed, ignoreMetadataOrder: 'Yes' })), {
      status: 'SUCCESS',
    });
  });
});

describe('a transformation without an output', () => {
  it('computes its rows and says that they are not written', async () => {
    const Upper = {
      type: 'calculator',
      sources: ['In'],
      parameters: { includeInputColumns: 'Yes', calculations: [['upper("name")', 'name']] },
    };
    assert.deepEqual(await flow.run({ In: readTable('news'), Upper }), { status: 'SUCCESS' });
    const step = [...flow.fixture.steps.values()].at(-1);
    assert.equal(step?.rowCount, 3);
    assert.match(step?.message ?? '', /no effect here: the rows of "Upper", which no output writes/);
    const wrong = { ...Upper, parameters: { calculations: [['upper("nothing")', 'name']] } };
    assert.match(await flow.failureOf({ In: readTable('news'), Upper: wrong }), /column "nothing" not found/);
  });
});

describe('types that cannot run', () => {
  it('fail by name', async () => {
    const stream = { type: 'stream-input-sf', parameters: { targetStream: 's', columnNames: ['a'] } };
    const Out = { type: 'rewrite-table', sources: ['Last'], parameters: { targetTable: 'result' } };
    assert.match(await flow.failureOf({ Last: stream, Out }), /stream "s", but the warehouse has no streams/);
    const unknown = { type: 'unknown-transformation', sources: ['In'], parameters: { '8.1': [['a']] } };
    const message = await flow.failureOf({ In: readTable('news'), Left: unknown });
    assert.match(message, /"Left" is an unmigrated component/);
    const past = { type: 'table-input-1', parameters: { targetTable: 'news', timeOffset: '60' } };
    assert.match(
      await flow.failureOf({ Last: past, Out }),
      /"timeOffset" is "60", but the warehouse keeps no/,
    );
  });
});
