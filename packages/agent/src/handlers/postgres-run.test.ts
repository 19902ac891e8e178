/** Runs in a project whose warehouse is PostgreSQL, through the handler and a process of runs. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { ProjectWarehouse } from '@headgate/contract';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { createTestPostgres } from '../../testing/postgres.ts';

const postgres = await createTestPostgres();
const { driver, target } = postgres;
const password = (await target.readSecret('warehouse-password')).reveal();
const secrets = new Map([['warehouse-password', password]]);
const openScene = (warehouse: ProjectWarehouse) =>
  openConnectorScene(secrets, undefined, { postgres: driver, warehouse });
const scene = await openScene({ kind: 'postgres', connection: target.connection });
after(async () => {
  await scene.close();
  await postgres.drop();
});

const render = (type: string, components: object) =>
  JSON.stringify({ type, version: '1.0', pipeline: { components } });
const orchestration = (name: string, component: object) => ({
  [name]: render('orchestration', {
    Start: { type: 'start', transitions: { unconditional: ['Step'] } },
    Step: component,
  }),
});
const script = (sqlScript: string) =>
  orchestration('main.orch.yaml', { type: 'sql-script', parameters: { sqlScript } });
const rows = async (sql: string) => (await postgres.admin.query({ text: sql, rowMode: 'array' })).rows;

describe('a run in PostgreSQL', () => {
  it('runs the SQL of users as it is written', async () => {
    const outcome = await scene.run(
      script(`create table orders (id serial primary key, tags text[], place jsonb);
        insert into orders (tags, place) values (array['a;b'], '{"city": "Oslo"}'::jsonb) returning id;
        create function twice(x integer) returns integer language plpgsql as $$ begin return x * 2; end; $$;
        update orders set tags = tags || 'c'::text where place ->> 'city' = 'Oslo' and twice(id) = 2`),
      'main',
    );
    assert.deepEqual([outcome.status, outcome.message], ['SUCCESS', undefined]);
    assert.deepEqual(await rows('select tags from wh.orders'), [[['a;b', 'c']]]);
    const step = outcome.steps.find(({ name }) => name === 'Step');
    assert.equal(step?.rowCount, 1);
  });

  it('names execution and component to those who watch the server, and stops when it is killed', async () => {
    const kill = new AbortController();
    const running = scene
      .run(script('select pg_sleep(60)'), 'main', { kill: kill.signal })
      .catch(() => 'killed');
    const active =
      "select application_name, query from pg_stat_activity where query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()";
    let found = await rows(active);
    while (found.length === 0) found = await rows(active);
    assert.deepEqual(found, [['hg:33333333-3333-4333-8333-333333333333', '/* Step */ select pg_sleep(60)']]);
    kill.abort(new Error('killed'));
    assert.equal(await running, 'killed');
    while ((await rows(active)).length > 0);
  });

  it('creates tables with keys that PostgreSQL keeps', async () => {
    const create = orchestration('make.orch.yaml', {
      type: 'create-table',
      parameters: {
        newTableName: 'Customers',
        createReplace: 'Replace',
        columns: [
          ['id', 'INTEGER'],
          ['name', 'VARCHAR', '20', '', '', 'No', 'Yes', 'Of the shop'],
        ],
        primaryKeys: ['id'],
      },
    });
    for (let turn = 0; turn < 2; turn += 1) assert.equal((await scene.run(create, 'make')).status, 'SUCCESS');
    const insert = script(
      `insert into "Customers" values (1, 'Ada'); insert into "Customers" values (1, 'Bob')`,
    );
    const { status, message = '' } = await scene.run(insert, 'main');
    assert.equal(status, 'FAILED');
    assert.match(message, /duplicate key value violates unique constraint .*\(23505\)/);
  });

  it('reports its lineage, with the names and columns that the server has', async () => {
    const transformation = (output: object) =>
      render('transformation', {
        Lines: { type: 'table-input', parameters: { targetTable: 'Lines', columnNames: [] } },
        Sum: {
          type: 'aggregate',
          sources: ['Lines'],
          parameters: { groupings: ['city'], aggregations: [['amount', 'Sum']] },
        },
        Out: output,
      });
    const make = transformation({
      type: 'rewrite-table',
      sources: ['Sum'],
      parameters: { targetTable: 'totals' },
    });
    const files = {
      'main.orch.yaml': render('orchestration', {
        Start: { type: 'start', transitions: { unconditional: ['Fill'] } },
        Fill: {
          type: 'sql-script',
          parameters: {
            sqlScript: `create table "Lines" (city text, amount numeric(10,2));
              insert into "Lines" values ('Oslo', 1.50)`,
          },
          transitions: { success: ['Make'] },
        },
        Make: {
          type: 'run-transformation',
          parameters: { transformationJob: 'make' },
          transitions: { success: ['Upsert'] },
        },
        Upsert: {
          type: 'sql-script',
          parameters: {
            sqlScript: `create table public.log (town text, n bigint);
              with old as (delete from totals returning *) insert into log select city, 1 from old`,
          },
        },
      }),
      'make.tran.yaml': make,
    };
    const { status, message, lineage } = await scene.run(files, 'main');
    assert.deepEqual([status, message], ['SUCCESS', undefined]);
    const [, made, moved] = lineage;
    const database = target.connection.properties.database;
    const prefix = database !== undefined && 'value' in database ? database.value : '';
    assert.deepEqual(
      { inputs: made?.inputs, outputs: made?.outputs },
      {
        inputs: [
          {
            kind: 'warehouse',
            name: `${prefix}.wh.Lines`,
            fields: [
              { name: 'city', type: 'text' },
              { name: 'amount', type: 'numeric(10,2)' },
            ],
          },
        ],
        outputs: [
          {
            kind: 'warehouse',
            name: `${prefix}.wh.totals`,
            fields: [
              { name: 'city', type: 'text' },
              { name: 'sum_amount', type: 'numeric' },
            ],
            createdOrReplaced: true,
            columns: [
              { name: 'city', inputs: [{ dataset: 0, field: 'city', transformation: 'IDENTITY' }] },
              { name: 'sum_amount', inputs: [{ dataset: 0, field: 'amount', transformation: 'AGGREGATED' }] },
            ],
            decidedBy: [{ dataset: 0, field: 'city' }],
            rowCount: 1,
          },
        ],
      },
    );
    assert.deepEqual(
      moved?.outputs.map(({ name, columns = [] }) => [name, columns.map((column) => column.name)]),
      [
        [`${prefix}.public.log`, ['town', 'n']],
        [`${prefix}.wh.totals`, []],
      ],
    );
    assert.deepEqual(moved?.outputs[0]?.columns?.[0]?.inputs, [
      { dataset: 0, field: 'city', transformation: 'IDENTITY' },
    ]);
    assert.deepEqual(
      lineage.flatMap(({ gaps = [] }) => gaps),
      [],
    );
  });

  it('refuses before its first step what works in the embedded warehouse only', async () => {
    const load = orchestration('load.orch.yaml', {
      type: 'api-query',
      parameters: { profile: 'shop', targetTable: 'a' },
    });
    const { message = '' } = await scene.run(load, 'load');
    assert.match(
      message,
      /api-query works in the embedded warehouse, DUCKDB, only, but the project's warehouse is POSTGRES/,
    );
    const external = orchestration('external.orch.yaml', {
      type: 'create-external-table-sf',
      parameters: { newTableName: 'a', location: 's3://lake/a/' },
    });
    assert.match(
      (await scene.run(external, 'external')).message ?? '',
      /create-external-table-sf works in .*POSTGRES: load the files with s3-load there/,
    );
  });
});

it('a run whose environment has no connection says how to set one', async () => {
  const bare = await openScene({ kind: 'postgres' });
  const { status, message = '' } = await bare.run(script('select 1'), 'main');
  assert.equal(status, 'FAILED');
  assert.match(
    message,
    /has no connection to POSTGRES: create a data warehouse connection, and set it as \{"defaultConnections"/,
  );
  await bare.close();
});

it('a run in a warehouse that no agent supports is refused by its name', async () => {
  const other = await openScene({ kind: 'databricks' });
  const { message = '' } = await other.run(script('select 1'), 'main');
  assert.match(
    message,
    /needs a warehouse of type DUCKDB, POSTGRES, REDSHIFT, SNOWFLAKE, but the project's warehouse is DATABRICKS/,
  );
  await other.close();
});
