import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from './engine-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
  await fixture.connection.run(
    "create table sales as select * from (values ('a', 1, 10.0), ('a', 2, 30.0), ('b', 3, 20.0)) t(region, id, amount)",
  );
});
afterEach(() => fixture.dispose());

const sales = {
  type: 'table-input',
  parameters: { targetTable: 'sales', columnNames: ['region', 'id', 'amount'] },
};
const anySales = { type: 'table-input', parameters: { targetTable: 'sales' } };

/** The rows of the component called `Last`, which is written to a table. */
async function rowsOf(components: Record<string, object>): Promise<unknown[][]> {
  const Out = { type: 'rewrite-table', sources: ['Last'], parameters: { targetTable: 'result' } };
  const pipeline = { components: { ...components, Out } };
  await fixture.publish({
    't.tran.yaml': JSON.stringify({ type: 'transformation', version: '1.0', pipeline, design: {} }),
  });
  assert.deepEqual(await fixture.run('t'), { status: 'SUCCESS' });
  return fixture.rows('select * from result order by all');
}

async function write(parameters: object) {
  const components = {
    In: anySales,
    Out: { type: 'table-output', sources: ['In'], parameters: { targetTable: 'copy', ...parameters } },
  };
  await fixture.publish({
    'w.tran.yaml': JSON.stringify({
      type: 'transformation',
      version: '1.0',
      pipeline: { components },
      design: {},
    }),
  });
  return fixture.run('w');
}

describe('components on DuckDB', () => {
  for (const [what, In] of Object.entries({
    'known columns': sales,
    'columns that the warehouse knows': anySales,
  })) {
    it(`calculator over ${what}: a column replaces one of the same name, ignoring case`, async () => {
      const parameters = {
        includeInputColumns: 'Yes',
        calculations: [
          ['"amount" / 10', 'AMOUNT'],
          ['upper(region) -- loud', 'loud'],
        ],
      };
      const rows = await rowsOf({ In, Last: { type: 'calculator', sources: ['In'], parameters } });
      assert.deepEqual(rows, [
        ['a', 1, 1, 'A'],
        ['a', 2, 3, 'A'],
        ['b', 3, 2, 'B'],
      ]);
    });

    it(`rename over ${what}`, async () => {
      const parameters = { includeInputColumns: 'Yes', columnMapping: [['id', 'key']] };
      await rowsOf({ In, Last: { type: 'rename', sources: ['In'], parameters } });
      assert.deepEqual(
        await fixture.rows(
          "select column_name from information_schema.columns where table_name = 'result' order by 1",
        ),
        [['amount'], ['key'], ['region']],
      );
    });
  }

  it('calculator over the only column', async () => {
    const In = { type: 'table-input', parameters: { targetTable: 'sales', columnNames: ['id'] } };
    const parameters = { includeInputColumns: 'Yes', calculations: [['id + 1', 'id']] };
    assert.deepEqual(await rowsOf({ In, Last: { type: 'calculator', sources: ['In'], parameters } }), [
      [2],
      [3],
      [4],
    ]);
  });

  it('rank', async () => {
    const parameters = {
      includeInputColumns: 'No',
      partitionData: ['region'],
      orderingWithinPartitions: [['amount', 'Descending']],
      functions: [['Dense Rank', 'place']],
    };
    assert.deepEqual(await rowsOf({ In: sales, Last: { type: 'rank', sources: ['In'], parameters } }), [
      [1],
      [1],
      [2],
    ]);
  });

  it('unite', async () => {
    const One = {
      type: 'fixed-flow',
      parameters: {
        columns: [
          ['id', 'TEXT'],
          ['extra', 'TEXT'],
        ],
        values: [
          ['x', 'e'],
          ['x', 'e'],
        ],
      },
    };
    const Last = {
      type: 'unite',
      sources: ['One', 'Two'],
      parameters: {
        method: 'All Columns',
        castTypes: 'Yes',
        addSourceComponentColumn: 'Yes',
        removeDuplicates: 'Yes',
      },
    };
    const Two = { type: 'table-input', parameters: { targetTable: 'sales', columnNames: ['id'] } };
    assert.deepEqual(await rowsOf({ One, Two, Last }), [
      ['1', null, 'Two'],
      ['2', null, 'Two'],
      ['3', null, 'Two'],
      ['x', 'e', 'One'],
    ]);
  });

  it('filter with each comparator', async () => {
    const ids = async (...condition: string[]) => {
      const rows = await rowsOf({
        In: sales,
        Last: { type: 'filter', sources: ['In'], parameters: { filterConditions: [condition] } },
      });
      return rows.map(([, id]) => id);
    };
    assert.deepEqual(await ids('amount', 'Is', 'Greater than', '9.5'), [1, 2, 3]);
    assert.deepEqual(await ids('amount', 'Is', 'Between', '15 and 30'), [2, 3]);
    assert.deepEqual(await ids('id', 'Not', 'In', '1, 2'), [3]);
    assert.deepEqual(await ids('region', 'Is', 'Like', 'a%'), [1, 2]);
    assert.deepEqual(await ids('region', 'Not', 'Blank', ''), [1, 2, 3]);
    assert.deepEqual(await ids('region', 'Is', 'Null', ''), []);
  });

  it('aggregate without groups, and by rollup', async () => {
    const over = (parameters: object) =>
      rowsOf({ In: sales, Last: { type: 'aggregate', sources: ['In'], parameters } });
    assert.deepEqual(
      await over({
        aggregations: [
          ['amount', 'Average'],
          ['region', 'Count Distinct'],
        ],
      }),
      [[20, 2]],
    );
    assert.deepEqual(
      await over({ groupings: ['region'], aggregations: [['id', 'Count']], groupingType: 'Rollup' }),
      [
        ['a', 2],
        ['b', 1],
        [null, 3],
      ],
    );
  });

  it('a name with quotes stays a name', async () => {
    const evil = 'x" from sales; drop table sales; --';
    const parameters = { includeInputColumns: 'No', columnMapping: [['id', evil]] };
    await rowsOf({ In: sales, Last: { type: 'rename', sources: ['In'], parameters } });
    assert.deepEqual(
      await fixture.rows("select column_name from information_schema.columns where table_name = 'result'"),
      [[evil]],
    );
    assert.deepEqual(await fixture.rows('select count(*) from sales'), [[3]]);
  });
});

