/** Loads from an object store in the processes of the agent: lineage, masked secrets, and a run that is killed. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, beforeEach, test } from 'node:test';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { startFakeS3 } from '../../testing/fake-s3.ts';
import { createWorkbook } from '../../testing/workbook.ts';

const s3 = await startFakeS3();
const { accessKeyId, secretAccessKey } = s3;
const scene = await openConnectorScene(new Map([['lake', JSON.stringify({ accessKeyId, secretAccessKey })]]));
const database = await scene.connect();
after(async () => {
  await database.close();
  await scene.close();
  await s3.close();
});
beforeEach(() => {
  s3.objects.clear();
  s3.intercept = () => undefined;
});

const load = (type: string, parameters: object = {}) => ({
  'main.orch.yaml': JSON.stringify({
    type: 'orchestration',
    version: '1.0',
    pipeline: {
      components: {
        Start: { type: 'start', parameters: {}, transitions: { unconditional: ['It'] } },
        It: {
          type,
          parameters: {
            s3ObjectPrefix: `s3://${s3.bucket}/in/`,
            endpoint: s3.endpoint,
            credentials: 'lake',
            targetTable: 'orders',
            ...parameters,
          },
        },
      },
    },
    design: {},
  }),
});

test('a way by which only another warehouse reaches a store is refused at the run', async () => {
  await database.execute('create or replace table orders (id integer, name varchar)');
  for (const parameters of [
    { credentials: '', authentication: 'Storage Integration', storageIntegration: 'LAKE' },
    { iamRoleArn: 'default' },
  ])
    for (const [type, more] of [
      ['s3-load', {}],
      ['s3-unload', { filePrefix: 'a.csv' }],
    ] as const) {
      const { status, message } = await scene.run(load(type, { ...parameters, ...more }), 'main');
      assert.equal(status, 'FAILED');
      assert.match(message ?? '', /is for the warehouse REDSHIFT, and .* for SNOWFLAKE: clear it/);
    }
});

test('objects are loaded, traced and counted, and secrets are masked', async () => {
  await database.execute('create or replace table orders (id integer, name varchar)');
  s3.put('in/a.csv', 'id,name\n1,x\n2,y,z\nn,q\n');
  const run = await scene.run(load('s3-load', { skipHeader: '1', onError: 'Continue' }), 'main');
  assert.equal(run.status, 'SUCCESS', run.message);
  const step = run.steps.find(({ name }) => name === 'It');
  assert.deepEqual([step?.rowCount, step?.byteCount], [1, 22]);
  assert.match(step?.message ?? '', /^1 row from 1 object\n2 faults:/);
  assert.match(step?.sql ?? '', /read_csv\('s3:\/\/lake-of-tests\/in\/a\.csv'/);
  assert.doesNotMatch(JSON.stringify(run), /partial'|secret of the tests|AKIATEST/);
  const [lineage] = run.lineage;
  assert.deepEqual(
    lineage?.inputs.filter(({ kind }) => kind === 'object').map(({ name }) => name),
    ['s3://lake-of-tests/in/a.csv'],
  );
  assert.ok(lineage?.outputs.some(({ name }) => name.endsWith('.orders')));
  assert.deepEqual(readdirSync(scene.filesFolder), []);
});

test('a sheet is converted by the agent, traced, and loaded', async () => {
  const cells = (row: number, ...values: string[]) =>
    `<row r="${row}">${values.map((value) => `<c t="inlineStr"><is><t>${value}</t></is></c>`).join('')}</row>`;
  s3.put('in/a.xlsx', createWorkbook({ sheets: { One: cells(1, 'name') + cells(2, 'Ann') } }));
  const storageUrl = `s3://${s3.bucket}/in/a.xlsx`;
  const run = await scene.run(load('excel-query', { storageUrl, s3ObjectPrefix: undefined }), 'main');
  assert.equal(run.status, 'SUCCESS', run.message);
  const step = run.steps.find(({ name }) => name === 'It');
  assert.match(step?.sql ?? '', /read_json\('s3:\/\/lake-of-tests\/in\/a\.xlsx'/);
  assert.doesNotMatch(JSON.stringify(run), /partial'|secret of the tests|AKIATEST/);
  assert.deepEqual(
    run.lineage.flatMap(({ inputs }) => inputs).map(({ name }) => name),
    ['s3://lake-of-tests/in/a.xlsx'],
  );
  assert.deepEqual((await database.query('select * from orders', 10)).rows, [['Ann']]);
  assert.deepEqual(readdirSync(scene.filesFolder), []);
});

test('a run that is killed while it loads leaves nothing, and the next one loads all', async () => {
  await database.execute('create or replace table orders (id integer)');
  s3.put('in/a.csv', '1\n');
  s3.put('in/b.csv', '2\n');
  const kill = new AbortController();
  s3.intercept = ({ method, key }, response) => {
    if (method !== 'GET' || key !== 'in/b.csv') return undefined;
    response.writeHead(200, { 'content-length': '2' });
    response.write('2', () => kill.abort(new Error('the agent stops')));
    return true;
  };
  await assert.rejects(
    scene.run(load('s3-load'), 'main', { kill: kill.signal }).then(({ status, message }) => {
      throw new Error(`${status} ${message}`);
    }),
  );
  assert.deepEqual((await database.query('select * from orders', 10)).rows, []);
  assert.deepEqual(readdirSync(scene.filesFolder), []);
  s3.intercept = () => undefined;
  const next = await scene.run(load('s3-load'), 'main');
  assert.equal(next.status, 'SUCCESS', next.message);
  assert.deepEqual((await database.query('select id from orders order by id', 10)).rows, [[1], [2]]);
});

test('rows are written to an object, which is an output of the lineage', async () => {
  await database.execute('create or replace table orders as select 1 as id');
  const parameters = { filePrefix: 'out.csv', singleFile: 'True', compression: 'NONE' };
  const run = await scene.run(load('s3-unload', parameters), 'main');
  assert.equal(run.status, 'SUCCESS', run.message);
  assert.equal(String(s3.objects.get('in/out.csv')?.bytes), 'id\n1\n');
  const outputs = run.lineage.flatMap((each) => each.outputs);
  assert.deepEqual(
    outputs.map(({ kind, name }) => [kind, name]),
    [['object', 's3://lake-of-tests/in/out.csv']],
  );
});
