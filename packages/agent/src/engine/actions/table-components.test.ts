// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { SqlRules } from '@headgate/pipelines';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { grid, renderOrchestration, start, text } from '../run/pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

const place = { database: '[Environment Default]', schema: '[Environment Default]' };

/** Runs one component; returns the message of a failure, or of its step. */
async function run(type: string, parameters: object, variables: object = {}, sql: SqlRules = {}) {
  await fixture.publish({
    'main.orch.yaml': renderOrchestration({ Start: start('It'), It: { type, parameters } }, variables),
  });
  const { status, message } = await fixture.run('main', { sql });
  const step = [...fixture.steps.values()].findLast(({ name }) => name === 'It');
  return `${status}: ${message ?? step?.message ?? ''}`;
}
const describeColumns = () =>
  fixture.rows(
    "SELECT column_name, data_type, is_nullable, column_default, comment FROM duckdb_columns() WHERE table_name = 't' ORDER BY column_index",
  );

describe('create-table', () => {
  it('reads columns of nine cells, as create-table-v2 writes them', async () => {
    const parameters = {
      componentName: 'It',
      createMethod: 'Create If Not Exists',
      ...place,
      table: 't',
      snowflakeTableType: 'Transient',
      columns: [
        ['ID', 'NUMBER', '38', '0', '', 'Yes', 'Yes', '', 'the key'],
        ['NAME', 'VARCHAR', '100', '', "'none'", 'No', 'No', 'hidden', ''],
        ['MOMENT', 'TIMESTAMP_NTZ', '', '', 'CURRENT_TIMESTAMP()', 'No', 'No', '', null],
      ],
      defaultDdlCollation: null,
      primaryKeys: ['ID'],
      clusteringKeys: ['NAME'],
      dataRetentionTimeInDays: '1',
      comment: 'all of it',
    };
    assert.match(
      await run('create-table-v2', parameters),
      /^FAILED: .*the masking policy "hidden" of the column "NAME" changes who may read/,
    );
    const outcome = await run('create-table-v2', parameters, {}, { ignoresAccess: true });
    assert.equal(
      outcome,
      'SUCCESS: the masking policy "hidden" of the column "NAME" has no effect here\nno effect here: clusteringKeys, dataRetentionTimeInDays',
    );
    const [id, name, at] = await describeColumns();
    assert.deepEqual(id, ['ID', 'DECIMAL(38,0)', false, null, '[PRIMARY KEY][UNIQUE id] the key']);
    assert.deepEqual(name?.slice(0, 3), ['NAME', 'VARCHAR', true]);
    assert.deepEqual(at?.slice(0, 2), ['MOMENT', 'TIMESTAMP']);
    await fixture.connection.run('INSERT INTO t (ID) VALUES (1)');
    assert.deepEqual(await fixture.rows('SELECT NAME, MOMENT IS NOT NULL FROM t'), [['none', true]]);
    assert.deepEqual(await fixture.rows("SELECT comment FROM duckdb_tables() WHERE table_name = 't'"), [
      ['all of it'],
    ]);
  });

  it('refuses texts that are longer than their column', async () => {
    const outcome = await run('create-table', {
      createReplace: 'Replace',
      ...place,
      newTableName: 't',
      columns: [
        ['code', 'VARCHAR', '3', '', '', 'No', 'No', ''],
        ['free', 'VARCHAR', '', '', '', 'No', 'No', ''],
      ],
    });
    assert.equal(outcome, 'SUCCESS: ');
    await fixture.connection.run("INSERT INTO t VALUES ('abc', repeat('x', 1000))");
    await assert.rejects(
      fixture.connection.run("INSERT INTO t (code) VALUES ('abcd')"),
      /4 characters, and the column is VARCHAR\(3\)/,
    );
  });

  it('has defaults that are expressions', async () => {
    await fixture.connection.run('CREATE SEQUENCE ids START WITH 5');
    const row = (name: string, type: string, preset: string) => [name, type, '', '', preset, 'No', 'No', ''];
    const outcome = await run('create-table', {
      createReplace: 'Replace',
      ...place,
      newTableName: 't',
      columns: [
        row('id', 'NUMBER', 'ids.NEXTVAL'),
        row('uuid', 'VARCHAR', 'UUID_STRING()'),
        row('word', 'VARCHAR', '1 + 1'),
        row('call', 'VARCHAR', 'Call me (maybe)'),
        row('sum', 'NUMBER', '1 + 1'),
        row('truth', 'BOOLEAN', 'true'),
        row('day', 'DATE', '2024-01-31'),
        row('now', 'TIMESTAMP', 'GETDATE()'),
        row('given', 'NUMBER', ''),
      ],
    });
    assert.equal(outcome, 'SUCCESS: ');
    await fixture.connection.run('INSERT INTO t (given) VALUES (1)');
    assert.deepEqual(
      await fixture.rows(
        'SELECT id, length(uuid), word, call, sum, truth, CAST(day AS VARCHAR), now IS NOT NULL FROM t',
      ),
      [[5, 36, '1 + 1', 'Call me (maybe)', 2, true, '2024-01-31', true]],
    );
  });

  it('reads columns of eight and of five cells', async () => {
    await run('create-table', {
      createReplace: 'Replace',
      ...place,
      newTableName: 't',
      tableType: 'Permanent',
      columns: [['a', 'BOOLEAN', '', '', '', 'No', 'No', 'whether']],
    });
    assert.deepEqual((await describeColumns())[0]?.[4], 'whether');
    await run('create-table-dl', {
      createMethod: 'Replace',
      table: 't',
      tableMetadata: [['b', 'DATE', '', '', 'when']],
      tableType: 'Managed',
    });
    assert.deepEqual(await describeColumns(), [['b', 'DATE', true, null, 'when']]);
  });

  it('takes its columns from a grid, in which an empty name is an empty cell', async () => {
    const columns = ['column_name', 'type', 'size', 'precision', 'default_value', 'not_null', 'unique', ''];
    const outcome = await run(
      'create-table',
      {
        createReplace: 'Create',
        newTableName: '${name}',
        columns: { fromGrid: { variable: 'metadata', columns } },
        primaryKeys: { fromGrid: { variable: 'keys', columns: ['key_column'] } },
      },
      {
        name: text('t'),
        metadata: grid(Object.fromEntries(columns.slice(0, -1).map((column) => [column, 'TEXT'])), [
          ['ID', 'NUMBER', '38', '0', '', 'Yes', 'No'],
        ]),
        keys: grid({ key_column: 'TEXT' }, [['ID']]),
      },
    );
    assert.equal(outcome, 'SUCCESS: ');
    assert.deepEqual(await describeColumns(), [['ID', 'DECIMAL(38,0)', false, null, '[PRIMARY KEY]']]);
  });

  it('Temporary replaces the table of an earlier run, and says that it stays', async () => {
    const parameters = {
      createReplace: 'Create',
      newTableName: 't',
      tableType: 'Temporary',
      columns: [['a', 'DATE']],
    };
    for (const _ of [1, 2])
      assert.equal(
        await run('create-table', parameters),
        'SUCCESS: the table is permanent here and stays after the run',
      );
  });
});

