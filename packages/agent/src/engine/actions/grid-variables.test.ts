// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { grid, print, renderOrchestration, start } from '../run/pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
  await fixture.connection.run(
    "CREATE TABLE orders (ID INTEGER, NAME TEXT, AMOUNT DECIMAL(12, 2), MOMENT TIMESTAMP WITH TIME ZONE, DATA JSON); INSERT INTO orders VALUES (1, 'a', 1.5, NULL, NULL), (2, NULL, 2, NULL, NULL)",
  );
});
afterEach(() => fixture.dispose());

const tables = grid({ name: 'TEXT', number: 'NUMBER', rest: 'TEXT' }, [
  ['x', '1', 'r'],
  ['y', '2', 's'],
  ['z', '', 't'],
]);

/** Runs one component and prints the grid g. */
async function change(type: string, parameters: object, variables: object = {}) {
  await fixture.publish({
    'main.orch.yaml': renderOrchestration(
      {
        Start: start('It'),
        It: { type, parameters: { componentName: 'It', ...parameters }, transitions: { success: ['Print'] } },
        Print: print('g'),
      },
      { g: tables, ...variables },
    ),
  });
  const { status, message } = await fixture.run('main');
  return status === 'SUCCESS' ? fixture.lines.at(-1)?.replace('g = [name, number, rest] ', '') : message;
}

describe('query-to-grid', () => {
  const query = { mode: 'Advanced', gridVariable: 'g' };

  it('replaces the rows by those of a query, by pairs or by names that are the same', async () => {
    const pairs = await change('query-to-grid', {
      ...query,
      query: 'SELECT id, name AS N, id > 1 AS more FROM orders ORDER BY id DESC;',
      gridVariableMapping: [
        ['ID', 'number'],
        ['n', 'name'],
        ['more', 'rest'],
      ],
    });
    assert.equal(pairs, '[null,2,"true"] ["a",1,"false"]');
    const names = await change('query-to-grid', {
      ...query,
      query: "SELECT 'b' AS NAME",
      gridVariableMapping: ['NAME'],
    });
    assert.equal(names, '["b",null,null]');
    const expressions = await change('query-to-grid', {
      ...query,
      query: "SELECT COUNT(*), nvl(max(name),\n'x') FROM orders",
      gridVariableMapping: [
        ['COUNT(*)', 'number'],
        ["NVL(MAX(NAME), 'x')", 'name'],
      ],
    });
    assert.equal(expressions, '["a",2,null]');
  });

  it('Basic: reads a table with conditions and an order', async () => {
    const shown = await change('query-to-grid', {
      mode: 'Basic',
      database: '[Environment Default]',
      schema: '[Environment Default]',
      table: 'orders',
      tableColumns: ['ID'],
      filterConditions: [['ID', 'Is', 'Greater than', '0']],
      combineConditions: 'And',
      orderBy: ['ID'],
      sort: 'Descending',
      limit: '1',
      gridVariable: 'g',
      gridVariableMapping: [['ID', 'number']],
    });
    assert.equal(shown, '[null,2,null]');
  });

  it('fails over 100,000 rows, and names a column that is missing', async () => {
    const mapping = { gridVariableMapping: [['i', 'number']] };
    assert.match(
      (await change('query-to-grid', { ...query, query: 'SELECT i FROM range(100000) r(i)', ...mapping })) ??
        '',
      /more than 10000 rows, which is the limit of a grid: filter them or aggregate/,
    );
    assert.match(
      (await change('query-to-grid', { ...query, query: 'SELECT 1 AS j', ...mapping })) ?? '',
      /the query returned no column "i": use one of j/,
    );
    assert.match(
      (await change('query-to-grid', {
        ...query,
        query: 'SELECT 1 AS i',
        gridVariableMapping: [['i', 'nr']],
      })) ?? '',
      /^not started: .*the grid variable "g" has no column "nr": use one of name, number, rest/,
    );
  });
});

