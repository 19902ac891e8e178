/** SQL of one run that would change DuckDB for the others, or lose a file, through the real warehouse. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  createOpenConfinement,
  createTestDriver,
  makeWarehouseFolders,
  testPlace,
} from '../../../testing/warehouse.ts';
import { removeTree } from '../../host/folders.ts';
import type { WarehouseConnection, WarehouseDriver } from '../warehouse.ts';

const { root, folders } = makeWarehouseFolders();
const files = folders.files(testPlace);
const temporary = folders.warehouseTemporary(testPlace);
const confinement = createOpenConfinement();

describe('SQL in the shared warehouse of an environment', () => {
  let driver: WarehouseDriver;
  let warehouse: WarehouseConnection;

  before(async () => {
    driver = createTestDriver(folders, confinement);
    warehouse = await driver.connect(testPlace);
    await warehouse.execute('create table t as select 1 as a');
  });
  after(async () => {
    await driver.close();
    await confinement.close();
    await removeTree(root);
  });

  async function refused(sql: string, message: RegExp): Promise<void> {
    await assert.rejects(warehouse.execute(sql), message, sql);
    await warehouse.execute('rollback').catch(() => undefined);
    // A variable belongs to its session.
    if (sql.includes('getvariable')) return;
    // In a session without changes of its own, when the catalog is known.
    const other = await driver.connect(testPlace);
    for (let turn = 0; turn < 10; turn += 1) await other.query('select 1', 1);
    await assert.rejects(other.execute(sql), message, sql);
    await other.close();
  }

  it('calls no function that changes DuckDB, wherever the call stands', async () => {
    const logging = `enable_logging('QueryLog', storage = 'file', storage_config = {'path': 'qlog'})`;
    const calls = [
      logging,
      'disable_logging()',
      'truncate_duckdb_logs()',
      'enable_profiling()',
      'disable_profiling()',
      'enable_peg_parser()',
      'force_checkpoint()',
      'checkpoint()',
    ];
    for (const call of calls) {
      const name = call.split('(')[0];
      await refused(
        `select * from ${call}`,
        new RegExp(`^Error: the function "${name}" is not allowed in this`),
      );
    }
    const hidden = [
      `insert into t values ((select 1 from ${logging}))`,
      `insert into t (a) values (1), ((select 1 from ${logging.replace('enable_logging', '"enable_logging"')}))`,
      `select 1; select * from ${logging}`,
      `FROM Enable_Logging('QueryLog')`,
      `from system.main."enable_logging"('QueryLog')`,
      `from enable_logging /* ' */ -- '\n ('QueryLog')`,
      `from enable_logging -- '\r ('QueryLog')`,
      `from enable_logging\u200b('QueryLog')`,
      `select E'\\'', * from enable_logging('QueryLog') -- '`,
      `select '\\', * from enable_logging('QueryLog') -- '`,
      `select $a$ ' $a$, * from enable_logging('QueryLog') -- '`,
      `explain analyze select * from ${logging}`,
      `insert into t select 1 from ${logging}`,
      `update t set a = 2 from ${logging}`,
      `create table u as from ${logging}`,
      `create view v as select * from ${logging}`,
      `create macro m() as table select * from ${logging}`,
      `create macro m() as (select count(*) from ${logging})`,
      `copy (from ${logging}) to 'x'`,
      `with c as (from ${logging}) from c`,
      `select * from t, ${logging}`,
      `select * from query('select * from enable_' || 'logging()')`,
      `select * from json_execute_serialized_sql(json_serialize_sql('select 1'))`,
      `pragma json_execute_serialized_sql('{}')`,
    ];
    for (const sql of hidden) await refused(sql, /not allowed in this warehouse/);
    assert.equal(existsSync(join(files, 'qlog')), false);
    const { rows } = await warehouse.query(`select current_setting('enable_logging')`, 1);
    assert.deepEqual(rows, [[0]]);
  });

  it('calls none by a spelling that reads differently to DuckDB', async () => {
    const wrappedInText = (call: string) => `select \u2028E'\\', * from ${call} --'`;
    await warehouse.execute('create type "e" as varchar');
    await warehouse.execute('create table wide as select 1 as a');
    const hidden = [
      `select * from enable_logging('QueryLog') as materialized`,
      `select * from enable_logging('QueryLog') as "not"`,
      `with c as (select 1) select * from c, force_checkpoint() as materialized`,
      `create view hidden as select * from enable_logging('QueryLog') as materialized`,
      `create macro hidden() as table select * from enable_logging('QueryLog') as materialized`,
      `explain analyze select * from enable_logging('QueryLog') as materialized`,
      `set variable x = (select count(*) from enable_logging('QueryLog') as materialized)`,
      `pivot (select 1 as a from enable_logging('QueryLog') as materialized) on a`,
      `select * from query('select * from enable_' || 'logging()') as materialized`,
    ];
    for (const sql of hidden)
      await refused(sql, /^Error: the function "(?:enable_logging|force_checkpoint|query)" is not allowed/);
    await assert.rejects(warehouse.execute(wrappedInText(`enable_logging('QueryLog')`)));
    const { rows } = await warehouse.query(`select current_setting('enable_logging')`, 1);
    assert.deepEqual(rows, [[0]]);
    assert.deepEqual(
      (await warehouse.query(`select view_name from duckdb_views() where not internal`, 9)).rows,
      [],
    );
  });

  it('uses the names of such functions for its own tables, columns and texts', async () => {
    const sound = [
      'create table checkpoint (query integer)',
      'insert into checkpoint (query) values (1)',
      'create index i on checkpoint (query)',
      `select 'enable_logging()', query as "checkpoint()" from main.checkpoint -- query()`,
      'select * from t as query(checkpoint)',
      'with query (a) as (select 1) select * from query',
      'with c as (select 1), query (a) as (select 1) select * from query',
      "copy checkpoint (query) to 'c.csv'",
      'create view query (a) as select 1',
      'drop view query',
      'drop table checkpoint',
      'select random(), uuid(), now()',
      'create sequence s',
      `select nextval('s')`,
      'pragma show_tables',
      `pragma table_info('t')`,
      'from duckdb_tables()',
    ];
    for (const sql of sound) await warehouse.execute(sql);
  });

  it('makes no macro of the name of a function of DuckDB', async () => {
    const macros = [
      'explain analyze create macro count_star() as 96',
      'explain (analyze) create macro sum(x) as 1',
      'create macro count_star() as 96',
      'create or replace macro COUNT_STAR() as 96',
      'create function "Max"(x) as 5',
      'create temp macro if not exists main.sum(x) as 1',
      'create or replace temporary macro /* x */ lower(x) as x',
      'create macro dev.main."lower"(x) as x',
      'create macro range(x) as table select 1',
      'select 1; create macro "~~"(x, y) as true',
      'create macro duckdb_logs_parsed(x) as table select 1',
    ];
    for (const sql of macros)
      await refused(
        sql,
        /a macro cannot have the name "[^"]+" of a function of DuckDB: .*give it another name/,
      );
    await warehouse.execute('create or replace macro main.half(x) as x / 2');
    assert.deepEqual((await warehouse.query('select count(*), half(4) from t', 1)).rows, [[1, 2]]);
  });

  it('writes no file where DuckDB keeps its own, however the path is written', async () => {
    const spelled = temporary.replace('/temporary/', '/t\\x65mporary/');
    assert.notEqual(spelled, temporary);
    const up = relative(files, temporary);
    const targets = [
      `'${temporary}/out.csv'`,
      `E'${spelled}/out.csv'`,
      `e'${up.replace('e', '\\x65')}/out.csv'`,
      `$$${temporary}/out.csv$$`,
      `$x$${up}/out.csv$x$`,
      `"${temporary}/out.csv"`,
      `'${temporary.slice(0, -3)}'\n'${temporary.slice(-3)}/out.csv'`,
      `('${temporary.slice(0, -3)}' || '${temporary.slice(-3)}/out.csv')`,
      `(getvariable('place'))`,
      `'${files}/./x/..//../${relative(join(files, '..'), temporary)}/out.csv'`,
    ];
    await warehouse.execute(`set variable place = '${temporary}/out.csv'`);
    const lost = /use a relative path, which is in the files folder/;
    await warehouse.execute('create table "to" (a integer)');
    for (const target of targets) {
      await refused(`copy main.to to ${target}`, lost);
      await refused(`copy (select 1) to ${target}`, lost);
      await refused(`explain analyze copy (select 1) to ${target} (format csv)`, lost);
    }
    await refused(
      `copy t from 'x.csv'; copy t (a) to E'${spelled}/out.csv'`,
      /No files found|holds no files/,
    );
    await refused(`set variable later = '${temporary}/x'; copy t to (getvariable('later'))`, lost);
    await refused(`export database E'${spelled}/out'`, lost);
    await refused(`export database dev to '${up}/out'`, lost);
    assert.deepEqual(readdirSync(temporary), []);
  });

  it('writes neither over its database nor over its log', async () => {
    const database = folders.database(testPlace);
    for (const target of [
      `'${database}' (use_tmp_file false)`,
      `'${database}.wal'`,
      `'file:${database}.wal'`,
      `'file://localhost${database}.wal'`,
      `(if(nextval('turn') = 1, 'first.csv', '${database}.wal'))`,
    ]) {
      await warehouse.execute('create or replace sequence turn');
      await warehouse.execute(`copy (select 1) to ${target}`).catch((error) => {
        assert.match(String(error), /use a relative path, which is in the files folder/);
      });
      assert.equal((await warehouse.query('select 1 as a', 1)).rows.length, 1);
    }
    assert.equal(existsSync(join(files, 'first.csv')), true);
  });

  it('writes no file out of the folder that a COPY names', async () => {
    const up = relative(join(files, 'd'), temporary);
    for (const option of [
      `filename_pattern '${up}/x_{i}'`,
      `filename_pattern E'${up.replaceAll('/', '\\x2f')}\\x2fx_{i}'`,
      `filename_pattern ('${up}' || '/x_{i}')`,
      `file_extension '/../${up}/x'`,
    ])
      await refused(
        `copy (select 1) to 'd' (per_thread_output, ${option})`,
        /must be a text without a folder/,
      );
    await warehouse.execute(`copy (select 1) to 'd' (per_thread_output, filename_pattern 'part_{i}')`);
    const partitions = `select 1 as a, '..' as b, '../../x' as "../c"`;
    await warehouse.execute(`copy (${partitions}) to 'partitions' (format csv, partition_by (b, "../c"))`);
    await warehouse.execute(
      `copy (${partitions}) to 'flat' (format csv, hive_file_pattern false, partition_by (b, "../c"))`,
    );
    assert.deepEqual(
      ['partitions', 'flat'].map((folder) =>
        readdirSync(join(files, folder), { recursive: true }).filter((path) => String(path).endsWith('.csv')),
      ),
      [[join('b=..', '..%2Fc=..%2F..%2Fx', 'data_0.csv')], ['data_0.csv']],
    );
    assert.deepEqual(readdirSync(temporary), []);
  });

  it('writes files in the files folder, however the path is written', async () => {
    mkdirSync(join(files, 'temporary'));
    const targets = [
      `'plain.csv'`,
      `E'sp\\x65lled.csv'`,
      `$$dollar.csv$$`,
      `"quoted.csv"`,
      `('put' || 'together.csv')`,
      `'temporary/inside.csv'`,
      `'${files}/whole.csv'`,
      `(getvariable('name'))`,
    ];
    const script = targets.map((target) => `copy (select 1 as "to") to ${target} (header)`);
    await warehouse.execute(`set variable name = 'named.csv'; ${script.join('; ')}`);
    await warehouse.execute(`copy (pivot t on a using sum(a)) to 'pivot.csv'`);
    await warehouse.execute(`export database 'exported'`);
    const written = [
      'plain',
      'spelled',
      'dollar',
      'quoted',
      'puttogether',
      'temporary/inside',
      'whole',
      'named',
      'pivot',
    ];
    for (const name of written) assert.equal(existsSync(join(files, `${name}.csv`)), true, name);
    assert.equal(existsSync(join(files, 'exported/schema.sql')), true);
  });

  it('says that IMPORT DATABASE is not allowed, before it reads a file', async () => {
    const folder = join(files, 'import');
    mkdirSync(folder);
    writeFileSync(join(folder, 'schema.sql'), 'create table imported as from enable_logging();');
    writeFileSync(join(folder, 'load.sql'), '');
    const message = /^Error: IMPORT DATABASE is not allowed in this warehouse: .*Use only ALTER/;
    for (const sql of [
      `import database '${folder}'`,
      `select 1; IMPORT /* x */ DATABASE 'nowhere'`,
      `pragma import_database('${folder}')`,
    ])
      await refused(sql, message);
  });
});
