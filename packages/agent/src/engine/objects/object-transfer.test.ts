import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type FakeApi, startFakeApi } from '../../../testing/fake-api.ts';
import { type FakeS3, startFakeS3 } from '../../../testing/fake-s3.ts';
import { openStoreScene, type StoreScene } from '../../../testing/store-scene.ts';
import { renderOrchestration, start, text } from '../run/pipeline-fixture.ts';

let s3: FakeS3;
let api: FakeApi;
let scene: StoreScene;

beforeEach(async () => {
  [s3, api] = await Promise.all([startFakeS3(), startFakeApi()]);
  const { accessKeyId, secretAccessKey } = s3;
  scene = await openStoreScene({ clouds: { aws: { accessKeyId, secretAccessKey } } });
});
afterEach(async () => {
  const left = readdirSync(scene.filesFolder).filter((name) => name.endsWith('.partial'));
  scene.dispose();
  await Promise.all([s3.close(), api.close()]);
  assert.deepEqual(left, []);
});

const contentOf = (key: string) => s3.objects.get(key)?.bytes ?? Buffer.from('none');

describe('s3-unload', () => {
  const unload = (parameters: Readonly<Record<string, unknown>> = {}) =>
    scene.component('s3-unload', {
      s3ObjectPrefix: `s3://${s3.bucket}/out`,
      filePrefix: 'totals',
      endpoint: s3.endpoint,
      targetTable: 't',
      ...parameters,
    });

  it('writes the rows of a table', async () => {
    await scene.rows(
      "create table t as select 1 as id, 'a, \"b\"' as name, date '2026-02-01' as day union all select 2, null, null order by 1",
    );
    const first = await unload();
    assert.deepEqual([first.status, first.rowCount], ['SUCCESS', 2], first.message);
    assert.equal(
      String(gunzipSync(contentOf('out/totals_0_0_0.csv.gz'))),
      'id,name,day\n1,"a, ""b""",2026-02-01\n2,,\n',
    );
    const options = {
      ...{ singleFile: 'True', compression: 'NONE', includeHeaders: 'False', fieldDelimiter: '|' },
      ...{ fieldOptionallyEnclosed: "'", nullIf2: [['NULL']], dateFormat: 'DD.MM.YYYY' },
    };
    assert.equal((await unload(options)).status, 'SUCCESS');
    assert.equal(String(contentOf('out/totals')), '1|a, "b"|01.02.2026\n2|NULL|NULL\n');
    assert.match(
      (await unload(options)).message,
      /the object "out\/totals" exists: choose another filePrefix, or set overwrite to Yes/,
    );
    assert.match(
      (await unload({ fieldDelimiter: '||' })).message,
      /"\|\|", which separates values, has 2 bytes: files are written with one byte, such as ;/,
    );
    await scene.rows('delete from t');
    assert.equal((await unload({ ...options, overwrite: 'True' })).status, 'SUCCESS');
    assert.equal(String(contentOf('out/totals')), '');
  });

  it('writes no object that is larger than maxFileSize', async () => {
    await scene.rows('create table t as select range as id from range(20000)');
    const options = { singleFile: 'True', compression: 'NONE' };
    const { status, message } = await unload({ ...options, maxFileSize: '100000' });
    assert.equal(status, 'FAILED');
    assert.match(
      message,
      /nothing was written, because the object has more than 100000 bytes: raise "maxFileSize"/,
    );
    assert.equal(s3.objects.has('out/totals'), false);
    assert.equal((await unload({ ...options, maxFileSize: '200000' })).status, 'SUCCESS');
    assert.match((await unload({ maxFileSize: '0' })).message, /"maxFileSize" is 0: it must be at least 1/);
  });

  it('leaves the object as it was if it fails', async () => {
    s3.put('out/totals', 'before');
    await scene.rows('create table t (id integer)');
    s3.intercept = ({ method }, response) => {
      if (method !== 'PUT') return undefined;
      response.destroy();
      return true;
    };
    const { status, message } = await unload({ singleFile: 'True', overwrite: 'True' });
    assert.equal(status, 'FAILED');
    assert.match(message, /s3:\/\/lake-of-tests: the connection broke/);
    assert.equal(String(contentOf('out/totals')), 'before');
  });
});

