/** Queries that can change nothing: what DuckDB refuses, and the bounds of what they return. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import type { SqlRules } from '@headgate/pipelines';
import { readingContext, readingServices } from '../../testing/reading-work.ts';
import {
  createOpenConfinement,
  createTestDriver,
  createTestWarehouses,
  makeWarehouseFolders,
  testPlace,
} from '../../testing/warehouse.ts';
import { createWarehouseQueryHandler } from '../handlers/warehouse-query.ts';
import { getReason } from '../log.ts';
import { findReason, RowsLost } from './statements/duckdb-chunks.ts';
import { rollBack } from './statements/duckdb-rollback.ts';
import type { ReadBounds } from './warehouse.ts';

const { root, folders } = makeWarehouseFolders();
const confinement = createOpenConfinement();
const driver = createTestDriver(folders, confinement);
after(async () => {
  await driver.close();
  confinement.close();
  await rm(root, { recursive: true, force: true });
});

const writer = await driver.connect(testPlace);
await writer.execute('create table city (name text, size integer)');
await writer.execute("insert into city values ('Oslo', 700), ('Bergen', 290), ('Bodø', 53)");
await writer.execute('create sequence ticket');
await writer.execute("create macro take() as nextval('ticket')");

const bounds: ReadBounds = { maxRows: 10, maxBytes: 10_000, rules: {} };
const noLimit = new AbortController().signal;

async function read(sql: string, input = bounds) {
  const connection = await driver.connectReading(testPlace);
  try {
    return await connection.read(sql, input, noLimit);
  } finally {
    await connection.close();
  }
}

test('a query returns its first rows, and says whether there are more', async () => {
  const all = await read('select name, size from city order by size');
  assert.deepEqual(all, {
    columns: ['name', 'size'],
    rows: [
      ['Bodø', 53],
      ['Bergen', 290],
      ['Oslo', 700],
    ],
    isCut: false,
  });
  const two = await read('from city order by size', { ...bounds, maxRows: 2 });
  assert.deepEqual([two.rows.length, two.isCut], [2, true]);
  const few = await read("select repeat('x', 500) from range(100)", {
    maxRows: 100,
    maxBytes: 2_000,
    rules: {},
  });
  assert.deepEqual([few.rows.length, few.isCut], [3, true]);
  const wide = `select ${Array.from({ length: 30 }, (_, number) => `1 as ${'c'.repeat(90)}${number}`).join()}`;
  await assert.rejects(read(wide, { ...bounds, maxBytes: 2_000 }), /the result has 30 columns/);
});

test('a query that does not stop ends no run, and no other query begins beside it', async (t) => {
  const own = createTestDriver(folders, confinement);
  const place = { ...testPlace, environmentName: 'stuck' };
  const run = await own.connect(place);
  await run.execute('begin; create table kept as select 1 as a');
  const reading = await own.connectReading(place);
  // One value, for which DuckDB needs minutes and looks at no interrupt.
  const endless = "select levenshtein(repeat('a', 900000), repeat('b', 900000))";
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (let reason = 'before it began'; reason.includes('before it began'); ) {
    const late = new AbortController();
    const response = reading.read(endless, bounds, late.signal).catch(getReason);
    await setImmediate();
    late.abort();
    t.mock.timers.tick(10_000);
    reason = String(await response);
    assert.match(reason, /the query did not stop when its time was over|before it began/);
  }
  await reading.close();
  t.mock.timers.reset();
  await assert.rejects(own.connectReading(place), /an earlier query of this environment has not stopped/);
  assert.deepEqual((await run.query('select a from kept', 1)).rows, [[1]], 'the run goes on');
  await run.execute('commit');
  await run.close();
  // Its process is idle and ends, with the query.
  await own.close();
  const later = await own.connectReading(place);
  assert.deepEqual((await later.read('from kept', bounds, noLimit)).rows, [[1]]);
  await later.close();
  await own.close();
});

test('a query is in the dialect of the project', async () => {
  const answer = async (sql: string, rules: SqlRules) => (await read(sql, { ...bounds, rules })).rows;
  assert.deepEqual(await answer("select greatest(1, null), nvl(null, 'x'), iff(true, 1, 2)", {}), [
    [null, 'x', 1],
  ]);
  assert.deepEqual(await answer('select greatest(1, null)', { vendor: 'redshift' }), [[1]]);
});

const refused = [
  "insert into city values ('Narvik', 14)",
  'update city set size = 0',
  'delete from city',
  'drop table city',
  'create table other (a integer)',
  'create or replace view city_view as select 1',
  'create temp table own as select 1',
  "copy city to 'city.csv'",
  "export database 'all'",
  "/* x */ export database 'all'",
  "explain export database 'all'",
  "select nextval('ticket')",
  'select take()',
  'select 1; delete from city',
  'commit; delete from city; begin',
  'explain analyze delete from city',
  'explain begin transaction',
  'explain analyze commit',
  'explain analyze rollback',
  'explain set threads = 1',
  "explain analyze set variable name = 'x'",
  'explain reset threads',
  'with gone as (select 1) delete from city',
  'rollback',
  'vacuum',
  'checkpoint',
  "attach 'other.db'",
  'set threads = 1',
  "set variable name = 'x'",
  'pragma enable_profiling',
  'prepare p as delete from city',
  "select * from query('delete from city')",
  "select * from read_csv('http://127.0.0.1:9/?q=1')",
  'merge into city using (select 1) s on true when matched then delete',
  "select getenv('HOME')",
];
test('the warehouse refuses whatever writes, and nothing has changed afterwards', async () => {
  const before = await writer.query('from city order by name', 100);
  for (const sql of refused) await assert.rejects(read(sql), Error, sql);
  assert.deepEqual(await writer.query('from city order by name', 100), before);
  const { rows } = await writer.query('select table_name from information_schema.tables order by 1', 100);
  assert.deepEqual(rows, [['city']]);
  assert.deepEqual((await writer.query("select nextval('ticket')", 1)).rows, [[1]], 'never advanced');
  for (const file of ['city.csv', 'all']) assert.ok(!existsSync(join(folders.files(testPlace), file)), file);
});

