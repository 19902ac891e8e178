/** A load in the processes of the agent: what stays in which, and what is left when one of them dies. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, test } from 'node:test';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { startFakeApi } from '../../testing/fake-api.ts';

const api = await startFakeApi();
const scene = await openConnectorScene(new Map([['token', 'correct-token']]));
const database = await scene.connect();
after(async () => {
  await database.close();
  await scene.close();
  await api.close();
});

const profile = JSON.stringify({
  name: 'Shop',
  endpoints: [
    {
      name: 'Orders',
      url: `${api.origin}/orders`,
      auth: 'BEARER',
      paging: { type: 'page' },
      structure: { repeatingElementPath: ['data'] },
    },
  ],
});
const pipeline = (more: object = {}) =>
  JSON.stringify({
    type: 'orchestration',
    version: '1.0',
    pipeline: {
      components: {
        Start: { type: 'start', parameters: {}, transitions: { unconditional: ['Load'] } },
        Load: {
          type: 'modular-api-extract-input-v2',
          parameters: {
            'api-extract-input-v2': {
              profile: 'custom-shop',
              endpoint: 'Orders',
              connectionRef: { overrides: { token: 'token' } },
              loadSelectedData: 'Yes',
            },
            'snowflake-output-connector-v0': { tableName: 'orders', createTableMode: 'REPLACE_IF_EXISTS' },
          },
          ...more,
        },
      },
    },
    design: {},
  });
const files = (more: object = {}) => ({
  'main.orch.yaml': pipeline(more),
  'connector-profile:custom-shop.json': profile,
});

test('the rows are loaded, and the secret is masked in all reports', async () => {
  api.answer(({ headers, query }) => ({
    data: query.get('page') === '1' ? [{ id: 1, said: headers.authorization }, { id: 2 }] : [],
  }));
  const { status, message, steps, lineage } = await scene.run(files(), 'main');
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual((await database.query('select id, said from orders order by id', 10)).rows, [
    [1, 'Bearer correct-token'],
    [2, null],
  ]);
  const step = steps.find(({ name }) => name === 'Load');
  assert.equal(step?.rowCount, 2);
  assert.ok(!JSON.stringify(steps).includes('correct-token'));
  assert.deepEqual(lineage[0]?.inputs, [{ kind: 'api', name: 'custom-shop/Orders' }]);
  assert.deepEqual(
    lineage[0]?.outputs.map(({ name, columns }) => [name, columns?.map((column) => column.inputs[0]?.field)]),
    [['warehouse.main.orders', ['id', 'said']]],
  );
  assert.deepEqual(readdirSync(scene.filesFolder), []);
});

test('a load that runs out of time ends its request, and leaves the table and no file', async () => {
  api.answer(({ query }) => (query.get('page') === '1' ? { data: [{ id: 9 }] } : undefined));
  const { status, message } = await scene.run(files({ attempts: { timeoutSeconds: 1 }, timeout: 1 }), 'main');
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', /timeout of 1 s/);
  assert.equal((await database.query('select id from orders', 10)).rows.length, 2);
  assert.deepEqual(readdirSync(scene.filesFolder), []);
});

test('a fault that would come again is known as such in the process of the run', async () => {
  let requests = 0;
  api.answer((_, response) => {
    requests += 1;
    response.writeHead(404).end();
  });
  const { status, message } = await scene.run(files({ retries: 3 }), 'main');
  assert.deepEqual([status, requests], ['FAILED', 1]);
  assert.match(message ?? '', /answered 404 .*not run again/);
});

test('a page that needs more memory than a run has ends the run alone', async () => {
  api.answer((_, response) => void response.end(`{"data": [${'[],'.repeat(5_000_000)}[]]}`));
  const { status, message } = await scene.run(files(), 'main');
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', /exceeded its limit of \d+ MB|larger than 16 MiB/);
  assert.equal((await database.query('select id from orders', 10)).rows.length, 2);
  assert.deepEqual(readdirSync(scene.filesFolder), []);
});
