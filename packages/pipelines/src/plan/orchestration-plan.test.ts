// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createProjectVariable } from '../expressions/variables.ts';
import { planAction } from './plan-fixture.ts';

const scalar = (name: string, value: string | number) =>
  createProjectVariable({
    name,
    type: typeof value === 'number' ? 'NUMBER' : 'TEXT',
    behaviour: 'SHARED',
    value,
  });
const grid = createProjectVariable({
  name: 'g',
  type: 'GRID',
  behaviour: 'SHARED',
  value: {
    columns: [
      { name: 'a', type: 'TEXT' },
      { name: 'b', type: 'NUMBER' },
    ],
    rows: [
      ['x', 1],
      ['y', 2],
    ],
  },
});
const plan = (type: string, parameters: object, more: object = {}) =>
  planAction({ type, parameters, ...more }, [scalar('t', 'x'), scalar('n', 7), grid]);
const statements = async (type: string, parameters: object) => {
  const action = await plan(type, parameters);
  return action.action === 'execute' ? action.statements : [];
};

describe('create-table', () => {
  const columns = [
    ['id', 'NUMBER', '10', '0', '', 'Yes', 'No', ''],
    ['note"', 'VARCHAR', '20', '', "it's", 'No', 'Yes', "the 'note'"],
    ['made', 'TIMESTAMP', '', '', 'CURRENT_TIMESTAMP', 'No', 'No', ''],
  ];

  it('writes columns, defaults, keys and comments', async () => {
    assert.deepEqual(
      await statements('create-table', {
        createReplace: 'Replace',
        newTableName: 't',
        tableType: 'Permanent',
        columns,
        primaryKeys: ['id'],
      }),
      [
        {
          sql: `CREATE OR REPLACE TABLE "main"."t" (
  "id" DECIMAL(10, 0) NOT NULL,
  "note""" VARCHAR DEFAULT CAST('it''s' AS VARCHAR) CHECK (CASE WHEN length("note""") > 20 THEN error(length("note""") || ' characters, and the column is VARCHAR(20)') ELSE true END),
  "made" TIMESTAMP DEFAULT CURRENT_TIMESTAMP
)`,
          before: [],
          after: [
            `COMMENT ON COLUMN "main"."t"."id" IS '[PRIMARY KEY]'`,
            `COMMENT ON COLUMN "main"."t"."note""" IS '[UNIQUE note%22] the ''note'''`,
          ],
          kind: 'CREATE TABLE',
        },
      ],
    );
  });

  it('takes its columns from a grid', async () => {
    const fromGrid = { variable: 'types', columns: ['name', 'type'] };
    const types = createProjectVariable({
      name: 'types',
      type: 'GRID',
      behaviour: 'SHARED',
      value: {
        columns: [
          { name: 'name', type: 'TEXT' },
          { name: 'type', type: 'TEXT' },
        ],
        rows: [['a', 'DATE']],
      },
    });
    const action = await planAction(
      { type: 'create-table', parameters: { newTableName: 't', columns: { fromGrid } } },
      [types],
    );
    assert.deepEqual(action, { action: 'execute', statements: ['CREATE TABLE "main"."t" (\n  "a" DATE\n)'] });
  });

  it('refuses invalid parameters', async () => {
    await assert.rejects(plan('create-table', { columns }), /"newTableName" is missing: fill it in/);
    await assert.rejects(
      plan('create-table', { newTableName: 't', columns, createReplace: 'Maybe' }),
      /"Maybe", which is not a known value: use one of Create, Replace, /,
    );
    await assert.rejects(
      plan('create-table', { newTableName: 't', schema: '[Custom]', columns }),
      /"schema" is \[Custom\]: write the name itself/,
    );
  });
});

describe('query-to-scalar', () => {
  it('Basic is a query over a table', async () => {
    const action = await plan('query-to-scalar', {
      mode: 'Basic',
      table: 'orders',
      tableColumns: ['id'],
      filterConditions: [['name', 'Is', 'Equal to', '${t}']],
      orderBy: ['id'],
      sort: 'Descending',
      limit: '5',
      scalarVariableMapping: [['n', 'id']],
    });
    assert.deepEqual(action, {
      action: 'query-scalars',
      query: `SELECT * FROM (\nSELECT "id"\nFROM "main"."orders"\nWHERE "name" = 'x'\nORDER BY "id" DESC NULLS FIRST\nLIMIT 5\n) AS "query" LIMIT 1`,
      mapping: [['n', 'id']],
    });
  });
});

