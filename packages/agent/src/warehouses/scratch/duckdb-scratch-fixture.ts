/** An environment with tables, views, macros and sequences, for the tests of scratch databases. */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConfinement } from '../../confinement/confinement.ts';
import { createFolders } from '../../host/folders.ts';
import { createLog } from '../../log.ts';
import { createDuckdbDriver } from '../duckdb.ts';
import type { WarehouseConnection } from '../warehouse.ts';

const place = { projectId: '11111111-1111-4111-8111-111111111111', environmentName: 'dev' };

const environment = [
  'create schema "an.A"',
  'create schema sales',
  'create sequence ids start 5',
  "create type mood as enum ('good', 'bad')",
  "create table orders (id integer primary key default nextval('ids'), customer varchar not null, amount decimal(12, 2), check (amount >= 0))",
  "insert into orders values (1, 'Ada', 10), (2, 'Bo', 20)",
  "comment on column orders.amount is '[UNIQUE amount]'",
  'create unique index orders_by_customer on orders (customer)',
  'create table lines (order_id integer references orders (id), n integer)',
  'insert into lines values (1, 1)',
  'create table sales."Gräße 表" (a integer)',
  'insert into sales."Gräße 表" values (1)',
  'create table "an.A".q as select 1 as a',
  'create view large as select * from orders where amount > 15',
  'create view sales.larger as select * from large where amount > 18',
  'create macro total() as (select sum(amount) from orders)',
  'create macro all_orders() as table select * from orders',
];

/** What is in the environment: every object, and every row. */
async function takeFingerprint(real: WarehouseConnection): Promise<string> {
  const found: unknown[] = [];
  const read = async (sql: string) => found.push((await real.query(sql, 100_000)).rows);
  const own = 'where database_name = current_database()';
  await read(`select schema_name, table_name, sql, comment from duckdb_tables() ${own} order by all`);
  await read(
    `select schema_name, view_name, sql, comment from duckdb_views() ${own} and not internal order by all`,
  );
  await read(
    `select schema_name, sequence_name, last_value, sql from duckdb_sequences() ${own} order by all`,
  );
  await read(
    `select schema_name, function_name, macro_definition from duckdb_functions() ${own} and not internal order by all`,
  );
  await read(`select schema_name, type_name from duckdb_types() ${own} and not internal order by all`);
  await read(`select schema_name, index_name, sql from duckdb_indexes() ${own} order by all`);
  await read(`select schema_name from duckdb_schemas() ${own} order by all`);
  for (const table of ['orders', 'lines', 'sales."Gräße 表"', '"an.A".q'])
    await read(`select * from ${table} order by all`);
  return JSON.stringify(found);
}

export async function createScratchFixture() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-scratch-')));
  const folders = createFolders(root);
  const log = createLog({ level: 'error', write: (line) => console.log(line) });
  const confinement = await openConfinement(log);
  const driver = createDuckdbDriver({
    folders,
    bounds: {
      memoryMegabytes: 256,
      processMegabytes: 1_024,
      threads: 2,
      temporaryMegabytes: 64,
      idleSeconds: 60,
    },
    confinement,
    concurrency: 4,
    log,
  });
  const real = await driver.connect(place);
  const files = folders.files(place);
  for (const sql of environment) await real.execute(sql);
  writeFileSync(join(files, 'orders.csv'), 'id,customer,amount\n3,Cy,30\n');
  const filesFolder = join(files, 'of-a-test');
  mkdirSync(filesFolder);
  return {
    root,
    place,
    driver,
    real,
    files,
    filesFolder,
    /** The catalog of the environment. */
    catalog: 'dev',
    connect: () => driver.connectScratch(place, filesFolder),
    async takeFingerprint() {
      const outside = readdirSync(files, { recursive: true }).filter(
        (name) => !/^(?:of-a-test|\.tests)/.test(String(name)),
      );
      return `${await takeFingerprint(real)} ${outside.toSorted().join(' ')}`;
    },
  };
}
