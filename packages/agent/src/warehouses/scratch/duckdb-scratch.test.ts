/** A test never changes the data of the environment (docs/adr/0046). */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
  createExpressionEngine,
  createScope,
  duckdb,
  parsePipeline,
  planTransformation,
  resolveParameters,
  type TransformationComponent,
} from '@headgate/pipelines';
import { removeTree } from '../../host/folders.ts';
import type { WarehouseConnection } from '../warehouse.ts';
import { createScratchFixture } from './duckdb-scratch-fixture.ts';

const fixture = await createScratchFixture();
const { real, catalog, files, filesFolder } = fixture;
after(async () => {
  await fixture.driver.close();
  await removeTree(fixture.root);
});
const unchanged = await fixture.takeFingerprint();

async function withTest(work: (test: WarehouseConnection) => Promise<void>): Promise<void> {
  const test = await fixture.connect();
  try {
    await work(test);
  } finally {
    await test.close();
  }
  assert.equal(await fixture.takeFingerprint(), unchanged);
}

const read = async (test: WarehouseConnection, sql: string) => (await test.query(sql, 1_000)).rows;

async function planTableUpdate(query: string, parameters: object): Promise<readonly string[]> {
  const components = {
    New: { type: 'sql', parameters: { query } },
    Out: { type: 'table-update', sources: ['New'], parameters },
  };
  const file = JSON.stringify({ type: 'transformation', version: '1.0', pipeline: { components } });
  const { pipeline } = parsePipeline('p.tran.yaml', file);
  assert.equal(pipeline?.type, 'transformation');
  const evaluation = { engine: createExpressionEngine(), scope: createScope([]), sysvar: {} };
  const resolve = (component: TransformationComponent) => resolveParameters(component.parameters, evaluation);
  const noQuery = { query: () => Promise.reject(new Error('there is no query')) };
  const { outputs } = await planTransformation(pipeline, duckdb, resolve, noQuery);
  return outputs.flatMap(({ statements }) => statements);
}

