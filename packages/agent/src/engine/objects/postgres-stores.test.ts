/** Files and objects in projects whose warehouse is PostgreSQL. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import avro from 'avsc';
import { type FakeS3, startFakeS3 } from '../../../testing/fake-s3.ts';
import { createTestPostgres } from '../../../testing/postgres.ts';
import { openStoreScene, type StoreScene } from '../../../testing/store-scene.ts';

const postgres = await createTestPostgres();
const connection = await postgres.driver.connect(postgres.target);
after(async () => {
  await connection.close();
  await postgres.drop();
});
const request = { warehouse: 'POSTGRES', defaults: { database: 'shop', schema: 'wh' } };

let s3: FakeS3;
let scene: StoreScene;
beforeEach(async () => {
  s3 = await startFakeS3();
  const { accessKeyId, secretAccessKey } = s3;
  scene = await openStoreScene({
    clouds: { aws: { accessKeyId, secretAccessKey } },
    served: { warehouse: connection, request },
  });
  await connection.execute('drop table if exists t, headgate_loaded_objects');
});
afterEach(async () => {
  const left = readdirSync(scene.filesFolder).filter((name) => name.startsWith('.'));
  scene.dispose();
  await s3.close();
  assert.deepEqual(left, [], 'nothing of an object is left on the disk');
});

const load = (parameters: Readonly<Record<string, unknown>> = {}) =>
  scene.component('s3-load', {
    ...{ s3ObjectPrefix: `s3://${s3.bucket}/in/`, endpoint: s3.endpoint, targetTable: 't', fileType: 'CSV' },
    ...parameters,
  });
const rows = async (sql = 'select * from t order by id') => (await connection.query(sql, 1_000)).rows;

describe('s3-load into PostgreSQL', () => {
  it('sends plain CSV as it is, each object once', async () => {
    await connection.execute(
      'create table t (id integer, name varchar(5), price numeric(9, 2), at timestamptz)',
    );
    s3.put('in/a.csv', 'id,name,price,at\n1,"a,""b",1.50,2030-01-02 03:04:05+01\n2,,,\n');
    s3.put('in/b.csv', gzipSync('id,name,price,at\n3,"",7,\n'));
    const options = { fieldOptionallyEnclosed: '"', skipHeader: '1' };
    const { status, message, rowCount } = await load(options);
    assert.deepEqual([status, message, rowCount], ['SUCCESS', '3 rows from 2 objects', 3]);
    assert.deepEqual(await rows(), [
      [1, 'a,"b', 1.5, '2030-01-02T02:04:05.000Z'],
      [2, null, null, null],
      [3, '', 7, null],
    ]);
    const again = await load(options);
    assert.deepEqual([again.status, again.rowCount], ['SUCCESS', 0]);
    assert.match(again.message, /the table has all 2 objects that match/);
    await connection.execute('truncate t');
    assert.equal((await load(options)).rowCount, 3, 'an empty table has no objects');
  });

  it('reads words for NULL, escapes and separators as the component says', async () => {
    await connection.execute('create table t (id integer, name text)');
    s3.put('in/a.csv', '1|~x\\~y|z~\n2|NULL\n3|~NULL~\n4|\n');
    const options = {
      fieldDelimiter: '|',
      fieldOptionallyEnclosed: '~',
      escape: '\\\\',
      emptyFieldAsNull: 'No',
    };
    assert.equal((await load({ ...options, nullIf: [['NULL']] })).status, 'SUCCESS');
    assert.deepEqual(await rows(), [
      [1, 'x~y|z'],
      [2, null],
      [3, null],
      [4, ''],
    ]);
  });

  it('leaves out the header of a file whose lines end by CR', async () => {
    await connection.execute('create table t (id integer, name text)');
    s3.put('in/a.csv', 'id,name\r1,x\r2,y\r');
    const { status, message, rowCount } = await load({ skipHeader: '1' });
    assert.deepEqual([status, message, rowCount], ['SUCCESS', '2 rows from 1 object', 2]);
  });

  it('names the line, the column and the value of a fault, and loads nothing', async () => {
    await connection.execute('create table t (id integer, name varchar(3))');
    s3.put('in/a.csv', '1,x\n');
    s3.put('in/b.csv', 'id,name\n2,y\nthree,z\n');
    const { status, message } = await load({ skipHeader: '0' });
    assert.equal(status, 'FAILED');
    assert.match(message, /in\/b\.csv, line 1: "id" does not fit the column "id"/);
    assert.deepEqual(await rows(), []);
    s3.put('in/a.csv', 'id,name\n1,x\n');
    const second = await load({ skipHeader: '1' });
    assert.match(
      second.message,
      /b\.csv, line 3: "three" does not fit the column "id" \(invalid input syntax/,
    );
    s3.put('in/b.csv', 'id,name\n2,long\n');
    assert.match(
      (await load({ skipHeader: '1' })).message,
      /b\.csv, line 2: "long" does not fit the column "name"/,
    );
    s3.put('in/b.csv', 'id,name\n2,y,9\n');
    assert.match(
      (await load({ skipHeader: '1' })).message,
      /b\.csv, line 2: extra data after last expected column/,
    );
    assert.deepEqual(await rows(), []);
  });

  it('leaves out and names what does not fit, if it shall', async () => {
    await connection.execute('create table t (id integer, day date, name varchar(3))');
    s3.put(
      'in/a.csv',
      '1,31/12/2026,x\n2,31/02/2026,y\n3,,long\nfour,01/01/2026,z\n5,02/01/2026,\\.\n6,01/01/2026\n',
    );
    const { status, message, rowCount } = await load({ onError: 'Continue', dateFormat: 'DD/MM/YYYY' });
    assert.deepEqual([status, rowCount], ['SUCCESS', 2]);
    assert.match(message, /^2 rows from 1 object\n4 faults:/);
    assert.match(message, /a\.csv, row 2: "31\/02\/2026" does not fit the column "day" \(DATE\)/);
    assert.match(message, /a\.csv, row 3: "long" does not fit the column "name" \(VARCHAR\(3\)\)/);
    assert.deepEqual(await rows(), [
      [1, '2026-12-31', 'x'],
      [5, '2026-01-02', '\\.'],
    ]);
    const skipped = await load({ onError: 'Skip File', dateFormat: 'DD/MM/YYYY', forceLoad: 'Yes' });
    assert.deepEqual([skipped.status, skipped.rowCount], ['SUCCESS', 0]);
    assert.match(skipped.message, /1 object skipped/);
  });

  it('loads JSON by the names of members, and into a column of JSON', async () => {
    await connection.execute('create table t (id integer, name text, tags jsonb, n numeric)');
    s3.put(
      'in/a.json',
      '[{"ID": 1, "name": "é\\n\\"", "tags": ["a", {"b": null}], "n": 1234567890.25}, {"id": 2}]',
    );
    const options = { fileType: 'JSON', stripOuterArray: 'Yes', matchByColumnName: 'Case Insensitive' };
    const { status, message } = await load(options);
    assert.equal(status, 'SUCCESS', message);
    assert.deepEqual(await rows(), [
      [1, 'é\n"', '["a", {"b": null}]', 1234567890.25],
      [2, null, null, null],
    ]);
  });

  it('takes memory for the longest row of an Avro file, not for the largest that is allowed', async () => {
    await connection.execute('create table t (id integer)');
    const encoder = new avro.streams.BlockEncoder(
      avro.Type.forSchema({ type: 'record', name: 'row', fields: [{ name: 'id', type: 'int' }] }),
    );
    encoder.end({ id: 1 });
    s3.put('in/a.avro', Buffer.concat(await encoder.toArray()));
    await scene.connection.run("set memory_limit = '150MB'");
    const { status, message } = await load({ fileType: 'AVRO', matchByColumnName: 'Case Insensitive' });
    assert.equal(status, 'SUCCESS', message);
    assert.deepEqual(await rows(), [[1]]);
  });

  it('says what is missing before anything is fetched', async () => {
    assert.match((await load()).message, /the table "t" does not exist: make it before/);
    await connection.execute('create table t (id integer)');
    assert.match(
      (await load({ loadColumns: ['no'] })).message,
      /"loadColumns" has "no", which is not a column/,
    );
  });
});

describe('s3-unload and file-unload from PostgreSQL', () => {
  it('write CSV, JSON and Parquet', async () => {
    await connection.execute(
      `create table t as select 1 as id, 'a,"b' as name, numeric '1.50' as price, date '2030-01-02' as day
        union all select 2, '', null, null union all select 3, null, 2, null`,
    );
    const unload = (parameters: object) =>
      scene.component('s3-unload', {
        ...{
          s3ObjectPrefix: `s3://${s3.bucket}/out/`,
          endpoint: s3.endpoint,
          targetTable: 't',
          singleFile: 'Yes',
        },
        ...{ overwrite: 'Yes', compression: 'NONE', filePrefix: 'rows', ...parameters },
      });
    const { status, message, rowCount } = await unload({ dateFormat: 'DD.MM.YYYY' });
    assert.deepEqual(
      [status, message, rowCount],
      ['SUCCESS', `57 bytes written to s3://${s3.bucket}/out/rows`, 3],
    );
    assert.equal(
      String(s3.objects.get('out/rows')?.bytes),
      'id,name,price,day\n1,"a,""b",1.50,02.01.2030\n2,"",,\n3,,2,\n',
    );
    const bare = await unload({ fieldOptionallyEnclosed: 'NONE', nullIf: [['no']] });
    assert.deepEqual([bare.status, bare.rowCount], ['SUCCESS', 3], bare.message);
    assert.equal(
      String(s3.objects.get('out/rows')?.bytes),
      'id,name,price,day\n1,a,"b,1.50,2030-01-02\n2,,no,no\n3,no,2,no\n',
    );
    const wide = await unload({ fieldDelimiter: '||' });
    assert.match(
      wide.message,
      /"\|\|", which separates values, has 2 bytes: files are written with one byte/,
    );
    assert.equal((await unload({ fileType: 'JSON' })).status, 'SUCCESS');
    assert.equal(
      String(s3.objects.get('out/rows')?.bytes).split('\n')[0],
      '{"id":1,"name":"a,\\"b","price":1.50,"day":"2030-01-02"}',
    );
    const file = (parameters: object) => scene.component('file-unload', { target: 'rows', ...parameters });
    assert.equal((await file({ fileType: 'PARQUET', query: 'select * from t order by id' })).rowCount, 3);
    const read = await scene.connection.runAndReadAll(
      `select id, name, price::varchar, day::varchar from read_parquet('${join(scene.filesFolder, 'rows')}')`,
    );
    assert.deepEqual(read.getRowsJson(), [
      [1, 'a,"b', '1.50', '2030-01-02'],
      [2, '', null, null],
      [3, null, '2', null],
    ]);
    assert.equal((await file({ fileType: 'CSV', delimiter: ';', table: 't' })).rowCount, 3);
    assert.match(
      readFileSync(join(scene.filesFolder, 'rows'), 'utf8'),
      /^id;name;price;day\n1;"a,""b";1\.50;2030-01-02\n/,
    );
  });
});

describe('file-load into PostgreSQL', () => {
  const fileLoad = (parameters: object) =>
    scene.component('file-load', { source: 'in.csv', fileType: 'CSV', targetTable: 't', ...parameters });
  const write = (text: string) => writeFileSync(join(scene.filesFolder, 'in.csv'), text);

  it('makes the table with the columns of the file, and replaces it as a whole', async () => {
    write('id,name,price,day\n1,"x,y",1.5,31/12/2026\n2,,,\n');
    assert.deepEqual((await fileLoad({})).rowCount, 2);
    assert.deepEqual(await rows(), [
      [1, 'x,y', 1.5, '2026-12-31'],
      [2, null, null, null],
    ]);
    write('id,name\n3,z\n');
    const columns = [
      ['id', 'BIGINT'],
      ['name', 'VARCHAR', '1'],
    ];
    assert.equal((await fileLoad({ columns })).rowCount, 1);
    assert.deepEqual(await rows(), [[3, 'z']]);
    write('id,name\n4,long\n');
    const { status, message } = await fileLoad({ columns });
    assert.equal(status, 'FAILED');
    assert.match(message, /value too long for type character varying\(1\)[\s\S]*line 2, column name/);
    assert.deepEqual(await rows(), [[3, 'z']], 'the table that was there is whole');
  });

  it('appends, creates, and does nothing if the table is there', async () => {
    write('id\n1\n');
    assert.equal((await fileLoad({ createReplace: 'Create' })).rowCount, 1);
    assert.match((await fileLoad({ createReplace: 'Create' })).message, /relation "t" already exists/);
    assert.equal((await fileLoad({ createReplace: 'Append' })).rowCount, 1);
    const kept = await fileLoad({ createReplace: 'Create if not exists' });
    assert.deepEqual([kept.rowCount, kept.message], [0, 'the table "t" exists: nothing was loaded']);
    assert.deepEqual(await rows(), [[1], [1]]);
  });

  it('reads JSON and Parquet by the embedded database', async () => {
    write('{"id": 1, "tags": ["a"]}\n{"id": 2}\n');
    assert.equal((await fileLoad({ fileType: 'JSON' })).rowCount, 2);
    assert.deepEqual(await rows(), [
      [1, '["a"]'],
      [2, null],
    ]);
  });
});
