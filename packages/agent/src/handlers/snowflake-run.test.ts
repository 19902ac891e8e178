/** Runs and reads in a project whose warehouse is Snowflake, through the handlers and a process of runs. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { ProjectWarehouse, TableReadResult, TableReadWork } from '@headgate/contract';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { createTestSnowflake } from '../../testing/snowflake.ts';
import {
  createOpenConfinement,
  createTestDriver,
  createTestWarehouses,
  errorLog,
  makeWarehouseFolders,
} from '../../testing/warehouse.ts';
import type { Connectors } from '../connectors/connectors.ts';
import { removeTree } from '../host/folders.ts';
import { createConnectionTestHandler } from './connection-test.ts';
import { createTableReadHandler } from './table-read.ts';
import { createWarehouseQueryHandler } from './warehouse-query.ts';

const snowflake = await createTestSnowflake();
const { driver, target, fake } = snowflake;
const openScene = (warehouse: ProjectWarehouse) =>
  openConnectorScene(new Map(snowflake.secrets), undefined, { snowflake: driver, warehouse });
const warehouse = { kind: 'snowflake', connection: target.connection } as const;
const scene = await openScene(warehouse);
const { root, folders } = makeWarehouseFolders();
const confinement = createOpenConfinement();
const duckdb = createTestDriver(folders, confinement);
after(async () => {
  await scene.close();
  await duckdb.close();
  confinement.close();
  await removeTree(root);
  await snowflake.drop();
});

const orchestration = (name: string, component: object) => ({
  [name]: JSON.stringify({
    type: 'orchestration',
    version: '1.0',
    pipeline: {
      components: { Start: { type: 'start', transitions: { unconditional: ['Step'] } }, Step: component },
    },
  }),
});
const script = (sqlScript: string) =>
  orchestration('main.orch.yaml', { type: 'sql-script', parameters: { sqlScript } });
const listHistory = () =>
  [...fake.sessions.values()].flatMap(({ history, tag }) => history.map((sql) => [tag, sql]));

describe('a run in Snowflake', () => {
  it('runs the SQL of users as it is written, with the tag of the execution and the component in a comment', async () => {
    const sent: unknown[] = [];
    fake.intercept = ({ path, body }) => {
      if (path === '/queries/v1/query-request') sent.push(body.sqlText);
      return undefined;
    };
    const { status, message, steps } = await scene.run(
      script(
        'create table orders (id integer, place variant); insert into orders select 1, parse_json(\'{"city": "Oslo; x"}\'); select place:city::varchar from orders',
      ),
      'main',
    );
    fake.intercept = undefined;
    assert.deepEqual([status, message], ['SUCCESS', undefined]);
    assert.equal(steps.find(({ name }) => name === 'Step')?.rowCount, 1);
    // Then the lineage asks for columns.
    assert.deepEqual(sent.slice(0, 3), [
      '/* Step */ create table orders (id integer, place variant)',
      `/* Step */ insert into orders select 1, parse_json('{"city": "Oslo; x"}')`,
      '/* Step */ select place:city::varchar from orders',
    ]);
  });

  it('stops its statement when it is killed', async () => {
    const kill = new AbortController();
    const running = scene
      .run(script('select system$wait(60)'), 'main', { kill: kill.signal })
      .catch(() => 'killed');
    while (!listHistory().some(([, sql]) => String(sql).includes('system$wait(60)')))
      await new Promise(setImmediate);
    assert.deepEqual(listHistory().at(-1), [
      'hg:33333333-3333-4333-8333-333333333333',
      '/* Step */ select system$wait(60)',
    ]);
    kill.abort(new Error('killed'));
    assert.equal(await running, 'killed');
    assert.ok(!listHistory().some(([, sql]) => String(sql).includes('system$wait(60)')));
  });

  it('names component, line and place of what is wrong', async () => {
    const { status, message = '' } = await scene.run(
      script('select 1;\nselect 2 from\n  orders where 3 4'),
      'main',
    );
    assert.equal(status, 'FAILED');
    assert.match(
      message,
      /main\.orch\.yaml, line \d+: "Step" failed: SQL compilation error:\nsyntax error line 2 at position \d+ unexpected '4'/,
    );
    assert.match(message, /written, from line 2 of the SQL/);
  });

  it('keeps a transaction of a script whole', async () => {
    const { status } = await scene.run(
      script('begin; insert into orders (id) values (7); insert into no_table values (1); commit'),
      'main',
    );
    assert.equal(status, 'FAILED');
    const connection = await driver.connect(target);
    assert.deepEqual((await connection.query('select id from orders', 9)).rows, [[1]]);
    await connection.close();
  });

  it('refuses before its first step what works in the embedded warehouse only', async () => {
    const load = orchestration('load.orch.yaml', {
      type: 'file-load',
      parameters: { source: 'a.csv', fileType: 'CSV', targetTable: 'a' },
    });
    const { message = '' } = await scene.run(load, 'load');
    assert.match(
      message,
      /file-load works in the embedded warehouse, DUCKDB.* but the project's warehouse is SNOWFLAKE/,
    );
  });

  it('without a connection says how to set one', async () => {
    const bare = await openScene({ kind: 'snowflake' });
    const { status, message = '' } = await bare.run(script('select 1'), 'main');
    assert.equal(status, 'FAILED');
    assert.match(
      message,
      /has no connection to SNOWFLAKE: .* \{"defaultConnections": \{"DWH": \{"SNOWFLAKE"/,
    );
    await bare.close();
  });
});

const dependencies = {
  warehouses: { ...createTestWarehouses(duckdb), snowflake: driver },
  secretReferences: {
    read: (_: unknown, name: string) => target.readSecret(name),
    readCloud: async () => assert.fail('no cloud'),
  },
  connectors: { open: () => assert.fail('no endpoint') } as unknown as Connectors,
  log: errorLog,
};
const { signal } = new AbortController();
const unused = () => assert.fail('a read reports nothing before its end');
const context = {
  ...{ reportStarted: async () => undefined, step: unused, tested: unused, line: unused, variables: unused },
  ...{ conceal: () => undefined, cancel: signal, kill: signal },
};
const place = {
  projectId: '11111111-1111-4111-8111-111111111111',
  environmentName: 'dev',
  generation: 1,
  warehouse,
};
const work = { workId: '22222222-2222-4222-8222-222222222222', epoch: 1, leaseExpiresAt: '' };

describe('what people read in Snowflake', () => {
  const readTables = async (read: TableReadWork['read']): Promise<TableReadResult> => {
    const handler = createTableReadHandler(dependencies);
    const payload = { ...place, seconds: 30, maxBytes: 262_144, read };
    const outcome = await handler({ ...work, kind: 'table-read', payload }, context);
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    return outcome.tableRead ?? assert.fail();
  };

  it('tables, their columns and rows', async () => {
    await fake.prepare('create table "Prices" (id integer not null, price decimal(10, 2), note varchar)');
    await fake.prepare("insert into \"Prices\" values (1, 2.50, 'a\\b'), (2, null, repeat('x', 2000))");
    await fake.prepare('comment on table "Prices" is \'of the shop\'');
    const listed = await readTables({ type: 'list', offset: 0, limit: 10, contains: 'PRIC' });
    assert.ok('tables' in listed);
    assert.deepEqual(
      listed.tables.map(({ schema, name, kind }) => [schema, name, kind]),
      [['WH', 'Prices', 'TABLE']],
    );
    const described = await readTables({ type: 'describe', schema: 'WH', name: 'Prices' });
    assert.ok('table' in described);
    assert.deepEqual(
      described.table.columns.map(({ name, nullable }) => [name, nullable]),
      [
        ['id', false],
        ['price', true],
        ['note', true],
      ],
    );
    const seen = await readTables({ type: 'preview', schema: 'WH', name: 'Prices', maxRows: 1 });
    assert.ok('preview' in seen);
    assert.deepEqual([seen.preview.rows, seen.preview.isCut], [[[1, 2.5, 'a\\b']], true]);
    assert.deepEqual(await readTables({ type: 'describe', name: 'Pricez' }), { nearest: ['WH.Prices'] });
  });

  it('a query, by the user for reading', async () => {
    const handler = createWarehouseQueryHandler(dependencies);
    const query = async (sql: string) =>
      handler(
        {
          ...work,
          kind: 'warehouse-query',
          payload: { ...place, seconds: 30, sql, maxRows: 5, maxBytes: 10_000 },
        },
        context,
      );
    const { queryResult } = await query('select id from "Prices" order by id');
    assert.deepEqual(queryResult, { columns: ['id'], rows: [[1], [2]], isCut: false });
    const { status, message = '' } = await query('delete from "Prices"');
    assert.equal(status, 'FAILED');
    assert.match(message, /only one query that reads can run here: begin it with SELECT or WITH/);
  });

  it('whether the connection works', async () => {
    const handler = createConnectionTestHandler(dependencies);
    const test = async (properties: Record<string, string>) => {
      const { connection } = snowflake.change(properties);
      const payload = { ...place, authProvider: 'SNOWFLAKE', connection, seconds: 30 } as const;
      return (await handler({ ...work, kind: 'connection-test', payload }, context)).connectionTest;
    };
    const good = await test({});
    assert.deepEqual([good?.status, good?.serverVersion], ['OK', '9.31.2']);
    const bad = await test({ readRole: 'WRITING' });
    assert.equal(bad?.status, 'FAILED');
    assert.match(bad?.message ?? '', /WRITING has INSERT on TABLE/);
  });
});
