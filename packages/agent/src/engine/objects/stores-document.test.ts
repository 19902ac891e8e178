/** The examples of docs/stores/s3.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startFakeS3 } from '../../../testing/fake-s3.ts';
import { openStoreScene } from '../../../testing/store-scene.ts';

const s3 = await startFakeS3();
const { accessKeyId, secretAccessKey } = s3;
const key = { accessKeyId, secretAccessKey };
const scene = await openStoreScene({ secrets: { 'lake-reader': key, 'lake-writer': key } });
after(async () => {
  scene.dispose();
  await s3.close();
});

const page = readFileSync(new URL('../../../../../docs/stores/s3.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, example = '']) => example);
const isPipeline = (example: string) => example.startsWith('type: ');

test('the example loads what is new in the bucket', async () => {
  const written = examples.find(isPipeline) ?? '';
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

test('the components after it load JSON and from a stage, write a query, and run for each object', async () => {
  const components = examples.slice(examples.findIndex(isPipeline) + 1).join('');
  const here = `        endpoint: ${s3.endpoint}\n        credentials:`;
  const variables = ['folder', 'name', 'size'].map(
    (name) => `    ${name}: { metadata: { type: TEXT }, defaultValue: "" }`,
  );
  await scene.publish({
    'q.orch.yaml': [
      'type: orchestration\npipeline:\n  components:\n    Start:\n      type: start\n      transitions:',
      '        unconditional: [Load the customers, Make the stage, Totals by day, Each file]',
      `${components.replaceAll('        credentials:', here)}  variables:\n${variables.join('\n')}`,
    ].join('\n'),
  });
  await scene.rows('create table customers (name varchar, id integer)');
  s3.put('customers/a.json', '[{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}]');
  const { status, message } = await scene.run('q');
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(await scene.rows('select name, id from customers order by id'), [
    ['Ann', 1],
    ['Bob', 2],
  ]);
  const totals = String(s3.objects.get('out/totals.csv')?.bytes);
  assert.match(totals, /^ordered_on,amount\n/);
  assert.ok(totals.includes('2026-01-31,10.50\n'), totals);
  assert.match(scene.lines.join('\n'), /2026-03\.csv/);
  const fromStage = [...scene.steps.values()].find(({ name }) => name === 'Load from the stage');
  assert.match(fromStage?.message ?? '', /the table has all 2 objects that match/);
});
