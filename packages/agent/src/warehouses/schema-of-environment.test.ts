import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createDuckdb } from '@headgate/pipelines';
import { nameCatalog, removeTree } from '../host/folders.ts';
import { createScratchFixture } from './scratch/duckdb-scratch-fixture.ts';
import type { WarehouseConnection } from './warehouse.ts';

const fixture = await createScratchFixture();
after(async () => {
  await fixture.driver.close();
  await removeTree(fixture.root);
});

const dialect = createDuckdb({ catalog: nameCatalog(fixture.place.environmentName) });

async function run(warehouse: WarehouseConnection, script: string): Promise<unknown[][]> {
  let rows: unknown[][] = [];
  for (const { sql, before, kind } of dialect.user.script(script)) {
    for (const each of before) await warehouse.execute(each);
    if (kind === 'SELECT') rows = (await warehouse.query(sql, 10)).rows;
    else await warehouse.execute(sql);
  }
  return rows;
}

describe('a schema with the name of the environment', () => {
  it('is one as any other, also in a test', async () => {
    await run(
      fixture.real,
      'create schema Dev; create table DEV.orders (a int); insert into dev.orders values (1)',
    );
    assert.deepEqual(await run(fixture.real, 'select dev.orders.a, orders.a from dev.orders'), [[1, 1]]);
    assert.deepEqual(
      await run(fixture.real, "select table_name from information_schema.tables where table_schema = 'dev'"),
      [['orders']],
    );
    assert.deepEqual(
      await run(
        fixture.real,
        "select table_name, current_database() from information_schema.tables where table_catalog = current_database() and table_schema = 'dev'",
      ),
      [['orders', 'warehouse']],
    );
    const reference = { schema: 'dev', table: 'Orders' };
    assert.deepEqual((await fixture.real.query(dialect.tableExists(reference), 1)).rows, [['orders']]);
    const test = await fixture.connect();
    await run(test, 'insert into dev.orders values (2)');
    assert.deepEqual((await test.query(`select count(*) from ${dialect.table(reference)}`, 1)).rows, [[2]]);
    assert.deepEqual(
      await run(test, "select row_count from information_schema.tables where table_schema = 'dev'"),
      [[2]],
    );
    await test.close();
    assert.deepEqual(await run(fixture.real, 'select count(*) from warehouse.dev.orders'), [[1]]);
    await run(fixture.real, 'drop schema dev');
    assert.deepEqual((await fixture.real.query(dialect.tableExists(reference), 1)).rows, []);
  });

  it('has the name of the file, to which DuckDB adds _db if it is one of its own', () => {
    assert.deepEqual(['prod', 'Main', 'temp', 'prod & eu'].map(nameCatalog), [
      'prod',
      'main_db',
      'temp_db',
      'prod-eu',
    ]);
  });
});
