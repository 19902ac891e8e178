/** Tables, columns and samples, from a real DuckDB and a real PostgreSQL. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, describe, it } from 'node:test';
import type { ProjectWarehouse, TableReadResult, TableReadWork } from '@headgate/contract';
import { createTestRedshift } from '../../testing/fake-redshift.ts';
import { createTestPostgres } from '../../testing/postgres.ts';
import { readingContext, readingServices } from '../../testing/reading-work.ts';
import {
  createOpenConfinement,
  createTestDriver,
  createTestWarehouses,
  makeWarehouseFolders,
  testPlace,
} from '../../testing/warehouse.ts';
import { createTableReadHandler } from './table-read.ts';

const { root, folders } = makeWarehouseFolders();
const confinement = createOpenConfinement();
const duckdb = createTestDriver(folders, confinement);
const postgres = await createTestPostgres();
const redshift = await createTestRedshift();
after(async () => {
  await duckdb.close();
  confinement.close();
  await rm(root, { recursive: true, force: true });
  await postgres.drop();
  await redshift.drop();
});

const handler = createTableReadHandler({
  warehouses: { ...createTestWarehouses(duckdb), postgres: postgres.driver, redshift: redshift.driver },
  ...readingServices(postgres.target.readSecret),
});

type Read = TableReadWork['read'];
type Member<Name extends string> = Extract<TableReadResult, Record<Name, unknown>>;

for (const { warehouse, home, comment } of [
  { warehouse: { kind: 'duckdb' }, home: 'main', comment: 'comment on' },
  {
    warehouse: { kind: 'postgres', connection: postgres.target.connection },
    home: 'wh',
    comment: 'comment on',
  },
  {
    warehouse: { kind: 'redshift', connection: redshift.target.connection },
    home: 'wh',
    comment: 'comment on',
  },
] satisfies { warehouse: ProjectWarehouse; home: string; comment: string }[]) {
  describe(`tables of ${warehouse.kind}`, async () => {
    const open = () =>
      warehouse.kind === 'duckdb' ? duckdb.connect(testPlace) : postgres.driver.connect(postgres.target);
    const writer = warehouse.kind === 'redshift' ? undefined : await open();
    after(() => writer?.close());
    // By the operator of the server: Redshift has no such statements.
    if (warehouse.kind === 'redshift')
      await redshift.admin.query(`set role ${redshift.runRole}; set search_path to wh`);
    const run = async (sql: string) =>
      void (writer === undefined ? await redshift.admin.query(sql) : await writer.execute(sql));
    await run(`create schema "net.sales"`);
    await run(
      'create table orders (id integer not null, city varchar(20), price decimal(10, 2), "at" timestamp)',
    );
    await run(
      "insert into orders select i, 'Oslo', 1.5, timestamp '2030-01-02 03:04:05' from generate_series(1, 300) s(i)",
    );
    await run('create view recent as select id from orders');
    await run('create table "net.sales"."a ""b"".c" ("x ""y""" integer, long varchar(5000))');
    await run(`insert into "net.sales"."a ""b"".c" values (1, repeat('é', 1000)), (2, repeat('é', 1001))`);
    await run('create table "net.sales".orders2 (id integer)');
    await run(`${comment} table orders is 'of the shop'`);
    await run(`${comment} column orders.city is 'where to'`);

    async function read<Name extends string>(input: Read, maxBytes = 262_144): Promise<Member<Name>> {
      const payload = { ...testPlace, warehouse, seconds: 30, maxBytes, read: input };
      const work = { workId: 'w', epoch: 1, kind: 'table-read' as const, leaseExpiresAt: '', payload };
      const outcome = await handler(work, readingContext);
      assert.equal(outcome.status, 'SUCCESS', outcome.message);
      return outcome.tableRead as Member<Name>;
    }
    const list = (input: Partial<Extract<Read, { type: 'list' }>> = {}) =>
      read<'tables'>({ type: 'list', offset: 0, limit: 100, ...input });

    it('lists tables and views by schema and name, a page at a time', async () => {
      const { tables, total } = await list();
      const names = tables.map(({ schema, name, kind }) => [schema, name, kind]);
      const expected = [
        [home, 'orders', 'TABLE'],
        [home, 'recent', 'VIEW'],
        ['net.sales', 'a "b".c', 'TABLE'],
        ['net.sales', 'orders2', 'TABLE'],
      ].toSorted(([one = ''], [two = '']) => (one < two ? -1 : one > two ? 1 : 0));
      assert.deepEqual([names, total], [expected, 4]);
      assert.equal(tables.find(({ name }) => name === 'orders')?.comment, 'of the shop');
      const second = await list({ offset: 1, limit: 2 });
      assert.deepEqual([second.tables, second.total], [tables.slice(1, 3), 4]);
      assert.deepEqual(await list({ offset: 9 }), { tables: [], total: 4 });
    });

    it('finds tables by a part of their name, as it is written', async () => {
      const find = async (contains: string) => (await list({ contains })).tables.map(({ name }) => name);
      assert.deepEqual((await find('RDERS')).toSorted(), ['orders', 'orders2']);
      assert.deepEqual(await find('%'), []);
      assert.deepEqual(await find("' or true --"), []);
    });

    it('describes a table with its columns', async () => {
      const { table } = await read<'table'>({ type: 'describe', name: 'orders' });
      assert.deepEqual(
        [table.schema, table.name, table.kind, table.comment],
        [home, 'orders', 'TABLE', 'of the shop'],
      );
      const columns = table.columns.map(({ name, type, nullable, comment: about }) => [
        name,
        type.toLowerCase(),
        nullable,
        about,
      ]);
      const types =
        warehouse.kind === 'duckdb'
          ? ['integer', 'varchar', 'decimal(10,2)', 'timestamp']
          : ['integer', 'character varying(20)', 'numeric(10,2)', 'timestamp without time zone'];
      assert.deepEqual(columns, [
        ['id', types[0], false, undefined],
        ['city', types[1], true, 'where to'],
        ['price', types[2], true, undefined],
        ['at', types[3], true, undefined],
      ]);
      const view = await read<'table'>({ type: 'describe', schema: home, name: 'recent' });
      assert.deepEqual([view.table.kind, view.table.columns.length, view.table.rows], ['VIEW', 1, undefined]);
    });

    it('knows rows and bytes where the warehouse does', async () => {
      const before = await read<'table'>({ type: 'describe', name: 'orders' });
      if (warehouse.kind !== 'postgres') {
        const rows = warehouse.kind === 'duckdb' ? 300 : undefined;
        assert.deepEqual([before.table.rows, before.table.bytes], [rows, undefined]);
        return;
      }
      await run('analyze');
      const { table } = await read<'table'>({ type: 'describe', name: 'orders' });
      assert.equal(table.rows, 300);
      assert.ok((table.bytes ?? 0) >= 8_192);
      const listed = (await list({ contains: 'orders' })).tables.find(({ name }) => name === 'orders');
      assert.deepEqual([listed?.rows, (listed?.bytes ?? 0) >= 8_192], [300, true]);
    });

    it('previews rows with their values, and says if there are more', async () => {
      const { preview } = await read<'preview'>({ type: 'preview', name: 'orders', maxRows: 200 });
      assert.deepEqual(preview.columns, ['id', 'city', 'price', 'at']);
      assert.deepEqual(preview.rows[0]?.slice(1), ['Oslo', 1.5, '2030-01-02T03:04:05']);
      assert.deepEqual([preview.rows.length, preview.isCut, preview.cutColumns], [200, true, []]);
      const few = await read<'preview'>({ type: 'preview', name: 'orders', maxRows: 200 }, 1_000);
      assert.ok(few.preview.rows.length < 100 && few.preview.rows.length > 0 && few.preview.isCut);
    });

    it('quotes names with dots and quotation marks, and cuts long values', async () => {
      const input = { schema: 'net.sales', name: 'a "b".c' };
      const { preview } = await read<'preview'>({ type: 'preview', ...input, maxRows: 2 });
      assert.deepEqual(preview, {
        columns: ['x "y"', 'long'],
        rows: [
          [1, 'é'.repeat(1_000)],
          [2, 'é'.repeat(1_000)],
        ],
        isCut: false,
        cutColumns: ['long'],
      });
    });

    it('proposes tables for a name that is unknown', async () => {
      const nearest = async (name: string, schema?: string) =>
        (await read<'nearest'>({ type: 'describe', name, ...(schema === undefined ? {} : { schema }) }))
          .nearest;
      assert.deepEqual(await nearest('recnet'), [`${home}.recent`]);
      assert.deepEqual(await nearest('recent', 'net.sales'), [`${home}.recent`]);
      assert.deepEqual(await nearest('a "b".d', 'net.sales'), ['"net.sales"."a ""b"".c"']);
      assert.deepEqual(await nearest('quite another one'), []);
    });
  });
}

it('shows no table that the role for reading may not read', async () => {
  const { admin, reader } = postgres;
  await admin.query(`revoke pg_read_all_data from ${reader}`);
  await admin.query(`grant usage on schema wh to ${reader}`);
  await admin.query(`grant select (id) on wh.orders to ${reader}`);
  const warehouse = { kind: 'postgres' as const, connection: postgres.target.connection };
  const read = async (input: Read) => {
    const payload = { ...testPlace, warehouse, seconds: 30, maxBytes: 10_000, read: input };
    const work = { workId: 'w', epoch: 1, kind: 'table-read' as const, leaseExpiresAt: '', payload };
    return (await handler(work, readingContext)).tableRead;
  };
  const { tables } = (await read({ type: 'list', offset: 0, limit: 9 })) as Member<'tables'>;
  assert.deepEqual(
    tables.map(({ name }) => name),
    ['orders'],
  );
  const { preview } = (await read({ type: 'preview', name: 'orders', maxRows: 1 })) as Member<'preview'>;
  assert.deepEqual(preview.columns, ['id'], 'and no column');
  assert.ok('nearest' in ((await read({ type: 'preview', name: 'recent', maxRows: 1 })) ?? {}));
});
