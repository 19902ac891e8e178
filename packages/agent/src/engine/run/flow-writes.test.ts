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

const customers = () => flow.fixture.rows('select id, name, city from customers order by id');

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

describe('planning', () => {
  it('asks for types and columns of a table that is not written yet', async () => {
    const components = {
      In: readTable('news', ['id', 'name', 'city', 'op']),
      Write: { type: 'rewrite-table', sources: ['In'], parameters: { targetTable: 'later' } },
      Double: {
        type: 'calculator',
        sources: ['Write'],
        parameters: { includeInputColumns: 'Yes', calculations: [['"id" * 2', 'double id']] },
      },
      Last: {
        type: 'unite',
        sources: ['Greater', 'Write'],
        parameters: { method: 'Overlapping Columns', removeDuplicates: 'Yes' },
      },
      Greater: {
        type: 'filter',
        sources: ['Double'],
        parameters: {
          filterConditions: [['double id', 'Is', 'Greater than', 'id']],
          combineCondition: 'And',
        },
      },
    };
    assert.equal((await flow.rowsOf(components)).length, 3);
    assert.deepEqual(await flow.columns(), ['id', 'name', 'city', 'op']);
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
