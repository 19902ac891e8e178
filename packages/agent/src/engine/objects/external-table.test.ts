import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type FakeS3, startFakeS3 } from '../../../testing/fake-s3.ts';
import { openStoreScene, type StoreScene } from '../../../testing/store-scene.ts';

let s3: FakeS3;
let scene: StoreScene;

beforeEach(async () => {
  s3 = await startFakeS3();
  const { accessKeyId, secretAccessKey } = s3;
  scene = await openStoreScene({ clouds: { aws: { accessKeyId, secretAccessKey } } });
});
afterEach(async () => {
  const left = readdirSync(scene.filesFolder);
  scene.dispose();
  await s3.close();
  assert.deepEqual(left, [], 'nothing of an object is left on the disk');
});

const create = (parameters: Readonly<Record<string, unknown>> = {}) =>
  scene.component('create-external-table-sf', {
    ...{ newTableName: 'landed', location: `s3://${s3.bucket}/in/`, endpoint: s3.endpoint },
    ...{ stage: '[Custom]', format: '[Custom]', fileType: 'CSV' },
    ...parameters,
  });
const refresh = (parameters: Readonly<Record<string, unknown>> = {}) =>
  scene.component('refresh-external-table', { targetTable: 'landed', ...parameters });

describe('create-external-table', () => {
  it('has the rows of CSV files as objects, and columns that are computed of them', async () => {
    s3.put('in/2030-01-02/a.csv', 'id,name\n1,"x, y"\n2,\n');
    s3.put('in/2030-01-03/b.csv', gzipSync('id,name\n3,z\n'));
    s3.put('in/readme.txt', 'no');
    const { status, message } = await create({
      ...{ pattern: '.*[.]csv', skipHeader: '1', fieldOptionallyEnclosed: '"' },
      partitionColumns: [
        ['day', 'DATE', "SPLIT_PART(METADATA$FILENAME, '/', 2)"],
        ['id', 'NUMBER', '9', '0', 'VALUE:c1::int'],
        ['line', 'NUMBER', 'METADATA$FILE_ROW_NUMBER'],
      ],
    });
    assert.deepEqual([status, message], ['SUCCESS', '3 rows from 2 objects']);
    assert.deepEqual(
      await scene.rows('select day::varchar, id, line, value::varchar from landed order by id'),
      [
        ['2030-01-02', 1, 1, '{"c1":"1","c2":"x, y"}'],
        ['2030-01-02', 2, 2, '{"c1":"2","c2":null}'],
        ['2030-01-03', 3, 1, '{"c1":"3","c2":"z"}'],
      ],
    );
    const other = await create();
    assert.equal(other.status, 'FAILED');
    assert.match(other.message, /"landed" already exists/);
    const kept = await create({ createReplace: 'Create if not exists' });
    assert.deepEqual([kept.status, kept.message], ['SUCCESS', 'the table exists and stays as it is']);
  });

  it('reads the files of a stage again when it is refreshed', async () => {
    s3.put('in/orders/a.json', '{"id": 1}\n{"id": 2}\n');
    s3.put('in/others/b.json', '{"id": 9}\n');
    await scene.component('sql-script', {
      sqlScript: `create stage "Landing" url = 's3://${s3.bucket}/in/' endpoint = '${s3.endpoint}'`,
    });
    const made = await create({
      ...{
        location: undefined,
        endpoint: undefined,
        stage: 'Landing',
        relativePath: 'orders/',
        fileType: 'JSON',
      },
    });
    assert.deepEqual([made.status, made.message], ['SUCCESS', '2 rows from 1 object']);
    s3.objects.delete('in/orders/a.json');
    s3.put('in/orders/c.json', '{"id": 3}\n');
    const ids = () => scene.rows("select (value ->> 'id')::integer from landed order by 1");
    assert.deepEqual(await ids(), [[1], [2]]);
    const refreshed = await refresh();
    assert.deepEqual([refreshed.status, refreshed.rowCount], ['SUCCESS', 1]);
    assert.deepEqual(await ids(), [[3]]);
    s3.objects.delete('in/orders/c.json');
    assert.match((await refresh()).message, /no object that begins with .*in\/orders\/: the table is empty/);
    assert.deepEqual(await ids(), []);
  });

  it('is as it was if a file cannot be read', async () => {
    s3.put('in/a.csv', '1,x\n');
    assert.equal((await create()).status, 'SUCCESS');
    s3.put('in/b.csv', '2,y\n3\n');
    const { status, message } = await refresh();
    assert.equal(status, 'FAILED');
    assert.match(
      message,
      /in\/b.csv, line 2: it has 1 values, and 2 columns .*the table was not changed: correct the object/,
    );
    assert.deepEqual(await scene.rows("select value ->> 'c2' from landed"), [['x']]);
    assert.equal((await create({ createReplace: 'Replace' })).status, 'FAILED');
    assert.deepEqual(await scene.rows("select value ->> 'c2' from landed"), [['x']]);
  });

  it('says what is wrong', async () => {
    await scene.rows('create table plain (id integer)');
    const { status, message } = await refresh({ targetTable: 'plain' });
    assert.equal(status, 'FAILED');
    assert.match(message, /"plain" is not an external table: make it by create-external-table/);
    assert.match((await create({ location: undefined })).message, /"location" is missing/);
    assert.match(
      (await create({ partitionColumns: [['value', 'DATE', '1']] })).message,
      /"partitionColumns" has "value", which is a column already/,
    );
  });
});