describe('table-output on DuckDB', () => {
  beforeEach(() =>
    fixture.connection.run(
      'create table copy (region varchar, amount decimal(10, 2), id integer primary key)',
    ),
  );

  it('appends by name, or by the mapping', async () => {
    await write({ outputMode: 'Append' });
    await write({
      outputMode: 'Append',
      columnMapping: [
        ['amount', 'amount'],
        ['id', 'region'],
      ],
      fixDataTypeMismatches: 'Yes',
    });
    assert.equal([...fixture.steps.values()].at(-1)?.status, 'FAILED');
    await fixture.connection.run('create or replace table copy (region varchar, amount decimal(10, 2))');
    assert.deepEqual(
      await write({
        outputMode: 'Append',
        columnMapping: [
          ['amount', 'amount'],
          ['id', 'region'],
        ],
      }),
      { status: 'SUCCESS' },
    );
    assert.deepEqual(
      await fixture.rows('select * from copy order by 1'),
      [
        ['1', 10],
        ['2', 30],
        ['3', 20],
      ].map(([a, b]) => [a, b]),
    );
  });

  for (const [what, more] of Object.entries({
    'by name': {},
    'by the mapping': {
      columnMapping: [
        ['id', 'id'],
        ['region', 'region'],
        ['amount', 'amount'],
      ],
    },
  })) {
    it(`truncates and inserts ${what}, every time it runs`, async () => {
      await fixture.connection.run("insert into copy values ('old', 1, 99)");
      assert.deepEqual(await write({ outputMode: 'Truncate and insert', ...more }), { status: 'SUCCESS' });
      assert.deepEqual(await write({ outputMode: 'Truncate and insert', ...more }), { status: 'SUCCESS' });
      assert.deepEqual(await fixture.rows('select region, id from copy order by id'), [
        ['a', 1],
        ['a', 2],
        ['b', 3],
      ]);
    });
  }

  it('reads the rows that it replaces', async () => {
    await fixture.connection.run("insert into copy values ('a', 1, 1), ('b', 2, 2)");
    const components = {
      In: {
        type: 'table-input',
        parameters: { targetTable: 'copy', columnNames: ['region', 'id', 'amount'] },
      },
      Next: {
        type: 'calculator',
        sources: ['In'],
        parameters: { includeInputColumns: 'Yes', calculations: [['id + 1', 'id']] },
      },
      Out: {
        type: 'table-output',
        sources: ['Next'],
        parameters: { targetTable: 'copy', outputMode: 'Truncate and insert' },
      },
    };
    await fixture.publish({
      'self.tran.yaml': JSON.stringify({ type: 'transformation', version: '1.0', pipeline: { components } }),
    });
    assert.deepEqual(await fixture.run('self'), { status: 'SUCCESS' });
    assert.deepEqual(await fixture.rows('select region, id from copy order by id'), [
      ['a', 2],
      ['b', 3],
    ]);
    assert.equal([...fixture.steps.values()].at(-1)?.rowCount, 2);
  });

  it('keeps the old rows if the new ones do not fit', async () => {
    await fixture.connection.run("insert into copy values ('old', 1, 99)");
    await fixture.connection.run("insert into sales values ('c', 3, 1)");
    assert.equal((await write({ outputMode: 'Truncate and insert' })).status, 'FAILED');
    assert.deepEqual(await fixture.rows('select region from copy'), [['old']]);
  });
});
