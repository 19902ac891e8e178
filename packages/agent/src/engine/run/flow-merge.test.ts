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

  it('refuses a mapping of updates without a rule, which would update nothing', async () => {
    assert.match(
      await flow.failureOf(merge({ whenMatched: [] })),
      /"updateMapping" updates nothing, because "whenMatched" has no rule: add \["true", "Update"\]/,
    );
    assert.equal((await customers()).length, 3);
  });
});
