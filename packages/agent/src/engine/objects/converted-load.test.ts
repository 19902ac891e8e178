/** Avro and XLSX, which the agent converts before they are loaded. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import avro from 'avsc';
import { type FakeS3, startFakeS3 } from '../../../testing/fake-s3.ts';
import { openStoreScene, type StoreScene } from '../../../testing/store-scene.ts';
import { createWorkbook } from '../../../testing/workbook.ts';

let s3: FakeS3;
let scene: StoreScene;

beforeEach(async () => {
  s3 = await startFakeS3();
  const { accessKeyId, secretAccessKey } = s3;
  scene = await openStoreScene({ secrets: { lake: { accessKeyId, secretAccessKey } } });
});
afterEach(async () => {
  rmSync(join(scene.filesFolder, 'data'), { recursive: true, force: true });
  const left = readdirSync(scene.filesFolder);
  scene.dispose();
  await s3.close();
  assert.deepEqual(left, [], 'nothing of a file is left on the disk');
});

const inStore = (parameters: Readonly<Record<string, unknown>>) => ({
  endpoint: s3.endpoint,
  credentials: 'lake',
  targetTable: 't',
  ...parameters,
});
const load = (parameters: Readonly<Record<string, unknown>> = {}) =>
  scene.component(
    's3-load',
    inStore({ s3ObjectPrefix: `s3://${s3.bucket}/in/`, fileType: 'AVRO', ...parameters }),
  );

function putFile(path: string, bytes: Buffer): void {
  mkdirSync(join(scene.filesFolder, 'data'), { recursive: true });
  writeFileSync(join(scene.filesFolder, path), bytes);
}

const orders = {
  type: 'record',
  name: 'Order',
  fields: [
    { name: 'Id', type: 'long' },
    { name: 'note', type: ['null', 'string'] },
    { name: 'day', type: { type: 'int', logicalType: 'date' } },
    { name: 'lines', type: { type: 'array', items: { type: 'map', values: 'int' } } },
  ],
} as const;

async function encode(rows: readonly unknown[]): Promise<Buffer> {
  const schema = orders as unknown as Parameters<typeof avro.Type.forSchema>[0];
  const encoder = new avro.streams.BlockEncoder(schema, { codec: 'deflate' });
  for (const row of rows) encoder.write(row);
  encoder.end();
  return buffer(encoder);
}

const row = (Id: number, note: string | null = null) => ({ Id, note, day: 20_454, lines: [{ a: 1 }] });

describe('Avro', () => {
  it('is loaded by the names of its fields, each object once', async () => {
    await scene.rows('create table t (id integer, note varchar, day date, lines json)');
    s3.put('in/a.avro', await encode([row(1, 'x'), row(2)]));
    s3.put('in/b.avro.gz', gzipSync(await encode([row(3, '')])));
    const first = await load({ matchByColumnName: 'Case Insensitive' });
    assert.deepEqual([first.status, first.message], ['SUCCESS', '3 rows from 2 objects']);
    assert.deepEqual(await scene.rows('select id, note, day::varchar, lines::varchar from t order by id'), [
      [1, 'x', '2026-01-01', '[{"a":1}]'],
      [2, null, '2026-01-01', '[{"a":1}]'],
      [3, '', '2026-01-01', '[{"a":1}]'],
    ]);
    assert.match((await load({ matchByColumnName: 'Case Insensitive' })).message, /has all 2 objects/);
  });

  it('goes whole to a column of the type VARIANT', async () => {
    await scene.rows('create table t (doc json)');
    s3.put('in/a.avro', await encode([row(1)]));
    assert.equal((await load()).status, 'SUCCESS');
    assert.deepEqual(await scene.rows("select doc->>'Id', doc->>'day' from t"), [['1', '2026-01-01']]);
  });

  it('names the row and the column of what does not fit, or leaves it out', async () => {
    await scene.rows('create table t (id integer, note integer)');
    s3.put('in/a.avro', await encode([row(1, '7'), row(2, 'seven'), row(3)]));
    const strict = await load({ matchByColumnName: 'Case Insensitive' });
    assert.equal(strict.status, 'FAILED');
    assert.match(strict.message, /in\/a\.avro, row 2: "seven" does not fit the column "note" \(INTEGER\)/);
    const tolerant = await load({ matchByColumnName: 'Case Insensitive', onError: 'Continue' });
    assert.match(tolerant.message, /^2 rows from 1 object\n1 fault:\n.*row 2/);
  });

  it('that is damaged is named, and nothing is loaded', async () => {
    await scene.rows('create table t (id integer)');
    s3.put('in/a.avro', await encode([row(1)]));
    const bytes = await encode([row(2)]);
    s3.put('in/b.avro', bytes.subarray(0, -20));
    const { status, message } = await load({ matchByColumnName: 'Case Insensitive' });
    assert.equal(status, 'FAILED');
    assert.match(message, /"s3:\/\/lake-of-tests\/in\/b\.avro" was not loaded: it ends within the block/);
    assert.deepEqual(await scene.rows('select count(*)::integer from t'), [[0]]);
  });

  it('of the files folder becomes a table with the types of its schema', async () => {
    putFile('data/a.avro', await encode([row(1, 'x')]));
    const parameters = { source: 'data/a.avro', fileType: 'AVRO', targetTable: 't' };
    const { status, message, rowCount } = await scene.component('file-load', parameters);
    assert.deepEqual([status, rowCount], ['SUCCESS', 1], message);
    assert.deepEqual(await scene.rows('select column_name, column_type from (describe t)'), [
      ['Id', 'BIGINT'],
      ['note', 'VARCHAR'],
      ['day', 'DATE'],
      ['lines', 'JSON'],
    ]);
    const columns = [['id', 'NUMBER']];
    const wrong = await scene.component('file-load', { ...parameters, columns });
    assert.match(wrong.message, /no record has the member "id"; did you mean "Id"\?/);
  });
});

const sheetRow = (at: number, ...cells: string[]) =>
  `<row r="${at}">${cells.map((cell) => (Number.isNaN(Number(cell)) ? `<c t="inlineStr"><is><t>${cell}</t></is></c>` : `<c><v>${cell}</v></c>`)).join('')}</row>`;

const workbook = () =>
  createWorkbook({
    sheets: {
      Orders:
        sheetRow(1, 'id', 'Customer', 'amount') +
        sheetRow(2, '1', 'Ann', '2.5') +
        sheetRow(4, '2', 'Bob', '7'),
      Customers: sheetRow(1, 'name', 'city') + sheetRow(2, 'Ann', 'Rome'),
      Empty: '',
    },
  });

describe('XLSX', () => {
  it('a sheet becomes a table', async () => {
    putFile('data/a.xlsx', workbook());
    const parameters = { source: 'data/a.xlsx', fileType: 'XLSX', targetTable: 't' };
    assert.equal((await scene.component('file-load', parameters)).status, 'SUCCESS');
    assert.deepEqual(await scene.rows('select * from t order by id'), [
      [1, 'Ann', 2.5],
      [2, 'Bob', 7],
    ]);
    const ranged = { ...parameters, sheet: 'customers', cellRange: 'B1:B2', header: 'No' };
    assert.equal((await scene.component('file-load', ranged)).status, 'SUCCESS');
    assert.deepEqual(await scene.rows('select "B" from t'), [['city'], ['Rome']]);
    const empty = await scene.component('file-load', { ...parameters, sheet: 'Empty' });
    assert.match(empty.message, /"data\/a\.xlsx" was not loaded: there is no value in its cells/);
    const wrong = await scene.component('file-load', { ...parameters, cellRange: 'B2:A1' });
    assert.match(wrong.message, /"cellRange" is "B2:A1", which is no range of cells: write it as A2:F100/);
  });

  it('excel-query loads columns and rows of a sheet in a store', async () => {
    s3.put('in/a.xlsx', workbook());
    const query = (parameters: object) =>
      scene.component('excel-query', inStore({ storageUrl: `s3://${s3.bucket}/in/a.xlsx`, ...parameters }));
    const basic = await query({
      dataSource: 'Orders',
      dataSelection: ['customer', 'amount'],
      dataSourceFilter: [['amount', 'Is', 'Greater than', '3']],
    });
    assert.deepEqual([basic.status, basic.rowCount], ['SUCCESS', 1], basic.message);
    assert.deepEqual(await scene.rows('select * from t'), [['Bob', 7]]);
    assert.match(
      (await query({ dataSelection: ['price'] })).message,
      /"price", which is not a column of the sheet: it has id, Customer, amount/,
    );
    const sqlQuery =
      'SELECT o."id", c.city FROM "Orders" AS o LEFT JOIN customers AS c ON c.name = o."Customer"';
    const advanced = await query({ basicAdvancedMode: 'Advanced', sqlQuery });
    assert.equal(advanced.status, 'SUCCESS', advanced.message);
    assert.deepEqual(await scene.rows('select * from t order by id'), [
      [1, 'Rome'],
      [2, null],
    ]);
    for (const [bad, words] of [
      ['SELECT 1', /names 0 tables: it must read from 1 to 50 sheets/],
      ['SELECT * FROM "Sheet9"', /reads none of the sheets of the file: it names Sheet9/],
      ['DROP TABLE t', /SELECT/],
    ] as const)
      assert.match((await query({ basicAdvancedMode: 'Advanced', sqlQuery: bad })).message, words);
  });
});
