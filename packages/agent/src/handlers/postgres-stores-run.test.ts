/** Files and objects of a project in PostgreSQL, in the processes of the agent. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { startFakeS3 } from '../../testing/fake-s3.ts';
import { createTestPostgres } from '../../testing/postgres.ts';

const postgres = await createTestPostgres();
const { driver, target } = postgres;
const s3 = await startFakeS3();
const { accessKeyId, secretAccessKey } = s3;
const secrets = new Map([
  ['warehouse-password', (await target.readSecret('warehouse-password')).reveal()],
  ['lake', JSON.stringify({ accessKeyId, secretAccessKey })],
]);
const scene = await openConnectorScene(secrets, undefined, {
  postgres: driver,
  warehouse: { kind: 'postgres', connection: target.connection },
});
after(async () => {
  await scene.close();
  await s3.close();
  await postgres.drop();
});

const pipeline = (type: string, parameters: object) => ({
  'main.orch.yaml': JSON.stringify({
    type: 'orchestration',
    version: '1.0',
    pipeline: {
      components: {
        Start: { type: 'start', transitions: { unconditional: ['It'] } },
        It: { type, parameters },
      },
    },
  }),
});
const { rows: databases } = await postgres.admin.query('select current_database() as name');
const table = `warehouse ${databases[0].name}.wh.t`;
const rows = async () =>
  (await postgres.admin.query({ text: 'select * from wh.t order by 1', rowMode: 'array' })).rows;
const namePlaces = ({ lineage }: Pick<Awaited<ReturnType<typeof scene.run>>, 'lineage'>) => [
  lineage.flatMap(({ inputs }) => inputs.map(({ kind, name }) => `${kind} ${name}`)),
  lineage.flatMap(({ outputs }) => outputs.map(({ kind, name }) => `${kind} ${name}`)),
  lineage.flatMap(({ gaps = [] }) => gaps),
];
const loadObjects = (parameters: object = {}) =>
  pipeline('s3-load', {
    ...{
      s3ObjectPrefix: `s3://${s3.bucket}/in/`,
      endpoint: s3.endpoint,
      credentials: 'lake',
      targetTable: 't',
    },
    ...{ fileType: 'CSV', skipHeader: '1', ...parameters },
  });

test('files of the version and of the folder, and objects, are loaded and traced', async () => {
  const load = pipeline('file-load', { source: 'data/t.csv', fileType: 'CSV', targetTable: 't' });
  const first = await scene.run({ ...load, 'data/t.csv': 'id,name\n1,x\n' }, 'main');
  assert.equal(first.status, 'SUCCESS', first.message);
  assert.deepEqual(await rows(), [['1', 'x']]);
  assert.doesNotMatch(JSON.stringify(first.steps), /partial/);
  assert.deepEqual(namePlaces(first), [['file data/t.csv'], [table], []]);
  writeFileSync(join(scene.filesFolder, 'more.json'), '{"id": 2, "name": "y"}\n');
  const append = { source: 'more.json', fileType: 'JSON', targetTable: 't', createReplace: 'Append' };
  const second = await scene.run(pipeline('file-load', append), 'main');
  assert.equal(second.status, 'SUCCESS', second.message);
  s3.put('in/a.csv', 'id,name\n3,z\nfour,z\n');
  const third = await scene.run(loadObjects({ onError: 'Continue' }), 'main');
  assert.equal(third.status, 'SUCCESS', third.message);
  assert.match(
    third.steps.find(({ name }) => name === 'It')?.message ?? '',
    /^1 row from 1 object\n1 fault:/,
  );
  assert.deepEqual(namePlaces(second), [['file more.json'], [table], []]);
  assert.deepEqual(namePlaces(third), [[table, `object s3://${s3.bucket}/in/a.csv`], [table], []]);
  assert.deepEqual(await rows(), [
    ['1', 'x'],
    ['2', 'y'],
    ['3', 'z'],
  ]);
  assert.deepEqual(readdirSync(scene.filesFolder), ['more.json']);
});

test('rows are written to files', async () => {
  const unload = { target: 'out/t.csv', fileType: 'CSV', query: 'select id from wh.t order by id' };
  const { status, message, lineage } = await scene.run(pipeline('file-unload', unload), 'main');
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(namePlaces({ lineage }), [[table], ['file out/t.csv'], []]);
  const toStore = pipeline('s3-unload', {
    ...{ s3ObjectPrefix: `s3://${s3.bucket}/out/`, endpoint: s3.endpoint, credentials: 'lake' },
    ...{ filePrefix: 't.parquet', singleFile: 'Yes', fileType: 'PARQUET', targetTable: 't' },
  });
  const unloaded = await scene.run(toStore, 'main');
  assert.equal(unloaded.status, 'SUCCESS', unloaded.message);
  assert.deepEqual(namePlaces(unloaded), [[table], [`object s3://${s3.bucket}/out/t.parquet`], []]);
  assert.equal(readFileSync(join(scene.filesFolder, 'out/t.csv'), 'utf8'), 'id\n1\n2\n3\n');
});

test('a killed run leaves the table, the server and the folder as they were', async () => {
  await postgres.admin.query(`truncate wh.t; create function wh.wait() returns trigger language plpgsql as
    $$ begin perform pg_sleep(case when new.id = 6 then 600 else 0 end); return new; end $$;
    create trigger wait before insert on wh.t for each row execute function wh.wait()`);
  s3.objects.clear();
  s3.put('in/big.csv', `id,name\n${'5,some text\n'.repeat(100_000)}6,last\n`);
  const kill = new AbortController();
  let outcome = '';
  const running = scene.run(loadObjects(), 'main', { kill: kill.signal }).then(
    ({ message }) => {
      outcome = message ?? 'ended';
    },
    () => {
      outcome = 'killed';
    },
  );
  const copying =
    "select 1 from pg_stat_activity where query like '%COPY%FROM STDIN%' and wait_event = 'PgSleep' and pid <> pg_backend_pid()";
  while ((await postgres.admin.query(copying)).rowCount === 0) assert.equal(outcome, '');
  kill.abort(new Error('killed'));
  await running;
  assert.equal(outcome, 'killed');
  assert.equal((await postgres.admin.query(copying)).rowCount, 0);
  assert.deepEqual(await rows(), []);
  assert.deepEqual(readdirSync(scene.filesFolder).sort(), ['more.json', 'out']);
  s3.objects.clear();
  s3.put('in/a.csv', 'id,name\n7,next\n');
  assert.equal((await scene.run(loadObjects(), 'main')).status, 'SUCCESS', 'the next run works');
  assert.deepEqual(await rows(), [['7', 'next']]);
});