describe('delete-tables and truncate-table', () => {
  beforeEach(() =>
    fixture.connection.run('CREATE TABLE a AS SELECT 1 AS x; CREATE TABLE b AS SELECT 1 AS x'),
  );
  const listTables = async () =>
    (await fixture.rows('SELECT table_name FROM duckdb_tables() ORDER BY ALL')).flat();

  it('drop tables of a list or a grid, and pass over missing ones if they may', async () => {
    const fromGrid = { variable: 'g', columns: ['table'] };
    const variables = {
      g: grid({ schema: 'TEXT', table: 'TEXT' }, [
        ['s', 'a'],
        ['s', 'nix'],
      ]),
    };
    const outcome = await run(
      'delete-tables',
      { ...place, targetTable: { fromGrid }, ignoreMissing: 'Yes' },
      variables,
    );
    assert.equal(outcome, 'SUCCESS: ');
    assert.deepEqual(await listTables(), ['b']);
    assert.match(
      await run('delete-tables', { targetTable: ['a'], ignoreMissing: 'No' }),
      /^FAILED: .*"It" failed/,
    );
    assert.equal(await run('delete-tables', { targetTable: 'b' }), 'SUCCESS: ');
    assert.deepEqual(await listTables(), []);
  });

  it('empty tables', async () => {
    const outcome = await run('truncate-table', { warehouse: 'WH', ...place, targetTable: ['a', 'b'] });
    assert.equal(outcome, 'SUCCESS: no effect here: warehouse');
    assert.deepEqual(await fixture.rows('SELECT (SELECT count(*) FROM a) + (SELECT count(*) FROM b)'), [[0]]);
  });

  it('refuse an empty list', async () => {
    for (const type of ['delete-tables', 'truncate-table'])
      assert.match(await run(type, { targetTable: [] }), /"targetTable" is empty/);
    const fromGrid = { variable: 'g', columns: ['table'] };
    const outcome = await run(
      'delete-tables',
      { targetTable: { fromGrid } },
      { g: grid({ table: 'TEXT' }, []) },
    );
    assert.equal(outcome, 'SUCCESS: the grid of "targetTable" is empty: nothing to do');
  });
});

describe('assert-table', () => {
  it('needs no number of rows', async () => {
    await fixture.connection.run('CREATE TABLE a AS SELECT 1 AS x');
    const parameters = { ...place, tableName: 'a', exists: 'Yes', rowCountComparisonType: 'Equal To' };
    assert.equal(await run('assert-table', { ...parameters, rowCountValue: '' }), 'SUCCESS: ');
    assert.match(
      await run('assert-table', { ...parameters, rowCountValue: '2' }),
      /has 1 rows, expected: Equal To 2/,
    );
    assert.match(await run('assert-table', { ...parameters, tableName: 'nix' }), /"nix" does not exist/);
  });
});

describe('components without effect', () => {
  it('succeed and say so', async () => {
    assert.equal(
      await run('alter-warehouse', {
        warehouse: 'WH',
        commandType: 'Set',
        properties: [['WAREHOUSE_SIZE', 'LARGE']],
      }),
      'SUCCESS: alter-warehouse has no effect here, because the embedded warehouse has no compute of its own\nno effect here: warehouse, commandType, properties',
    );
    for (const type of ['alter-table', 'create-file-format', 'vacuum', 'analyze-tables'])
      assert.match(await run(type, { ...place }), /^SUCCESS: .* has no effect here, because/);
  });

  it('but alter-table refuses what it would have to do', async () => {
    assert.match(
      await run('alter-table', { targetTable: 't', columnsToAdd: [['a', 'DATE']] }),
      /"columnsToAdd" is not supported, only the search optimization: write ALTER TABLE in a sql-script/,
    );
  });

  it('but fail by name if later rows would be wrong', async () => {
    const expected = {
      'create-stream': /does not record changes: compare the rows with detect-changes/,
      begin: /put the statements into one sql-script with BEGIN and COMMIT/,
      'unknown-orchestration': /\(once "Excel"\) is an unmigrated component/,
    };
    for (const [type, message] of Object.entries(expected))
      assert.match(await run(type, { '1': 'It', '20': 'Excel' }), message);
  });
});
