/**
 * Settings of the store of published files: invalid ones prevent the start, and the error names the
 * setting.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { startFakeS3 } from '../../testing/fake-s3.ts';
import { loadConfig } from './config.ts';
import { openObjects } from './objects.ts';

const s3 = await startFakeS3();
const folder = await mkdtemp(join(tmpdir(), 'headgate-objects-'));
afterEach(() => s3.behave(() => 'serve'));
after(async () => {
  await s3.close();
  await rm(folder, { recursive: true });
});

const good = {
  HEADGATE_DATA_DIR: folder,
  HEADGATE_BLOB_STORE: 's3',
  HEADGATE_BLOB_BUCKET: s3.bucket,
  HEADGATE_BLOB_REGION: s3.region,
  HEADGATE_BLOB_ENDPOINT: s3.endpoint,
  HEADGATE_BLOB_PATH_STYLE: 'on',
  HEADGATE_BLOB_ACCESS_KEY_ID: s3.accessKeyId,
  HEADGATE_BLOB_SECRET_ACCESS_KEY: s3.secretAccessKey,
};

test('all invalid settings are named', () => {
  const bad: [Record<string, string>, RegExp][] = [
    [{ HEADGATE_BLOB_STORE: 'disk' }, /HEADGATE_BLOB_STORE must be one of folder, s3/],
    [{ HEADGATE_BLOB_BUCKET: 'a bucket!' }, /HEADGATE_BLOB_BUCKET must be/],
    [{ HEADGATE_BLOB_BUCKET: '' }, /HEADGATE_BLOB_STORE=s3 needs HEADGATE_BLOB_BUCKET/],
    [
      { HEADGATE_BLOB_STORE: 'folder' },
      /HEADGATE_BLOB_BUCKET has an effect only with HEADGATE_BLOB_STORE=s3/,
    ],
    [{ HEADGATE_BLOB_PREFIX: '../up' }, /HEADGATE_BLOB_PREFIX must be/],
    [{ HEADGATE_BLOB_PREFIX: '/absolute' }, /HEADGATE_BLOB_PREFIX must be/],
    [{ HEADGATE_BLOB_REGION: 'Oslo 1' }, /HEADGATE_BLOB_REGION must be/],
    [{ HEADGATE_BLOB_ENDPOINT: 'minio:9000' }, /HEADGATE_BLOB_ENDPOINT must be a URL/],
    [{ HEADGATE_BLOB_PATH_STYLE: 'yes' }, /HEADGATE_BLOB_PATH_STYLE must be on or off/],
    [{ HEADGATE_BLOB_ACCESS_KEY_ID: '' }, /HEADGATE_BLOB_ACCESS_KEY_ID and .* must be set together/],
    [{ HEADGATE_BLOB_GRACE_HOURS: '0' }, /HEADGATE_BLOB_GRACE_HOURS must be a whole number from 1/],
  ];
  for (const [settings, fault] of bad)
    assert.throws(() => loadConfig({ ...good, ...settings }), fault, JSON.stringify(settings));
});

test('a working bucket is used below its prefix, and the test of it leaves nothing', async () => {
  const store = await openObjects(loadConfig({ ...good, HEADGATE_BLOB_PREFIX: 'some/where/' }));
  store.close();
  assert.equal(s3.objects.size, 0);
  for (const request of s3.requests) assert.match(request, / (some\/where\/probe-[0-9a-f-]{36})?$/);
});

test('a bucket that does not work prevents the start; the error names the setting and contains no secret', async () => {
  const faults: [Record<string, string>, RegExp][] = [
    [{ HEADGATE_BLOB_BUCKET: 'another' }, /"another" .* NoSuchBucket.*Check HEADGATE_BLOB_BUCKET/],
    [{ HEADGATE_BLOB_ACCESS_KEY_ID: 'AKIANOBODY' }, /Check HEADGATE_BLOB_ACCESS_KEY_ID/],
    [{ HEADGATE_BLOB_SECRET_ACCESS_KEY: 'wrong' }, /SignatureDoesNotMatch.*HEADGATE_BLOB_SECRET_ACCESS_KEY/],
    [{ HEADGATE_BLOB_REGION: 'mars-1' }, /Check HEADGATE_BLOB_REGION/],
    [{ HEADGATE_BLOB_ENDPOINT: 'http://127.0.0.1:1' }, /ECONNREFUSED.*Check HEADGATE_BLOB_ENDPOINT/],
  ];
  for (const [settings, expected] of faults) {
    const failure: Error = await openObjects(loadConfig({ ...good, ...settings })).then(
      () => assert.fail('the bucket works'),
      (reason) => reason,
    );
    assert.match(failure.message, expected);
    assert.ok(!failure.message.includes(s3.secretAccessKey));
  }
  s3.behave((method) => (method === 'DELETE' ? 'refuse' : 'serve'));
  await assert.rejects(
    openObjects(loadConfig(good)),
    /AccessDenied.*lack the permission to put, get, list or delete/,
  );
  s3.objects.clear();
});

test('a folder that cannot be used prevents the start', async () => {
  await writeFile(join(folder, 'blobs'), '');
  await assert.rejects(
    openObjects(loadConfig({ HEADGATE_DATA_DIR: folder })),
    /The folder .*blobs cannot be used/,
  );
});