describe('table-metadata-to-grid', () => {
  const table = { database: '[Environment Default]', schema: '[Environment Default]', gridVariable: 'g' };

  it('gives name, type, size and precision as create-table reads them', async () => {
    const shown = await change('table-metadata-to-grid', {
      ...table,
      targetTable: 'ORDERS',
      gridVariableMapping: [
        ['Column Name', 'name'],
        ['Size', 'number'],
        ['Data Type', 'rest'],
      ],
    });
    assert.equal(
      shown,
      '["ID",null,"INTEGER"] ["NAME",null,"VARCHAR"] ["AMOUNT",12,"NUMBER"] ["MOMENT",null,"TIMESTAMP_TZ"] ["DATA",null,"VARIANT"]',
    );
  });

  it('takes a list of columns of the grid, or of properties', async () => {
    await fixture.connection.run('CREATE TABLE one (a DECIMAL(5, 1))');
    const parameters = { ...table, targetTable: 'one' };
    const gridColumns = await change('table-metadata-to-grid', {
      ...parameters,
      gridVariableMapping: ['name', 'rest', 'number', ''],
    });
    assert.equal(gridColumns, '["a",5,"NUMBER"]');
    const properties = await change('table-metadata-to-grid', {
      ...parameters,
      gridVariableMapping: ['Column Name', 'Precision'],
    });
    assert.equal(properties, '["a",1,null]');
  });

  it('fails without the table, and over an unknown property', async () => {
    const mapping = { gridVariableMapping: [['Column Name', 'name']] };
    assert.match(
      (await change('table-metadata-to-grid', { ...table, targetTable: 'nix', ...mapping })) ?? '',
      /there is no table "nix"/,
    );
    assert.match(
      (await change('table-metadata-to-grid', {
        ...table,
        targetTable: 'orders',
        gridVariableMapping: [['Colour', 'name']],
      })) ?? '',
      /the property "Colour", which a column does not have: use one of Column Name/,
    );
  });
});

describe('append-to-grid', () => {
  const append = (operation: string, valuesGrid: unknown) =>
    change('append-to-grid', { operation, targetGridVariable: 'g', valuesGrid });

  it('adds rows, or replaces them', async () => {
    assert.equal(
      await append('Append', [['${"v"}', '4', 'u']]),
      '["x",1,"r"] ["y",2,"s"] ["z",null,"t"] ["v",4,"u"]',
    );
    assert.equal(await append('Overwrite', [['v'], ['w']]), '["v",null,null] ["w",null,null]');
    assert.equal(
      await append('Overwrite', { fromGrid: { variable: 'g', columns: ['rest', '', 'name'] } }),
      '["r",null,"x"] ["s",null,"y"] ["t",null,"z"]',
    );
  });

  it('sees the expressions in the default of the grid', async () => {
    const g = grid({ name: 'TEXT', number: 'NUMBER', rest: 'TEXT' }, [['${"a" + 1}', '1', '']]);
    const parameters = { operation: 'Append', targetGridVariable: 'g', valuesGrid: [['b']] };
    assert.equal(await change('append-to-grid', parameters, { g }), '["a1",1,""] ["b",null,null]');
  });

  it('keeps the limits of grids', async () => {
    assert.match(
      (await append('Append', [['a', '1', 'b', 'c']])) ?? '',
      /row 4 .* has 4 cells, but the grid has 3/,
    );
    assert.match((await append('Append', [['a', 'many']])) ?? '', /"number" .* is NUMBER, but "many" is not/);
    assert.match(
      (await append('Union', [['a']])) ?? '',
      /"operation" is "Union", which is not a known value/,
    );
  });
});

describe('remove-from-grid', () => {
  const remove = (operation: string, keyColumns: string[], valuesGrid: unknown) =>
    change('remove-from-grid', { operation, targetGridVariable: 'g', keyColumns, valuesGrid });

  it('removes the rows with a key, or all others', async () => {
    assert.equal(await remove('In', ['name'], [['y'], ['q']]), '["x",1,"r"] ["z",null,"t"]');
    assert.equal(await remove('Not In', ['name'], [['y']]), '["y",2,"s"]');
    assert.equal(await remove('In', ['number'], [['2.0'], ['']]), '["x",1,"r"]');
    assert.equal(
      await remove(
        'In',
        ['rest', 'name'],
        [
          ['r', 'x'],
          ['s', 'x'],
        ],
      ),
      '["y",2,"s"] ["z",null,"t"]',
    );
    assert.equal(await remove('In', ['rest'], [['x', '1', 'r']]), '["y",2,"s"] ["z",null,"t"]');
    assert.equal(await remove('In', ['name'], []), '["x",1,"r"] ["y",2,"s"] ["z",null,"t"]');
  });

  it('refuses keys that the grid lacks, and values of another width', async () => {
    assert.match(
      (await remove('In', ['nam'], [['y']])) ?? '',
      /has no column "nam": use one of name, number, rest/,
    );
    assert.match(
      (await remove('In', ['name'], [['y', '1']])) ?? '',
      /row 1 of "valuesGrid" has 2 values, but there are 1/,
    );
  });
});