describe('data-transfer-object', () => {
  const transfer = (parameters: Readonly<Record<string, unknown>>) =>
    scene.component('data-transfer-object', { endpoint: s3.endpoint, ...parameters });

  it('copies between addresses, stores and the files folder', async () => {
    api.answer((_, response) => void response.end('a,b\n1,2\n'));
    const ways = [
      [
        { sourceUrl3: `${api.origin}/a.csv`, targetUrl2: `s3://${s3.bucket}/in`, targetObjectName: 'a.csv' },
        () => contentOf('in/a.csv'),
      ],
      [
        {
          sourceUrl: `s3://${s3.bucket}/in/a.csv`,
          targetUrl: `s3://${s3.bucket}/copy/`,
          targetObjectName: 'b.csv',
        },
        () => contentOf('copy/b.csv'),
      ],
      [
        { sourceUrl: `s3://${s3.bucket}/in/a.csv`, targetUrl: 'down', targetObjectName: 'c.csv' },
        () => readFileSync(join(scene.filesFolder, 'down/c.csv')),
      ],
      [
        { sourceUrl: 'down/c.csv', targetUrl: `s3://${s3.bucket}`, targetObjectName: 'd.csv' },
        () => contentOf('d.csv'),
      ],
      [
        { sourceUrl: `${api.origin}/a.csv`, targetObjectName: 'e.csv' },
        () => readFileSync(join(scene.filesFolder, 'e.csv')),
      ],
      [
        { sourceUrl: 'e.csv', targetUrl: '.', targetObjectName: 'f.csv.gz', gzipData: 'Yes' },
        () => gunzipSync(readFileSync(join(scene.filesFolder, 'f.csv.gz'))),
      ],
      [
        { sourceUrl: 'e.csv', targetUrl: `s3://${s3.bucket}`, targetObjectName: 'g.gz', gzipData: 'Yes' },
        () => gunzipSync(contentOf('g.gz')),
      ],
    ] as const;
    for (const [parameters, read] of ways) {
      const { status, message } = await transfer(parameters);
      assert.equal(status, 'SUCCESS', message);
      assert.equal(String(read()), 'a,b\n1,2\n');
    }
    assert.ok(
      !s3.requests.some((request) => request === 'GET copy/b.csv'),
      'a copy within a store does not come here',
    );
  });

  it('refuses what it cannot do, before it does anything', async () => {
    for (const [parameters, reason] of [
      [
        { sourceUrl: 'a', targetObjectName: 'a', performCertificateValidation: 'No' },
        /"performCertificateValidation" is No, which is not supported/,
      ],
      [
        { sourceUrl: 'sftp://host/a', targetObjectName: 'a' },
        /"sourceUrl" is "sftp:\/\/host\/a": set "credentials" to the secret reference/,
      ],
      [
        { sourceUrl: 'a', sourceType: 'Windows Fileshare', targetObjectName: 'a' },
        /"sourceType" is Windows Fileshare/,
      ],
      [
        { sourceUrl: 'a', targetUrl: 'https://x.example/in', targetObjectName: 'a' },
        /cannot be sent to an address of http/,
      ],
      [
        { sourceUrl: `s3://${'b'.repeat(3)}/x/../y`, targetObjectName: 'a' },
        /must not have a part "\." or "\.\."/,
      ],
      [
        { sourceUrl: 'https://x.example/a', sourcePassword1: 'p', targetObjectName: 'a' },
        /an API a connector profile/,
      ],
      [{ sourceUrl: 'not there.csv', targetObjectName: 'a' }, /there is no file "not there\.csv"/],
      [{ sourceUrl: `s3://${'l'.repeat(3)}/x`, targetObjectName: 'a' }, /NoSuchBucket|404/],
    ] as const) {
      const { status, message } = await transfer(parameters);
      assert.equal(status, 'FAILED');
      assert.match(message, reason);
    }
    assert.deepEqual(readdirSync(scene.filesFolder), []);
  });
});

describe('file-iterator over a store', () => {
  it('gives the attributes of each object, in the order of their keys', async () => {
    const names = ['folder', 'sub', 'name', 'size'];
    for (const key of ['in/b.csv', 'in/a.csv', 'in/sub/c.csv', 'in/x.txt', 'in/sub/', 'other.csv'])
      s3.put(key, key);
    await scene.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Each'),
          Each: {
            type: 'file-iterator',
            iterationTarget: 'Print',
            parameters: {
              inputDataType: 'S3',
              inputDataUrl1: `s3://${s3.bucket}/in`,
              endpoint: s3.endpoint,
              filterRegex: '.*[.]csv',
              recursive: 'Yes',
              variables: [
                ['folder', 'Base Folder'],
                ['sub', 'Subfolder'],
                ['name', 'Filename'],
                ['size', 'Size'],
              ],
            },
          },
          Print: {
            type: 'print-variables',
            parameters: { variablesToPrint: names.map((name) => [name]), includeVariableName: 'No' },
          },
        },
        Object.fromEntries(names.map((name) => [name, text('')])),
      ),
    });
    const outcome = await scene.run('p');
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    const folder = `s3://${s3.bucket}/in`;
    const printed = scene.lines.join(' ');
    const expected = [
      [folder, '', 'a.csv', '8'],
      [folder, '', 'b.csv', '8'],
      [folder, 'sub', 'c.csv', '12'],
    ];
    assert.equal(printed.replaceAll(/\s+/g, ' ').trim(), expected.flat().join(' ').replaceAll(/\s+/g, ' '));
  });
});
