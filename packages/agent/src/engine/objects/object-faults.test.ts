/** Loads from a store that throttles and drops, of many small objects, and of files that are odd. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateRawSync } from 'node:zlib';
import { type FakeS3, startFakeS3 } from '../../../testing/fake-s3.ts';
import { openStoreScene, type StoreScene } from '../../../testing/store-scene.ts';

let s3: FakeS3;
let scene: StoreScene;
beforeEach(async () => {
  s3 = await startFakeS3();
  const { accessKeyId, secretAccessKey } = s3;
  scene = await openStoreScene({ secrets: { lake: { accessKeyId, secretAccessKey } } });
});
afterEach(async () => {
  const left = readdirSync(scene.filesFolder);
  scene.dispose();
  await s3.close();
  assert.deepEqual(left, [], 'nothing of an object is left on the disk');
});

const load = (parameters: Readonly<Record<string, unknown>> = {}) =>
  scene.component('s3-load', {
    ...{ s3ObjectPrefix: `s3://${s3.bucket}/in/`, region: s3.region, endpoint: s3.endpoint },
    ...{ credentials: 'lake', fileType: 'CSV', targetTable: 't' },
    ...parameters,
  });

const isObject = ({ method, key }: { method: string; key: string }) =>
  method === 'GET' && key.startsWith('in/');

describe('loads of objects', () => {
  it('come through a store that throttles and drops connections', async () => {
    await scene.rows('create table t (id integer, filler varchar)');
    const filler = 'x'.repeat(100_000);
    for (let id = 0; id < 40; id += 1) s3.put(`in/${id}.csv`, `${id},${filler}\n`);
    // By object, so that none is refused more often than it is asked for.
    const requests = new Map<string, number>();
    s3.intercept = (asked, response) => {
      const count = (requests.get(asked.key) ?? 0) + 1;
      requests.set(asked.key, count);
      const id = Number(/(\d+)\.csv$/.exec(asked.key)?.[1] ?? 0);
      if (id % 3 === 0 && count === 1) {
        response.writeHead(503, { 'retry-after': '2' }).end('<Error><Code>SlowDown</Code></Error>');
        return true;
      }
      if (!isObject(asked) || id % 5 !== 0 || count > 2) return undefined;
      const bytes = s3.objects.get(asked.key)?.bytes ?? Buffer.alloc(0);
      const from = Number(/^bytes=(\d+)-/.exec(asked.headers.range ?? '')?.[1] ?? 0);
      const head = {
        'content-length': bytes.length - from,
        'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`,
      };
      response.writeHead(from === 0 ? 200 : 206, head);
      response.write(bytes.subarray(from, from + 30_000), () => response.destroy());
      return true;
    };
    const { status, message } = await load();
    assert.deepEqual([status, message], ['SUCCESS', '40 rows from 40 objects']);
    assert.deepEqual(
      await scene.rows('select count(distinct id)::integer, min(length(filler))::integer from t'),
      [[40, 100_000]],
    );
  });

  it('fetch several objects at a time, and all in the order of the list', async () => {
    await scene.rows('create table t (id integer)');
    for (let id = 100; id < 164; id += 1) s3.put(`in/${id}.csv`, `${id}\n`);
    let [open, most] = [0, 0];
    s3.intercept = (asked, response) => {
      if (!isObject(asked)) return undefined;
      open += 1;
      most = Math.max(most, open);
      const bytes = s3.objects.get(asked.key)?.bytes ?? '';
      void sleep(20).then(() => {
        open -= 1;
        response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
      });
      return true;
    };
    assert.equal((await load()).message, '64 rows from 64 objects');
    assert.ok(most > 1 && most <= 8, `${most} at a time`);
    const [[inOrder]] = (await scene.rows('select list(id) = list_sort(list(id)) from t')) as [[boolean]];
    assert.equal(inOrder, true);
  });

  it('one that fails ends the others, and nothing is loaded', async () => {
    await scene.rows('create table t (id integer)');
    for (let id = 0; id < 20; id += 1) s3.put(`in/${id}.csv`, `${id}\n`);
    let fetched = 0;
    s3.intercept = (asked, response) => {
      if (!isObject(asked)) return undefined;
      fetched += 1;
      if (asked.key !== 'in/0.csv') return false;
      response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
      return true;
    };
    const { status, message } = await load();
    assert.equal(status, 'FAILED');
    assert.match(message, /in\/0\.csv.*AccessDenied/);
    assert.ok(fetched < 20, `${fetched} were fetched`);
    assert.deepEqual(await scene.rows('select count(*)::integer from t'), [[0]]);
  });

  it('name a row of 100 MB by its object and place', async () => {
    await scene.rows('create table t (text varchar)');
    s3.put('in/a.csv', Buffer.concat([Buffer.from('short\n'), Buffer.alloc(100_000_000, 'x')]));
    const { status, message } = await load();
    assert.equal(status, 'FAILED');
    assert.match(message, /in\/a\.csv" has a line of 100000000 bytes at byte 6; the limit is 2000000/);
  });

  it('read rows that end with other characters', async () => {
    await scene.rows('create table t (id integer, name varchar)');
    s3.put('in/a.csv', '1,a|#2,|#3,c#|#4,d');
    s3.put('in/b.csv', deflateRawSync('5,e|#'.repeat(50_000)));
    const options = { recordDelimiter: '|#', compression: 'NONE', pattern: '.*a[.]csv' };
    assert.equal((await load(options)).message, '4 rows from 1 object');
    assert.deepEqual(await scene.rows('select * from t order by id'), [
      [1, 'a'],
      [2, null],
      [3, 'c#'],
      [4, 'd'],
    ]);
    const packed = await load({ ...options, compression: 'RAW_DEFLATE', pattern: '.*b[.]csv' });
    assert.equal(packed.message, '50000 rows from 1 object');
    s3.put('in/c.csv', '1,a\nb|#');
    const broken = await load({ ...options, pattern: '.*c[.]csv' });
    assert.match(broken.message, /in\/c\.csv".*line breaks within rows that end with "recordDelimiter"/);
    const enclosed = await load({ ...options, fieldOptionallyEnclosed: '"' });
    assert.match(enclosed.message, /"recordDelimiter" is "\|#", and values are enclosed or escaped/);
  });
});
