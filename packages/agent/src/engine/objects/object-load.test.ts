import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
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

const load = (parameters: Readonly<Record<string, unknown>> = {}) =>
  scene.component('s3-load', {
    s3ObjectPrefix: `s3://${s3.bucket}/in/`,
    endpoint: s3.endpoint,
    stage: '[Custom]',
    authentication: 'Credentials',
    format: '[Custom]',
    fileType: 'CSV',
    targetTable: 't',
    ...parameters,
  });

describe('s3-load', () => {
  it('loads all objects of a prefix, and each only once', async () => {
    await scene.rows('create table t (id integer, name varchar)');
    s3.put('in/a b.csv', '1,x\n2,"y,\nz"\n');
    s3.put('in/ä+%ü.csv', gzipSync('3,\n4,""\n'));
    s3.put('in/folder/', '');
    s3.put('other/c.csv', '9,no\n');
    const first = await load({ fieldOptionallyEnclosed: '"' });
    assert.deepEqual([first.status, first.message, first.rowCount], ['SUCCESS', '4 rows from 2 objects', 4]);
    assert.equal(first.byteCount, 13 + gzipSync('3,\n4,""\n').length);
    assert.deepEqual(await scene.rows('select * from t order by id'), [
      [1, 'x'],
      [2, 'y,\nz'],
      [3, null],
      [4, ''],
    ]);
    s3.put('in/new.csv', '5,n\n');
    assert.equal((await load({ fieldOptionallyEnclosed: '"' })).rowCount, 1);
    const again = await load({ fieldOptionallyEnclosed: '"' });
    assert.deepEqual([again.status, again.rowCount], ['SUCCESS', 0]);
    assert.match(again.message, /the table has all 3 objects that match: forceLoad loads them again/);
    assert.equal((await load({ fieldOptionallyEnclosed: '"', forceLoad: 'True' })).rowCount, 5);
    await scene.rows('create or replace table t (id integer, name varchar)');
    assert.equal((await load({ fieldOptionallyEnclosed: '"' })).rowCount, 5);
  });

  it('loads the objects of a stage, which CREATE STAGE made', async () => {
    const run = (sqlScript: string) => scene.component('sql-script', { sqlScript });
    const make = `stage "Landing" url = 's3://${s3.bucket}/in/' endpoint = '${s3.endpoint}' storage_integration = lake file_format = (type = csv)`;
    const stage = { stage: 'Landing', s3ObjectPrefix: undefined, endpoint: undefined };
    await scene.rows('create table t (id integer)');
    s3.put('in/a.csv', '1\n2\n');
    s3.put('other/b.csv', '3\n');
    const missing = await load(stage);
    assert.equal(missing.status, 'FAILED');
    assert.match(
      missing.message,
      /there is no stage "Landing": make it once by CREATE STAGE "Landing" URL = /,
    );

    assert.match(
      (await run(`create ${make}`)).message,
      /STORAGE_INTEGRATION, FILE_FORMAT of the stage "Landing" has/,
    );
    assert.equal((await load({ ...stage, pattern: '.*[.]csv' })).rowCount, 2);
    assert.equal((await load({ ...stage, stage: 'LANDING', forceLoad: 'Yes' })).rowCount, 2);
    assert.match((await load({ ...stage, stageSchema: 'raw' })).message, /there is no stage "Landing"/);

    assert.match(
      (await run(`create ${make}`)).message,
      /the stage "Landing" exists: write CREATE OR REPLACE STAGE/,
    );
    await run(`create stage if not exists landing url = 's3://elsewhere/'`);
    assert.equal((await load({ ...stage, forceLoad: 'Yes' })).rowCount, 2);
    await run(`create or replace ${make.replace('/in/', '/other/')}; create schema raw`);
    assert.equal((await load(stage)).rowCount, 1);
    await run(`create ${make.replace('"Landing"', 'raw.landing')}`);
    assert.equal((await load({ ...stage, stageSchema: 'RAW', forceLoad: 'Yes' })).rowCount, 2);

    assert.equal((await run('drop stage landing')).status, 'SUCCESS');
    assert.match((await run('drop stage landing')).message, /there is no stage landing/);
    assert.equal((await run('drop stage if exists landing')).status, 'SUCCESS');
    assert.match((await load(stage)).message, /there is no stage "Landing"/);
    await run(`create stage landing url = 's3://Not a bucket/'`);
    assert.match((await load(stage)).message, /the URL of the stage Landing" is .*the name of a bucket has/);
  });

  it('reads CSV as its options say', async () => {
    await scene.rows('create table t (id integer, name varchar, day date, moment timestamp, n decimal(9,2))');
    s3.put(
      'in/a.csv',
      Buffer.from(
        'made by hand\nid|name|day|at|n\n 1 |~caf\xe9 | x~|31/12/2026|2026-12-31 10:00| 1.50\n2|NULL|||\n\n3|-|01/02/2026||7\n',
        'latin1',
      ),
    );
    const { status, message } = await load({
      fieldDelimiter: '|',
      fieldOptionallyEnclosed: '~',
      skipHeader: '2',
      skipBlankLines: 'True',
      trimSpace: 'True',
      dateFormat: 'DD/MM/YYYY',
      timestampFormat: 'YYYY-MM-DD HH24:MI',
      nullIf: [['NULL'], ['-']],
      encodingType: 'ISO88591',
      compression: 'NONE',
    });
    assert.deepEqual([status, message], ['SUCCESS', '3 rows from 1 object']);
    assert.deepEqual(
      await scene.rows('select id, name, day::varchar, moment::varchar, n::varchar from t order by id'),
      [
        [1, 'café | x', '2026-12-31', '2026-12-31 10:00:00', '1.50'],
        [2, null, null, null, null],
        [3, null, '2026-02-01', null, '7.00'],
      ],
    );
  });

  it('loads some columns, cuts texts, and takes rows of other lengths if it may', async () => {
    await scene.rows(
      "create table t (id integer, name varchar check (case when length(name) > 3 then error(length(name) || ' characters, and the column is VARCHAR(3)') else true end), extra varchar)",
    );
    s3.put('in/a.csv', 'abcdef,1,more,and more\nx,2\ny,3\n');
    const options = { loadColumns: ['name', 'ID'], errorOnColumnCountMismatch: 'False' };
    const refused = await load(options);
    assert.equal(refused.status, 'FAILED');
    assert.match(
      refused.message,
      /in\/a\.csv, row 1: "abcdef" does not fit the column "name" \(VARCHAR\(3\)\)/,
    );
    const { message } = await load({ ...options, truncateColumns: 'True' });
    assert.equal(message, '3 rows from 1 object');
    assert.deepEqual(await scene.rows('select id, name, extra from t order by id'), [
      [1, 'abc', null],
      [2, 'x', null],
      [3, 'y', null],
    ]);
  });

  it('names the first fault, and loads nothing', async () => {
    await scene.rows('create table t (id integer, name varchar)');
    s3.put('in/a.csv', 'id,name\n1,a\n');
    for (const [text, reason] of [
      [
        'id,name\n1,a\nx,b\n',
        /in\/b\.csv, row 2 after the header: "x" does not fit the column "id" \(INTEGER\); nothing was loaded/,
      ],
      ['id,name\n1,a\n2,b,c\n', /in\/b\.csv, line 3: it has 3 values, and 2 columns are loaded/],
      ['id,name\n1,a\n2\n', /in\/b\.csv, line 3: it has 1 values, and 2 columns are loaded/],
      ['id,name\n1,"a\n2,b\n', /in\/b\.csv, line 2: a value begins with a quote that does not end/],
    ] as const) {
      s3.put('in/b.csv', text);
      const { status, message } = await load({ skipHeader: '1', fieldOptionallyEnclosed: '"' });
      assert.equal(status, 'FAILED', text);
      assert.match(message, reason);
      assert.deepEqual(await scene.rows('select count(*) from t'), [[0]]);
    }
    s3.put('in/b.csv', 'id,name\n2,b\n');
    assert.equal((await load({ skipHeader: '1' })).rowCount, 2);
  });

  it('leaves out 1,000 faults if it may, and says how many and where', async () => {
    await scene.rows('create table t (id integer, name varchar)');
    const lines = Array.from({ length: 10_000 }, (_, index) =>
      index % 20 === 3 ? `no,${index}` : index % 20 === 7 ? `${index},a,b` : `${index},${index}`,
    );
    s3.put('in/a.csv', `${lines.join('\n')}\n`);
    const { status, message, rowCount } = await load({ onError: 'Continue' });
    assert.deepEqual([status, rowCount], ['SUCCESS', 9_000]);
    assert.match(
      message,
      /^9000 rows from 1 object\n1000 faults:\n.*a\.csv, line 8: it has 3 values, and 2 columns are loaded\n/,
    );
    assert.equal(scene.lines.filter((line) => /does not fit the column "id"/.test(line)).length, 500);
    assert.deepEqual(await scene.rows('select count(*), count(distinct id) from t'), [[9_000, 9_000]]);
  });

  it('skips files with faults if it shall', async () => {
    await scene.rows('create table t (id integer)');
    s3.put('in/a.csv', '1\n2\n');
    s3.put('in/b.csv', '3\nx\ny\n5\n');
    for (const [options, rows] of [
      [{ onError: 'Skip File' }, 2],
      [{ onError: 'Skip File When n Errors', n: '2' }, 2],
      [{ onError: 'Skip File When n Errors', n: '3' }, 4],
      [{ onError: 'Skip File When n% Errors', n: '50' }, 2],
      [{ onError: 'Skip File When n% Errors', n: '51' }, 4],
    ] as const) {
      await scene.rows('delete from t');
      const { status, message, rowCount } = await load(options);
      assert.deepEqual([status, rowCount], ['SUCCESS', rows], message);
      assert.match(message, rows === 2 ? /1 object skipped: in\/b\.csv/ : /2 faults/);
    }
    // What was skipped is not loaded, so it comes again.
    await scene.rows('delete from t');
    await load({ onError: 'Skip File' });
    s3.put('in/b.csv', '3\n');
    assert.equal((await load({ onError: 'Skip File' })).rowCount, 1);
  });

  it('never tolerates what hides the rows after it', async () => {
    await scene.rows('create table t (id integer, name varchar)');
    s3.put('in/a.csv', `1,"a\n${'2,b\n'.repeat(1_000)}`);
    const quoted = await load({ onError: 'Continue', fieldOptionallyEnclosed: '"' });
    assert.equal(quoted.status, 'FAILED');
    assert.match(
      quoted.message,
      /line 1: a value begins with a quote that does not end\. The rows after it cannot be separated/,
    );
    s3.put('in/a.csv', `1,a\n2,${'x'.repeat(3_000_000)}\n3,c\n`);
    for (const onError of ['Continue', 'Abort Statement']) {
      const { status, message } = await load({ onError });
      assert.equal(status, 'FAILED');
      assert.match(message, /in\/a\.csv" has a line of 3000002 bytes at byte 4; the limit is 2000000/);
    }
    assert.deepEqual(await scene.rows('select count(*) from t'), [[0]]);
  });

  it('deletes what it loaded if it shall, and stops at the limit of bytes', async () => {
    await scene.rows('create table t (id integer)');
    for (const [key, text] of Object.entries({ 'in/a.csv': '1\n', 'in/b.csv': '2\n', 'in/c.csv': 'x\n' }))
      s3.put(key, text);
    const first = await load({ sizeLimitB: '3', purgeFiles: 'True' });
    assert.match(first.message, /^2 rows from 2 objects\n1 object left out/);
    assert.deepEqual([...s3.objects.keys()], ['in/c.csv']);
    const second = await load({ onError: 'Skip File', purgeFiles: 'True' });
    assert.match(second.message, /1 object skipped: in\/c\.csv/);
    assert.deepEqual([...s3.objects.keys()], ['in/c.csv']);
    s3.put('in/c.csv', '3\n');
    let reads = 0;
    s3.intercept = ({ method, key }) => {
      if (method === 'GET' && key === 'in/c.csv') reads += 1;
      if (method === 'GET' && reads > 0 && key !== 'in/c.csv') s3.put('in/c.csv', 'newer\n');
      return false;
    };
    const changed = await load({ purgeFiles: 'True' });
    assert.match(changed.message, /1 object not deleted, because changed after being read: in\/c\.csv/);
    assert.deepEqual([...s3.objects.keys()], ['in/c.csv']);
    s3.put('in/c.csv', '4\n');
    s3.intercept = ({ method }, response) => {
      if (method === 'DELETE') response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
      return method === 'DELETE';
    };
    const third = await load({ purgeFiles: 'True' });
    assert.equal(third.status, 'FAILED');
    assert.match(third.message, /the rows were loaded, but not all objects were deleted: .*AccessDenied/);
    assert.deepEqual(await scene.rows('select id from t order by id'), [[1], [2], [3], [4]]);
  });

  it('says what to do without a table, credentials or objects', async () => {
    assert.match((await load()).message, /the table "t" does not exist: make it before/);
    assert.match((await load({ schema: 'raw' })).message, /the table "raw.t" does not exist/);
    await scene.rows('create table t (id integer)');
    assert.match((await load()).message, /^no object begins with s3:\/\/lake-of-tests\/in\/$/);
    s3.put('in/a.csv', '1\n');
    assert.match(
      (await load({ pattern: '.*json' })).message,
      /no object that begins with .* matches \.\*json, of 1 object/,
    );
    assert.match((await load({ credentials: 'none' })).message, /there is no secret "none"/);
    assert.match((await load({ authentication: 'Machine role' })).message, /HEADGATE_AGENT_MACHINE_ROLE=yes/);
    assert.match(
      (await load({ loadColumns: ['nope'] })).message,
      /"loadColumns" has "nope", which is not a column/,
    );
    assert.deepEqual(scene.masked.includes(s3.secretAccessKey), true);
  });

  it('loads no object twice if two runs load it at the same time', async () => {
    await scene.rows('create table t (id integer)');
    await scene.rows('insert into t values (0)');
    s3.put('in/a.csv', '1\n');
    const other = await scene.connect();
    let isLocked = false;
    s3.intercept = ({ method, key }, response) => {
      if (method !== 'GET' || key !== 'in/a.csv' || isLocked) return undefined;
      isLocked = true;
      // The other run is in its transaction when this one begins its own.
      const begin = async () => {
        await other.run('begin');
        await other.run('create table headgate_load_of_t (nothing boolean)');
        await other.run('drop table headgate_load_of_t');
        await other.run('insert into t values (1)');
        const tag = `"${createHash('md5').update('1\n').digest('hex')}"`;
        await other.run(
          `insert into headgate_loaded_objects select lower('"main"."t"'), 's3://lake-of-tests/in/a.csv', '${tag}', now()`,
        );
        response.writeHead(200, { 'content-length': '2' }).end('1\n');
      };
      void begin();
      return true;
    };
    scene.onWait(() => other.run('commit').catch(() => undefined));
    const { status, message, rowCount } = await load();
    other.closeSync();
    assert.deepEqual([status, rowCount], ['SUCCESS', 0], message);
    assert.ok(scene.waits.length > 0);
    assert.deepEqual(await scene.rows('select id from t order by id'), [[0], [1]]);
  });
});