describe('the scratch database of a test', () => {
  it('lets statements behave as in the environment, and keeps what they write', () =>
    withTest(async (test) => {
      await test.execute("insert into orders (customer, amount) values ('Cy', 30)");
      assert.deepEqual(await read(test, 'select * from main.orders order by id'), [
        [1, 'Ada', 10],
        [2, 'Bo', 20],
        [5, 'Cy', 30],
      ]);
      await assert.rejects(test.execute("insert into orders values (1, 'Di', 1)"), /Duplicate key/);
      await assert.rejects(test.execute("insert into orders values (9, 'Ada', 1)"), /Duplicate key|unique/);
      await assert.rejects(test.execute("insert into orders values (9, 'Di', -1)"), /CHECK constraint/);
      await assert.rejects(test.execute('insert into lines values (77, 1)'), /foreign key/i);
      const marks =
        "select comment from duckdb_columns() where database_name = current_database() and table_name = 'orders' and comment is not null";
      assert.deepEqual(await read(test, marks), [['[UNIQUE amount]']]);
      assert.deepEqual(await read(test, 'select total()'), [[60]]);
      assert.deepEqual(await read(test, 'select count(*) from all_orders()'), [[3]]);
      assert.deepEqual(await read(test, 'select customer from sales.larger order by 1'), [['Bo'], ['Cy']]);
    }));

  it('runs a table-update', () =>
    withTest(async (test) => {
      const parameters = {
        schema: 'sales',
        targetTable: 'Gräße 表',
        joinExpression: [['"input"."old" = "target"."a"', 'Case']],
        whenMatched: [['true', 'Update']],
        updateMapping: [['new', 'a']],
      };
      for (const statement of await planTableUpdate('select 1 as old, 2 as new', parameters))
        await test.execute(statement);
      assert.deepEqual(await read(test, 'select a from sales."Gräße 表"'), [[2]]);
    }));

  it('runs every kind of statement that writes', () =>
    withTest(async (test) => {
      for (const sql of [
        'update "main"."orders" set amount = amount + 1',
        'UPDATE Orders SET amount = o.amount + 1 FROM (SELECT * FROM orders) o WHERE o.id = orders.id',
        "delete from orders where id = 2; insert into orders values (2, 'Bo', 20)",
        "merge into orders using (select 3 as id, 'Cy' as customer, 1 as amount) s on orders.id = s.id when matched then delete when not matched then insert",
        'create index lines_by_n on lines (n)',
        'alter table lines add column note varchar',
        'truncate table "an.A".q',
        'insert into "an.A".q by name select 7 as a',
        'with s as (select 8 as a) insert into "an.A".q select a from s',
        'insert into sales."Gräße 表" select a + 1 from sales."Gräße 表"',
        `delete from lines; delete from orders; copy orders from '${join(files, 'orders.csv')}'`,
        "comment on table lines is 'of a test'",
        "comment on column lines.n is 'of a test'",
        'insert into lines (order_id, n) values (3, 1)',
        'create or replace table lines as select n + 1 as n from lines',
        'create table if not exists orders (a integer)',
        'create view mine as select * from orders',
        'create or replace view large as select * from orders',
        'create schema s; create table s.t as from orders; drop schema s cascade',
        "create sequence one; select nextval('one'), nextval('ids')",
        'create temp table aside as from orders; insert into temp.main.aside from orders; drop table aside',
        'begin; insert into lines values (5); rollback',
        'begin transaction; delete from "an.A".q; commit; insert into "an.A".q values (9)',
        'explain analyze insert into "an.A".q values (10)',
        'pivot orders on customer using sum(amount)',
        'analyze orders; vacuum',
        'set variable x = 1',
      ])
        await test.execute(sql);
      assert.deepEqual(await read(test, 'select a from "an.A".q order by 1'), [[9], [10]]);
      assert.deepEqual(await read(test, 'select n from lines'), [[2]]);
    }));

  it('reads the rowid of tables of the environment, as the check of a merge does', () =>
    withTest(async (test) => {
      assert.deepEqual(await read(test, 'select count(distinct rowid), count(o.ROWID) from orders o'), [
        [2, 2],
      ]);
      const joined =
        'select count(l."rowid") from sales.larger s, orders o left join lines l on l.order_id = o.id';
      assert.deepEqual(await read(test, joined), [[1]]);
    }));

  it('lists its own tables in the information schema, once each', () =>
    withTest(async (test) => {
      await test.execute('create table mine as select 1 as a; drop table lines');
      const tables =
        'select table_schema, table_name, table_type from information_schema.tables where table_catalog = current_database() order by all';
      assert.deepEqual(await read(test, tables), [
        ['an.A', 'q', 'BASE TABLE'],
        ['main', 'large', 'VIEW'],
        ['main', 'mine', 'BASE TABLE'],
        ['main', 'orders', 'BASE TABLE'],
        ['sales', 'Gräße 表', 'BASE TABLE'],
        ['sales', 'larger', 'VIEW'],
      ]);
      const columns =
        'select c.column_name from "information_schema" . COLUMNS c where c.table_name = \'orders\' order by ordinal_position';
      assert.deepEqual(await read(test, columns), [['id'], ['customer'], ['amount']]);
      assert.deepEqual(await read(test, "select 'information_schema.tables'"), [
        ['information_schema.tables'],
      ]);
    }));

  it('keeps foreign keys in both directions', () =>
    withTest(async (test) => {
      await assert.rejects(test.execute('delete from orders'), /foreign key/);
      await assert.rejects(test.execute('truncate orders'), /foreign key/);
      await test.execute('delete from orders where id = 2');
      assert.deepEqual(await read(test, 'select id from orders'), [[1]]);
    }));

  it('makes a dropped or renamed table disappear for the test', () =>
    withTest(async (test) => {
      await test.execute('drop table if exists lines');
      await assert.rejects(read(test, 'select * from lines'), /does not exist/);
      await assert.rejects(read(test, 'select * from main.lines'), /does not exist/);
      await test.execute('alter table "an.A".q rename to old');
      await assert.rejects(read(test, 'select * from "an.A".q'), /does not exist/);
      assert.deepEqual(await read(test, 'select count(*) from "an.A".old'), [[1]]);
      await test.execute('drop view sales.larger');
      await assert.rejects(read(test, 'select * from sales.larger'), /does not exist/);
    }));

  const hostile = [
    `insert into ${catalog}.main.orders values (3, 'Cy', 3)`,
    `INSERT INTO "DEV"."main"."orders" VALUES (3, 'Cy', 3) RETURNING *`,
    `update ${catalog}.orders set amount = 0`,
    `update ${catalog}.main.orders set amount = o.amount from orders o`,
    `delete from ${catalog}.main.lines`,
    `truncate ${catalog}.main.lines`,
    `merge into ${catalog}.main.lines using orders o on o.id = order_id when matched then delete`,
    `with x as (select 1) insert into ${catalog}.main.lines select 1, 1 from x`,
    `create table ${catalog}.main.mine as select 1`,
    `create or replace table ${catalog}.main.orders as select 1`,
    `create view ${catalog}.main.mine as select 1`,
    `create macro ${catalog}.main.mine() as 1`,
    `create sequence ${catalog}.main.mine`,
    `create type ${catalog}.main.mine as enum ('a')`,
    `create schema ${catalog}.mine`,
    `create index mine on ${catalog}.main.orders (amount)`,
    `drop table ${catalog}.main.lines`,
    `drop view ${catalog}.main.large`,
    `drop macro ${catalog}.main.total`,
    `drop sequence ${catalog}.main.ids`,
    `drop type ${catalog}.main.mood`,
    `drop index ${catalog}.main.orders_by_customer`,
    `drop schema ${catalog}.sales cascade`,
    `alter table ${catalog}.main.lines add column x integer`,
    `alter table ${catalog}.main.lines rename to moved`,
    `alter view ${catalog}.main.large rename to moved`,
    `comment on table ${catalog}.main.lines is 'x'`,
    `select nextval('${catalog}.main.ids')`,
    `select * from (select nextval('${catalog}.main.ids'))`,
    `create macro next_id() as nextval('${catalog}.main.ids'); select next_id()`,
    `create view next_id as select nextval('${catalog}.main.ids'); from next_id`,
    `create table mine (a integer default nextval('${catalog}.main.ids')); insert into mine default values`,
    `copy ${catalog}.main.orders from '${join(files, 'orders.csv')}'`,
    `explain analyze insert into ${catalog}.main.lines values (1, 2)`,
    `explain analyze delete from ${catalog}.main.lines`,
    `insert/**/into/* x */${catalog}/**/.main--\n.lines values (1, 2)`,
    `insert into lines values (1, 5); insert into ${catalog}.main.lines values (1, 6)`,
    `begin; insert into ${catalog}.main.lines values (1, 6); commit`,
    `begin; commit; insert into ${catalog}.main.lines values (1, 6)`,
    `begin; rollback; delete from ${catalog}.main.lines; begin; commit`,
    `begin read only; select 1`,
    `commit; delete from ${catalog}.main.lines`,
    `rollback; begin; delete from ${catalog}.main.lines; commit`,
    `drop schema headgate_test cascade; delete from ${catalog}.main.lines`,
    `use ${catalog}; delete from lines`,
    `set search_path = '${catalog}.main'; delete from lines`,
    `set schema = '${catalog}.main'; delete from lines`,
    `explain analyze set search_path = '${catalog}.main'`,
    `explain (analyze, format json) set schema = '${catalog}.main'`,
    `reset search_path; delete from lines`,
    `reset schema`,
    `set default_block_size = 1`,
    `detach ${catalog}`,
    `detach headgate_test_2`,
    `attach '${join(files, 'other.duckdb')}' as other`,
    `attach ':memory:' as other`,
    `copy from database headgate_test_2 to ${catalog}`,
    `export database '${join(files, 'copy')}'`,
    `copy orders to '${join(files, 'orders.parquet')}'`,
    `copy (select 1) to 'relative.csv'`,
    `copy (select 1) to '${join(filesFolder, '..', 'beside.csv')}'`,
    `import database '${join(files, 'copy')}'`,
    `checkpoint ${catalog}`,
    `checkpoint`,
    `pragma force_checkpoint`,
    `call pragma_version()`,
    `prepare p as delete from ${catalog}.main.lines`,
    `execute p`,
    `install httpfs`,
    `load httpfs`,
    `select * from query('delete from ${catalog}.main.lines')`,
    `create secret s (type s3)`,
    `delete from \u2003${catalog}.main.lines`,
    `delete from ${catalog}.main.lines where n in (from ${catalog}.main.lines select n) returning n`,
    `insert into ${catalog}.sales."Gräße 表" values (5)`,
    `insert or replace into ${catalog}.main.orders values (1, 'Eve', 0)`,
    `insert into ${catalog}.main.orders values (1, 'Eve', 0) on conflict do update set amount = 0`,
  ];
  for (const sql of hostile)
    it(`refuses ${JSON.stringify(sql)}`, () =>
      withTest(async (test) => {
        await assert.rejects(test.execute(sql));
        await assert.rejects(test.query(sql, 10));
      }));

  it('says what a test does not do, without the name of its database', () =>
    withTest(async (test) => {
      await assert.rejects(
        test.execute(`delete from ${catalog}.main.lines`),
        /writes to the database of the environment, which a test never does: leave out the name of the database \("dev"\)/,
      );
      await assert.rejects(test.execute('select * from none'), (error: Error) => {
        assert.doesNotMatch(error.message, /headgate_test_\d/);
        return true;
      });
    }));

  it('refuses to copy a table above the limit', async () => {
    await real.execute('create table huge as select range as a from range(1000001)');
    const test = await fixture.connect();
    await assert.rejects(
      test.execute('delete from huge where a = 1'),
      /huge.* 1000001 rows.*at most 1000000/,
    );
    await test.execute('delete from huge');
    assert.deepEqual(await read(test, 'select count(*) from huge'), [[0]]);
    await test.close();
    assert.deepEqual(await read(real, 'select count(*) from huge'), [[1_000_001]]);
    await real.execute('drop table huge');
  });

  it('writes files only into the folder of the test', () =>
    withTest(async (test) => {
      await test.execute(`copy orders to '${join(filesFolder, 'orders.csv')}'`);
      assert.ok(existsSync(join(filesFolder, 'orders.csv')));
    }));

  it('is gone with its connection, and tests do not see each other', async () => {
    const [one, other] = [await fixture.connect(), await fixture.connect()];
    await one.execute('create table mine as select 1 as a; delete from orders where id = 2');
    await assert.rejects(read(other, 'select * from mine'), /does not exist/);
    assert.deepEqual(await read(other, 'select count(*) from orders'), [[2]]);
    const [name] = (await read(one, 'select current_database()'))[0] ?? [];
    await assert.rejects(other.execute(`drop table ${name}.main.mine`), /writes to the database/);
    await Promise.all([one.close(), other.close()]);
    assert.deepEqual(await read(real, 'select database_name from duckdb_databases() where not internal'), [
      ['dev'],
    ]);
  });

  it('is gone at the end of every close, also of one that begins while another one waits', async () => {
    const test = await fixture.connect();
    const endless = test.query('select count(*) from range(10000000000) a, range(1000) b', 1);
    const interrupted = assert.rejects(endless, /INTERRUPT|closed/i);
    let hasFirstEnded = false;
    void test.close().then(() => {
      hasFirstEnded = true;
    });
    await test.close();
    assert.ok(hasFirstEnded);
    const { rows } = await real.query('select database_name from duckdb_databases() where not internal', 10);
    assert.deepEqual(rows, [[catalog]]);
    await interrupted;
  });

  it('continues sequences, also those that have no value left', async () => {
    await real.execute('create sequence used_up maxvalue 2');
    await real.execute('create sequence around increment by -1 minvalue 1 maxvalue 2 start 1 cycle');
    await real.execute("select nextval('used_up'), nextval('around'); select nextval('used_up')");
    const test = await fixture.connect();
    try {
      await assert.rejects(read(test, "select nextval('used_up')"), /reached maximum value/);
      assert.deepEqual(await read(test, "select nextval('around')"), [[2]]);
    } finally {
      await test.close();
      await real.execute('drop sequence used_up; drop sequence around');
    }
  });

  it('leaves other connections alone if it cannot be opened', async () => {
    await real.execute('create schema headgate_test; create table headgate_test.mark (a integer)');
    try {
      await real.execute('begin; create table unfinished (a integer)');
      await assert.rejects(fixture.connect(), /"mark" already exists/);
      assert.deepEqual(await read(real, 'select * from unfinished'), []);
      await real.execute('rollback');
    } finally {
      await real.execute('drop schema headgate_test cascade');
    }
  });
});