test('a query that fails after its first rows is no success', async () => {
  const late = 'select case when range = 500000 then error(range::text) else 1 end as a from range(1000000)';
  const many = { maxRows: 1_000_000, maxBytes: 50_000_000, rules: {} };
  await assert.rejects(read(late, many), /^Error: Invalid Input Error: 500000$/);
  await assert.rejects(writer.execute(late), /^Error: Invalid Input Error: 500000$/);
  await assert.rejects(writer.query(late, 1_000_000), /^Error: Invalid Input Error: 500000$/);
  await writer.execute('begin');
  await assert.rejects(writer.execute(late), /failed after its first rows/);
  await writer.execute('rollback');
  assert.deepEqual((await read('select count(*) from city')).rows, [[3]]);
});

test('a query runs again for its reason only if it was short, and not for long', async () => {
  const connection = await (await DuckDBInstance.create()).connect();
  const failure = new RowsLost();
  const sql = "select error('the reason')";
  const ago = (milliseconds: number) => performance.now() - milliseconds;
  assert.match(String(await findReason(connection, failure, { sql, began: ago(100) })), /the reason/);
  assert.equal(await findReason(connection, failure, { sql, began: ago(10_000) }), failure);
  const long = 'select count(*) from range(10000000) a, range(10000000) b where a.range % 7 = b.range % 11';
  assert.equal(await findReason(connection, failure, { sql: long, began: ago(0) }), failure);
  connection.closeSync();
});

test('an interrupt that comes during a ROLLBACK does not leave its transaction open', async () => {
  const connection = await (await DuckDBInstance.create()).connect();
  // A third of the interrupts comes at the right moment.
  for (let round = 0; round < 50; round += 1) {
    await connection.run('begin transaction read only');
    const rolledBack = rollBack(connection);
    connection.interrupt();
    await rolledBack;
    assert.deepEqual((await connection.runAndReadAll('select 1')).getRows(), [[1]]);
    await assert.rejects(connection.run('rollback'), /no transaction is active/);
  }
  connection.closeSync();
});

test('a query whose time ends while it gives its rows is no success', async () => {
  const connection = await driver.connectReading(testPlace);
  const many = { maxRows: 100_000_000, maxBytes: 1_000_000_000, rules: {} };
  const late = AbortSignal.timeout(200);
  await assert.rejects(
    connection.read('select range from range(50000000)', many, late),
    /Interrupted|failed after/,
  );
  await connection.close();
});

test('a query that takes too long ends, and the reason says how long it may take', async () => {
  const handler = createWarehouseQueryHandler({
    warehouses: createTestWarehouses(driver),
    ...readingServices(),
  });
  const payload = { ...testPlace, warehouse: { kind: 'duckdb' as const }, ...bounds, seconds: 1 };
  const work = { workId: 'w', epoch: 1, kind: 'warehouse-query' as const, leaseExpiresAt: '' };
  const sql = 'select count(*) from range(1000000) a, range(1000000) b where a.range % 7 = b.range % 11';
  const late = await handler({ ...work, payload: { ...payload, sql } }, readingContext);
  assert.deepEqual(
    [late.status, late.message],
    ['FAILED', 'the query took longer than 1 s: add a filter or a LIMIT'],
  );
  const outcome = await handler(
    { ...work, payload: { ...payload, sql: "select 'a' || chr(0) as b" } },
    readingContext,
  );
  assert.deepEqual(outcome.queryResult?.rows, [['a\uFFFD']], 'without what the server cannot store');
  const other = await handler(
    { ...work, payload: { ...payload, warehouse: { kind: 'databricks' }, sql } },
    readingContext,
  );
  assert.match(other.message ?? '', /does not support/);
  const served = await handler(
    { ...work, payload: { ...payload, warehouse: { kind: 'postgres' }, sql } },
    readingContext,
  );
  assert.match(served.message ?? '', /has no connection to POSTGRES: create a data warehouse connection/);
});
