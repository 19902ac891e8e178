import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findFailureMessage, planComponents } from './plan-fixture.ts';

const input = { type: 'table-input', parameters: { targetTable: 'orders', columnNames: ['id', 'amount'] } };
const unknown = { type: 'sql', parameters: { query: 'select * from somewhere' } };
const output = { type: 'rewrite-table', sources: ['It'], parameters: { targetTable: 'out' } };

/** The SELECT that a component between `In` and an output comes to. */
async function selectOf(
  component: { type: string; parameters: object; sources?: string[] },
  source: object = input,
) {
  const { outputs, failures } = await planComponents({
    In: source,
    It: { sources: ['In'], ...component },
    Out: output,
  });
  assert.deepEqual(failures, []);
  return /"It" AS \(\n {2}([\s\S]*)\n\)\nSELECT/
    .exec(outputs[0]?.statements[0] ?? '')?.[1]
    ?.replaceAll('\n', ' ');
}

describe('a transformation', () => {
  it('is one statement for each output, with a CTE for each component that the output needs', async () => {
    const { outputs } = await planComponents({
      Out: {
        type: 'rewrite-table',
        sources: ['Large'],
        parameters: { targetTable: 'large', orderBy: [['amount', 'Descending']] },
      },
      Orders: input,
      Large: {
        type: 'filter',
        sources: ['Orders'],
        parameters: { filterConditions: [['amount', 'Is', 'Greater than', '5']] },
      },
      Copy: {
        type: 'table-output',
        sources: ['Orders'],
        parameters: { targetTable: 'copy', columnMapping: [['id', 'key']] },
      },
      Unused: input,
    });
    assert.deepEqual(
      outputs.map(({ statements }) => statements[0]),
      [
        `CREATE OR REPLACE TABLE "main"."large" AS
WITH "Orders" AS (
  SELECT "id", "amount" FROM "main"."orders"
),
"Large" AS (
  SELECT *
FROM "Orders"
WHERE "amount" > '5'
)
SELECT * FROM "Large"
ORDER BY "amount" DESC NULLS FIRST`,
        `INSERT INTO "main"."copy" ("key")
WITH "Orders" AS (
  SELECT "id", "amount" FROM "main"."orders"
)
SELECT "id" AS "key" FROM "Orders"`,
      ],
    );
  });

  it('quotes component names and distinguishes names that differ only in case', async () => {
    const { outputs } = await planComponents({
      'a" b': unknown,
      'A" B': { type: 'filter', sources: ['a" b'], parameters: { filterConditions: [['x', 'Is', 'Null']] } },
      Out: { type: 'rewrite-table', sources: ['A" B'], parameters: { targetTable: 't' } },
    });
    const [statement = ''] = outputs[0]?.statements ?? [];
    assert.match(statement, /"a"" b" AS \(/);
    assert.match(statement, /"A"" B \(2\)" AS \(\n {2}SELECT \*\nFROM "a"" b"/);
  });

  it('fails at the component that cannot be planned', async () => {
    const failing = (It: object) => findFailureMessage({ In: input, It, Out: output });
    assert.match(
      await failing({ type: 'odd', sources: ['In'], parameters: {} }),
      /It: .*"odd" in p\.tran\.yaml/,
    );
    assert.match(
      await failing({ type: 'start', sources: ['In'], parameters: {} }),
      /belongs in a pipeline of type orchestration/,
    );
    assert.match(
      await failing({ type: 'filter', sources: [], parameters: {} }),
      /It: it has 0 sources but takes 1/,
    );
    assert.match(
      await failing({ type: 'filter', sources: ['Gone'], parameters: {} }),
      /its source "Gone" is not a component of p\.tran\.yaml/,
    );
    assert.match(await failing({ type: 'filter', sources: ['It'], parameters: {} }), /cycle: It → It/);
    assert.match(await failing({ type: 'filter', sources: ['Out'], parameters: {} }), /cycle/);
    assert.match(
      await failing({ type: 'sql', sources: ['In'], parameters: { query: 'select * from $T{Other}' } }),
      /"\$T\{Other\}" is not a source of the component/,
    );
    assert.match(
      await failing({ type: 'sql', sources: ['In'], parameters: { query: 'select 1; drop table x' } }),
      /has 2 statements: keep one/,
    );
  });
});

describe('components to SQL', () => {
  it('fixed-flow', async () => {
    const parameters = {
      columns: [
        ['n', 'NUMBER', '5', '1'],
        ['t', 'TEXT'],
      ],
      values: [
        ['1.5', "it's"],
        ['', ''],
      ],
    };
    const { outputs } = await planComponents({ It: { type: 'fixed-flow', parameters }, Out: output });
    assert.match(
      outputs[0]?.statements[0] ?? '',
      /VALUES\n {2}\(CAST\('1\.5' AS DECIMAL\(5, 1\)\), CAST\('it''s' AS VARCHAR\)\),\n {2}\(CAST\(NULL AS DECIMAL\(5, 1\)\), CAST\('' AS VARCHAR\)\)\n\) AS "values" \("n", "t"\)/,
    );
  });

  it('sql', async () => {
    assert.equal(
      await selectOf({ type: 'sql', parameters: { query: 'select id from $T{In} where id > 1;' } }),
      'select id from "In" where id > 1',
    );
  });

  it('join', async () => {
    const parameters = {
      mainTable: 'In',
      mainTableAlias: 'a',
      joins: [
        ['In', 'b', 'Left'],
        ['In', 'b.c', 'Full'],
      ],
      joinExpressions: [
        ['"a"."id" = "b"."id" -- note', 'a_Left_b'],
        ['"b"."id" = "b.c"."id"', 'b_Full_b.c'],
      ],
      columnMappings: [
        ['a.id', 'id'],
        ['b.c.amount', 'other'],
      ],
    };
    assert.equal(
      await selectOf({ type: 'join', parameters }),
      'SELECT "a"."id" AS "id", "b.c"."amount" AS "other" FROM "In" AS "a" LEFT JOIN "In" AS "b" ON ("a"."id" = "b"."id" -- note ) FULL JOIN "In" AS "b.c" ON ("b"."id" = "b.c"."id")',
    );
  });

  it('calculator: a column replaces an existing one of the same name', async () => {
    const parameters = {
      includeInputColumns: 'Yes',
      calculations: [
        ['amount * 2', 'Amount'],
        ["'x'", 'new'],
      ],
    };
    assert.equal(
      await selectOf({ type: 'calculator', parameters }),
      `SELECT "id", (amount * 2) AS "Amount", ('x') AS "new" FROM "In"`,
    );
    assert.match(
      (await selectOf({ type: 'calculator', parameters }, unknown)) ?? '',
      /^SELECT \* EXCLUDE \("headgate_placeholder"\) FROM \( SELECT COLUMNS\(lambda c: lower\(c\) NOT IN \('amount', 'new'\)\), /,
    );
    const only = { includeInputColumns: 'No', calculations: [['1', 'one']] };
    assert.equal(await selectOf({ type: 'calculator', parameters: only }), 'SELECT (1) AS "one" FROM "In"');
  });

  it('aggregate', async () => {
    const parameters = {
      groupings: ['id'],
      aggregations: [
        ['amount', 'Sum'],
        ['Title', 'Count'],
        ['id', 'Count Distinct'],
      ],
    };
    assert.equal(
      await selectOf({ type: 'aggregate', parameters }),
      'SELECT "id", sum("amount") AS "sum_amount", count("Title") AS "count_Title", count(DISTINCT "id") AS "count_distinct_id" FROM "In" GROUP BY "id"',
    );
    assert.equal(
      await selectOf({ type: 'aggregate', parameters: { aggregations: [['id', 'Max']] } }),
      'SELECT max("id") AS "max_id" FROM "In"',
    );
  });

  it('rename', async () => {
    const columnMapping = [['id', 'key']];
    assert.equal(
      await selectOf({ type: 'rename', parameters: { columnMapping } }),
      'SELECT "id" AS "key" FROM "In"',
    );
    assert.equal(
      await selectOf({ type: 'rename', parameters: { columnMapping, includeInputColumns: 'Yes' } }),
      'SELECT "id" AS "key", "amount" FROM "In"',
    );
  });

  it('rank', async () => {
    const parameters = {
      includeInputColumns: 'Yes',
      partitionData: ['id'],
      orderingWithinPartitions: [['amount', 'Descending']],
      functions: [['Row Number', 'position']],
    };
    assert.equal(
      await selectOf({ type: 'rank', parameters }),
      'SELECT *, row_number() OVER (PARTITION BY "id" ORDER BY "amount" DESC NULLS FIRST) AS "position" FROM "In"'.replace(
        '*',
        '"id", "amount"',
      ),
    );
  });

  it('unite', async () => {
    const sources = ['In', 'Two'];
    const both = async (parameters: object) => {
      const { outputs, failures } = await planComponents({
        In: input,
        Two: { type: 'table-input', parameters: { targetTable: 't', columnNames: ['AMOUNT', 'x'] } },
        It: { type: 'unite', sources, parameters },
        Out: output,
      });
      assert.deepEqual(failures, []);
      return outputs[0]?.statements[0] ?? '';
    };
    assert.match(
      await both({ method: 'All Columns' }),
      /SELECT \* FROM "In"\nUNION ALL BY NAME\nSELECT \* FROM "Two"/,
    );
    assert.match(
      await both({ method: 'Common Columns', removeDuplicates: 'Yes', addSourceComponentColumn: 'Yes' }),
      /SELECT "amount", 'In' AS "source_component" FROM "In"\nUNION BY NAME\nSELECT "amount", 'Two' AS/,
    );
  });

  it('table-output replaces all rows in one transaction', async () => {
    const { outputs } = await planComponents({
      In: input,
      Out: {
        type: 'table-output',
        sources: ['In'],
        parameters: { targetTable: 't', outputMode: 'Truncate and insert' },
      },
    });
    assert.deepEqual(outputs[0]?.statements.slice(1), [
      'DELETE FROM "main"."t"',
      'INSERT INTO "main"."t" BY NAME\nSELECT * FROM temp.main."headgate_new_rows"',
      'DROP TABLE temp.main."headgate_new_rows"',
    ]);
  });
});