describe('the other components of an orchestration', () => {
  it('sql-script: statements in order, with values in them', async () => {
    assert.deepEqual(await statements('sql-script', { sqlScript: "select ';', ${n}; select 2" }), [
      "select ';', 7",
      'select 2',
    ]);
  });

  it('if: Simple compares variables, And or Or', async () => {
    const condition = [
      ['n', 'Is', 'Equal to', '7'],
      ['t', 'Is', 'Equal to', 'y'],
    ];
    assert.deepEqual(await plan('if', { mode: 'Simple', condition, combineConditions: 'And' }), {
      action: 'branch',
      condition: false,
    });
    assert.deepEqual(await plan('if', { mode: 'Simple', condition, combineConditions: 'Or' }), {
      action: 'branch',
      condition: true,
    });
    await assert.rejects(
      plan('if', { mode: 'Simple', condition: [['g', 'Is', 'Null', '']] }),
      /"g" is a grid: use the mode Advanced/,
    );
  });

  it('update-scalar keeps its expressions for the engine', async () => {
    assert.deepEqual(await plan('update-scalar', { scalarsToUpdate: [['n', '${n + 1}']] }), {
      action: 'update-scalars',
      updates: [['n', '${n + 1}']],
    });
  });

  it('print-variables', async () => {
    const parameters = { variablesToPrint: [['n'], ['g']], prefixText: 'Now: ', includeVariableName: 'Yes' };
    assert.deepEqual(await plan('print-variables', parameters), {
      action: 'print',
      lines: ['Now: n = 7', 'Now: g = [a, b] ["x",1] ["y",2]'],
    });
    assert.deepEqual(
      await plan('print-variables', { variablesToPrint: [['n']], includeVariableName: 'No' }),
      { action: 'print', lines: ['7'] },
    );
  });

  it('grid-iterator: one iteration a row', async () => {
    const parameters = {
      gridVariable: 'g',
      gridIteratorVariableMapping: [['b', 'n']],
      concurrency: 'Concurrent',
      breakOnFailure: 'Yes',
    };
    assert.deepEqual(await plan('grid-iterator', parameters, { iterationTarget: 'Body' }), {
      action: 'iterate',
      target: 'Body',
      iterations: [[['n', 1]], [['n', 2]]],
      concurrent: true,
      breakOnFailure: true,
    });
    await assert.rejects(plan('grid-iterator', parameters), /no iterationTarget/);
  });

  it('run-transformation: values for the variables of what it calls', async () => {
    const parameters = {
      transformationJob: 'a/b.tran.yaml',
      setScalarVariables: [['n', '${n}']],
      setGridVariables: [{ variable: 'g', status: 'values', gridValues: [['1']] }],
    };
    assert.deepEqual(await plan('run-transformation', parameters), {
      action: 'run-pipeline',
      pipelineType: 'transformation',
      pipelineName: 'a/b.tran.yaml',
      scalars: [['n', 7]],
      grids: [['g', [['1']]]],
    });
  });

  it('run-shared-pipeline: a group, a version or the latest one, and values', async () => {
    const shared = (more: object) =>
      plan('run-shared-pipeline', { sharedPipelineIdPrefix: 'Checks', sharedPipeline: 'a/${t}', ...more });
    const called = { action: 'run-shared-pipeline', pipelineName: 'a/x', scalars: [['n', 7]], grids: [] };
    const setScalarVariables = [['n', '${n}']];
    for (const versionName of [undefined, '', '[Latest]', '[latest]']) {
      assert.deepEqual(await shared({ versionName, setScalarVariables }), {
        ...called,
        use: { prefix: 'Checks' },
      });
    }
    assert.deepEqual(await shared({ versionName: '1.10', setScalarVariables }), {
      ...called,
      use: { prefix: 'Checks', versionName: '1.10' },
    });
    await assert.rejects(shared({ versionName: '${t}' }), /"versionName" cannot be an expression/);
    await assert.rejects(shared({ sharedPipelineIdPrefix: '' }), /"sharedPipelineIdPrefix" is missing/);
    await assert.rejects(shared({ sharedPipelineIdPrefix: 'x'.repeat(101) }), /at most 100 characters/);
  });

  it('assert-table checks existence, columns and number of rows', async () => {
    const action = await plan('assert-table', {
      tableName: 't',
      tableMetadata: [['id', 'NUMBER', '10', '2']],
      rowCountComparisonType: 'Greater Than',
      rowCountValue: '3',
    });
    assert.ok(action.action === 'assert');
    const [exists, columns, count] = action.checks;
    assert.equal(exists?.verify([])?.message, 'the table "t" does not exist, but it should');
    assert.equal(columns?.verify([['ID', 'DECIMAL(10,2)']]), undefined);
    assert.equal(
      columns?.verify([
        ['id', 'VARCHAR'],
        ['more', 'DATE'],
      ])?.message,
      'the table "t": the column "id" is VARCHAR, not DECIMAL(10, 2) as expected; the column "more" is not expected',
    );
    assert.equal(count?.verify([[4]]), undefined);
    assert.equal(count?.verify([[3]])?.message, 'the table "t" has 3 rows, expected: Greater Than 3');
  });

  it('file-load and file-unload', async () => {
    const load = await plan('file-load', {
      source: 'a.csv',
      fileType: 'CSV',
      header: 'No',
      delimiter: 'Tab',
      targetTable: 't',
      createReplace: 'Append',
    });
    assert.ok(load.action === 'load-file');
    assert.equal(
      load.statement('/f/a.csv'),
      `INSERT INTO "main"."t" BY NAME\nSELECT * FROM read_csv('/f/a.csv', header = false, delim = '\t')`,
    );
    const unload = await plan('file-unload', { query: 'select 1;', target: 'b.json', fileType: 'json' });
    assert.ok(unload.action === 'unload-file');
    assert.deepEqual([unload.query, unload.format], ['select 1', { type: 'JSON' }]);
    await assert.rejects(
      plan('file-unload', { target: 'b', fileType: 'JSON' }),
      /"table" and "query" are both missing/,
    );
  });
});
