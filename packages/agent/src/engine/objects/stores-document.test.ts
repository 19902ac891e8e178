/** The example of docs/stores.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startFakeS3 } from '../../../testing/fake-s3.ts';
import { openStoreScene } from '../../../testing/store-scene.ts';

const s3 = await startFakeS3();
const { accessKeyId, secretAccessKey } = s3;
const scene = await openStoreScene({ secrets: { 'lake-reader': { accessKeyId, secretAccessKey } } });
after(async () => {
  scene.dispose();
  await s3.close();
});

test('the example loads what is new in the bucket', async () => {
  const page = readFileSync(new URL('../../../../../docs/stores.md', import.meta.url), 'utf8');
  const [, written = ''] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  s3.bucket = 'example-lake';
  s3.region = 'eu-central-1';
  const here = `region: eu-central-1\n        endpoint: ${s3.endpoint}`;
  await scene.publish({ 'p.orch.yaml': written.replace('region: eu-central-1', here) });
  s3.put('orders/2026-01.csv', 'id,on,amount\n1,"31/01/2026",10.50\n2,wrong,1\n');
  s3.put('orders/2026-02.csv.gz', gzipSync('id,on,amount\n3,28/02/2026,7\n'));
  s3.put('orders/notes.txt', 'not an order');
  const first = await scene.run('p');
  assert.equal(first.status, 'SUCCESS', first.message);
  assert.match(
    scene.lines.join('\n'),
    /2026-01\.csv, row 2 after the header: "wrong" does not fit the column/,
  );
  s3.put('orders/2026-03.csv', 'id,on,amount\n4,01/03/2026,\n');
  assert.equal((await scene.run('p')).status, 'SUCCESS');
  assert.deepEqual(
    await scene.rows('select id::integer, ordered_on::varchar, amount::varchar from orders order by id'),
    [
      [1, '2026-01-31', '10.50'],
      [3, '2026-02-28', '7.00'],
      [4, '2026-03-01', null],
    ],
  );
});
