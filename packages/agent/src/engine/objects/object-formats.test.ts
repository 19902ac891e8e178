/** JSON, Parquet and archives in s3-load. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { type FakeS3, startFakeS3 } from '../../../testing/fake-s3.ts';
import { openStoreScene, type StoreScene } from '../../../testing/store-scene.ts';
import { zip } from '../../../testing/zip.ts';

let s3: FakeS3;
let scene: StoreScene;

async function open(bounds = {}) {
  const { accessKeyId, secretAccessKey } = s3;
  scene = await openStoreScene({ secrets: { lake: { accessKeyId, secretAccessKey } }, bounds });
}
beforeEach(async () => {
  s3 = await startFakeS3();
  await open();
});
afterEach(async () => {
  const left = readdirSync(scene.filesFolder);
  scene.dispose();
  await s3.close();
  assert.deepEqual(left, []);
});

const load = (parameters: Readonly<Record<string, unknown>>) =>
  scene.component('s3-load', {
    s3ObjectPrefix: `s3://${s3.bucket}/`,
    endpoint: s3.endpoint,
    credentials: 'lake',
    targetTable: 't',
    ...parameters,
  });

describe('formats of s3-load', () => {
  it('loads JSON by the names of members', async () => {
    await scene.rows('create table t (id integer, "Name" varchar, tags json, missing varchar)');
    s3.put(
      'a.json',
      '[{"ID": 1, "name": "x", "tags": ["a", {"b": 1}], "more": 1}, {"id": "2", "name": null}]',
    );
    s3.put('b.json', gzipSync('{"id": 3, "NAME": "z"}\n{"id": 4}\n'));
    const { message, rowCount } = await load({
      fileType: 'JSON',
      stripOuterArray: 'True',
      matchByColumnName: 'Case Insensitive',
    });
    assert.deepEqual([message, rowCount], ['4 rows from 2 objects', 4]);
    assert.deepEqual(await scene.rows('select id, "Name", tags::varchar, missing from t order by id'), [
      [1, 'x', '["a",{"b":1}]', null],
      [2, null, null, null],
      [3, 'z', null, null],
      [4, null, null, null],
    ]);
    s3.put('c.json', '{"id": "five"}');
    const refused = await load({ fileType: 'JSON', matchByColumnName: 'Case Insensitive' });
    assert.match(refused.message, /c\.json, row 1: "five" does not fit the column "id" \(INTEGER\)/);
    const tolerant = await load({
      fileType: 'JSON',
      matchByColumnName: 'Case Insensitive',
      onError: 'Continue',
    });
    assert.match(tolerant.message, /^0 rows from 1 object\n.*\n1 fault:/);
  });

  it('loads each record into one column of the type VARIANT', async () => {
    await scene.rows('create table t (record json)');
    s3.put('a.json', '{"a": 1, "b": null}\n{"a": {"c": null}}\n');
    const { status } = await load({ fileType: 'JSON', stripNullValues: 'True' });
    assert.equal(status, 'SUCCESS');
    assert.deepEqual(await scene.rows('select record::varchar from t'), [['{"a":1}'], ['{"a":{}}']]);
    await scene.rows('create or replace table t (a integer, b integer)');
    assert.match(
      (await load({ fileType: 'JSON' })).message,
      /one column of the type VARIANT, and the table has 2/,
    );
    s3.put('a.json', '{"a": 1');
    assert.match(
      (await load({ fileType: 'JSON', matchByColumnName: 'Case Sensitive' })).message,
      /s3:\/\/lake-of-tests\/a\.json was not loaded: .*Malformed JSON/s,
    );
  });

  it('loads JSON with all digits of its numbers', async () => {
    await scene.rows('create table t (amount decimal(38,9), tags json)');
    s3.put('a.json', '{"amount": 12345678901234567890.123456789, "tags": [1.5, 0.1000000000000000055]}');
    const { status, message } = await load({ fileType: 'JSON', matchByColumnName: 'Case Insensitive' });
    assert.equal(status, 'SUCCESS', message);
    assert.deepEqual(await scene.rows('select amount::varchar, tags::varchar from t'), [
      ['12345678901234567890.123456789', '[1.5,"0.1000000000000000055"]'],
    ]);
    await scene.rows('create or replace table t (record json)');
    assert.equal((await load({ fileType: 'JSON' })).status, 'SUCCESS');
    assert.match(String((await scene.rows('select record::varchar from t'))[0]), /67890\.123456789, "tags"/);
  });

  it('takes memory for the longest record of JSON, and says what to do about one that is too long', async () => {
    await scene.rows('create table t (record json)');
    await scene.connection.run("set memory_limit = '256MiB'; set threads = 2");
    const record = `{"id": 1, "text": "${'x'.repeat(1_000)}"}\n`;
    const most = 128 * 1_048_576;
    s3.put('a.json', gzipSync(Buffer.alloc(most, record), { level: 1 }).subarray());
    // The last record is cut off.
    const cut = await load({ fileType: 'JSON' });
    assert.match(cut.message, /a\.json was not loaded: .*Malformed JSON/s);
    s3.put('a.json', Buffer.from(record.repeat(Math.floor(most / record.length))));
    const { status, message } = await load({ fileType: 'JSON' });
    assert.equal(status, 'SUCCESS', message);
    s3.put(
      'b.json',
      Buffer.from(`[${record.repeat(Math.floor(most / record.length)).replaceAll('\n', ',')}1]`),
    );
    const refused = await load({ fileType: 'JSON' });
    assert.equal(refused.status, 'FAILED');
    assert.match(
      refused.message,
      /b\.json has a record of 128 MiB, .* not enough memory: set "stripOuterArray"/,
    );
    s3.put('b.json', Buffer.from(`["${'x'.repeat(most)}"]`));
    assert.match(
      (await load({ fileType: 'JSON' })).message,
      /b\.json.*its record 1 has more than 128 MiB: .*"stripOuterArray"/s,
    );
    s3.put('b.json', ' [ ] ');
    assert.equal((await load({ fileType: 'JSON', stripOuterArray: 'Yes' })).status, 'SUCCESS');
  });

  it('loads Parquet with all digits of its numbers', async () => {
    const path = join(scene.folder, 'a.parquet');
    await scene.rows(
      `copy (select 12345678901234567890.123456789::decimal(38,9) as amount, date '2026-02-03' as "Day", 'x' as extra) to '${path}' (format parquet)`,
    );
    s3.put('a.parquet', readFileSync(path));
    await scene.rows('create table t (day date, amount decimal(38,9), missing varchar)');
    const { message } = await load({ fileType: 'PARQUET', matchByColumnName: 'Case Insensitive' });
    assert.equal(message, '1 row from 1 object');
    assert.deepEqual(await scene.rows('select day::varchar, amount::varchar, missing from t'), [
      ['2026-02-03', '12345678901234567890.123456789', null],
    ]);
    await scene.rows('create or replace table t (extra integer, day date)');
    const options = { fileType: 'PARQUET', matchByColumnName: 'Case Insensitive' };
    assert.match(
      (await load(options)).message,
      /a\.parquet, row 1: "x" does not fit the column "extra" \(INTEGER\)/,
    );
    const tolerant = await load({ ...options, onError: 'Continue' });
    assert.match(tolerant.message, /^0 rows from 1 object\n1 fault:\n.*"x" does not fit/);
    await scene.rows('create or replace table t (record json)');
    assert.equal((await load({ fileType: 'PARQUET' })).status, 'SUCCESS');
    assert.deepEqual(await scene.rows("select record->>'extra' from t"), [['x']]);
  });

  it('unpacks zstd, and all files of a zip archive', async () => {
    await scene.rows('create table t (id integer)');
    s3.put('a.csv.zst', zstdCompressSync('1\n'));
    s3.put('b.zip', zip({ 'in/x.csv': '2\n3\n', '__MACOSX/x': 'no', 'y.csv': '4\n' }));
    assert.equal((await load({})).message, '4 rows from 2 objects');
    s3.put('c.zip', zip({ 'z.csv': '5\nsix\n' }));
    assert.match((await load({})).message, /c\.zip\/z\.csv, row 2: "six"/);
    const twice = [
      ['z.csv', '5\n'],
      ['z.csv', '6\n'],
    ] as const;
    s3.put('c.zip', zip(twice));
    assert.match((await load({})).message, /"c\.zip": it has two files "z\.csv"/);
    s3.put('c.zip', Buffer.from('PK\x03\x04 and nothing else'));
    assert.match((await load({})).message, /"c\.zip": it is no zip archive that can be read/);
    s3.put('c.zip', gzipSync('5\n').subarray(0, 12));
    assert.match((await load({})).message, /"c\.zip" cannot be unpacked \(Z_BUF_ERROR\): it is damaged/);
    s3.put('c.zip', 'BZh91AY');
    assert.match((await load({})).message, /compressed by bzip2, which is not supported: use gzip or zstd/);
    assert.deepEqual(await scene.rows('select count(*) from t'), [[4]]);
  });

  it('ends a zip bomb early', async () => {
    await scene.rows('create table t (id integer)');
    const zeros = Buffer.alloc(70 * 1_048_576, '0\n');
    for (const bomb of [gzipSync(zeros, { level: 9 }), zip({ 'a.csv': zeros })]) {
      s3.put('bomb', bomb);
      const { status, message } = await load({});
      assert.equal(status, 'FAILED');
      assert.match(
        message,
        /"bomb": it grows to more than 500 times its size when it is unpacked, as a zip bomb does/,
      );
    }
    scene.dispose();
    await open({ totalBytes: 1_000 });
    await scene.rows('create table t (id integer)');
    s3.put('bomb', gzipSync('12345678\n'.repeat(1_000)));
    assert.match(
      (await load({})).message,
      /more than 0 MiB when it is unpacked, which is the limit of one file/,
    );
  });

  it('refuses bytes that are no character, or replaces them', async () => {
    await scene.rows('create table t (name varchar)');
    s3.put('a.csv', Buffer.from([0x61, 0xff, 0x0a]));
    assert.match(
      (await load({})).message,
      /a\.csv, line 1: it has bytes that are no character in UTF-8: set "encodingType"/,
    );
    assert.equal((await load({ replaceInvalidCharacters: 'True' })).status, 'SUCCESS');
    assert.deepEqual(await scene.rows('select name from t'), [['a\ufffd']]);
  });
});
