/**
 * SQL that tries to reach the network through the real warehouse, with only the checks of SQL in the way.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { StatementType } from '@duckdb/node-api';
import { removeTree } from '../host/folders.ts';
import {
  createOpenConfinement,
  createTestDriver,
  makeWarehouseFolders,
  testPlace,
} from '../testing/warehouse.ts';
import { allowedKinds, checkStatementKind } from './statements/duckdb-statement-kinds.ts';
import type { WarehouseConnection, WarehouseDriver } from './warehouse.ts';

const { root, folders } = makeWarehouseFolders();
const confinement = createOpenConfinement();

describe('SQL that tries to reach the network', () => {
  const arrived: string[] = [];
  const server = createServer((request, response) => {
    arrived.push(`${request.method} ${request.url}`);
    response.writeHead(404).end();
  });
  const datagrams = createSocket('udp4').on('message', (message) => arrived.push(message.toString('latin1')));
  let driver: WarehouseDriver;
  let warehouse: WarehouseConnection;
  let http: string;
  let udp: string;

  before(async () => {
    server.listen(0, '127.0.0.1');
    datagrams.bind(0, '127.0.0.1');
    await Promise.all([once(server, 'listening'), once(datagrams, 'listening')]);
    http = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    udp = `127.0.0.1:${datagrams.address().port}`;
    driver = createTestDriver(folders, confinement);
    warehouse = await driver.connect(testPlace);
    await warehouse.execute('create table t as select 1 as a');
  });
  after(async () => {
    await driver.close();
    await confinement.close();
    server.close();
    datagrams.close();
    await removeTree(root);
  });

  async function refused(sql: string, message: RegExp): Promise<void> {
    for (const attempt of [() => warehouse.execute(sql), () => warehouse.query(sql, 10)]) {
      await assert.rejects(attempt, message, sql);
      // An earlier statement of the SQL may have begun a transaction.
      await warehouse.execute('rollback').catch(() => undefined);
    }
    assert.deepEqual(arrived, [], sql);
  }

  it('is refused with a message that names the kind of statement and the allowed kinds', async () => {
    const kind = (name: string) =>
      new RegExp(`^Error: ${name} is not allowed in this warehouse: .*Use only ALTER`);
    const install = kind('INSTALL or LOAD');
    const needsQuery = /^Error: EXPLAIN needs a SELECT/;
    const cases: [string, RegExp][] = [
      [`INSTALL '${http}/a'`, install],
      [`install x from '${http}/a'`, install],
      [`FORCE INSTALL x FROM '${http}/a'`, install],
      [`/* ; */ install -- x\n '${http}/a'`, install],
      [`select 1; install '${http}/a'`, install],
      [`begin; install '${http}/a'`, install],
      [`load '${http}/a'`, install],
      [`load 'udp://${udp}'`, install],
      [`EXPLAIN ANALYZE INSTALL '${http}/a?x=secret'`, install],
      [`explain install '${http}/a'`, install],
      [`explain(analyze)install '${http}/a'`, install],
      [`explain (analyze, format json) install '${http}/a'`, install],
      [`EXPLAIN\u00a0ANALYZE\u00a0INSTALL '${http}/a'`, install],
      [`explain /* x */ analyze -- y\n force install x from '${http}/a'`, install],
      [`update extensions`, kind('UPDATE EXTENSIONS')],
      [`attach '${http}/a.duckdb' as a`, kind('ATTACH')],
      [`attach 'postgres://${udp}/x' as a (type postgres)`, kind('ATTACH')],
      [`pragma add_parquet_key('k', '${http}/a')`, kind('PRAGMA')],
      [`call duckdb_tables()`, kind('CALL or CHECKPOINT')],
      [`call enable_logging(storage = 'file', storage_path = '${http}/a')`, kind('CALL or CHECKPOINT')],
      ['checkpoint', kind('CALL or CHECKPOINT')],
      [`prepare p as select 1`, kind('PREPARE')],
      [`execute p`, /does not exist|EXECUTE is not allowed/],
      [`explain analyze prepare p as select 1`, kind('PREPARE')],
      [
        `set custom_extension_repository = '${http}'`,
        /^Error: settings cannot be changed .*locked.*Use only SET VARIABLE/,
      ],
      [`explain analyze set custom_extension_repository = '${http}'`, needsQuery],
      ['explain begin', needsQuery],
      ['explain analyze rollback', needsQuery],
    ];
    for (const [sql, message] of cases) {
      await refused(sql, message);
    }
  });

  it('is refused if EXPLAIN hides a statement from the check', async () => {
    const alone = /EXPLAIN is not allowed/;
    const cases: [string, RegExp][] = [
      [`select 1; explain analyze install '${http}/a'`, alone],
      [`explain select 1; explain analyze install '${http}/a'`, alone],
      [`explain analyze explain analyze install '${http}/a'`, /syntax error|not allowed/],
      // One comment if comments nest, else a comment followed by the statement.
      [`explain /* /* */ analyze install '${http}/a' --*/ */ select 1\n`, /syntax error|not allowed/],
      [`explain analyze /* /* */ install '${http}/a' --*/ */ select 1\n`, /syntax error|not allowed/],
      [`explain analyze select 1; install '${http}/a'`, alone],
      [`explain "analyze" install '${http}/a'`, /syntax error|not allowed/],
    ];
    for (const [sql, message] of cases) await refused(sql, message);
  });

  it('is refused inside of queries, views, macros and files', async () => {
    const denied =
      /disabled by configuration|SQL reads no addresses|Expected a single SELECT|too many entries|syntax error|does not exist|files are written only in the files folder|(?:function "query"|IMPORT DATABASE) is not allowed/;
    const readers = [
      'read_csv',
      'read_json',
      'read_parquet',
      'read_text',
      'read_blob',
      'read_duckdb',
      'glob',
      'sniff_csv',
    ];
    const sources = [
      `'${http}/x.csv'`,
      `"${http}/x.parquet"`,
      `'https://127.0.0.1/x.csv'`,
      `'s3://bucket/x.csv'`,
      `'file://${http}/x.csv'`,
      ...readers.map((reader) => `${reader}('${http}/x')`),
      ...readers.map((reader) => `${reader}('s3://bucket/x')`),
      `query('from ''${http}/x.csv''')`,
      `query('install ''${http}/x''')`,
      `query_table('${http}/x.csv')`,
    ];
    for (const source of sources) {
      await refused(`select * from ${source}`, denied);
      await refused(`with c as (select * from ${source}) select * from c`, denied);
      await refused(`explain analyze select * from ${source}`, denied);
    }
    const macro = `create or replace macro reach(p) as table select * from read_csv(p)`;
    await warehouse.execute(macro).catch((error) => assert.match(String(error), denied));
    const statements = [
      `select * from reach('${http}/x')`,
      `create view v as select * from '${http}/x.csv'`,
      `create table n as from read_csv('${http}/x')`,
      `insert into t select * from read_csv('${http}/x')`,
      `copy t to '${http}/x.csv'`,
      `copy (select 1) to '${http}/x.parquet' (format parquet)`,
      `copy t from '${http}/x.csv'`,
      `copy (install '${http}/x') to 'x'`,
      `with c as (install '${http}/x') select 1`,
      `call read_csv('${http}/x')`,
      `export database '${http}/x'`,
      `import database '${http}/x'`,
      `pragma import_database('${http}/x')`,
      `explain analyze copy t to '${http}/x.csv'`,
      `prepare p as install '${http}/x'`,
      `from t where a in (select a from '${http}/x.csv')`,
    ];
    for (const sql of statements) await refused(sql, denied);
  });

  it('is refused in imported SQL', async () => {
    const folder = join(folders.files(testPlace), 'export');
    mkdirSync(folder);
    writeFileSync(join(folder, 'schema.sql'), `explain analyze install '${http}/a';`);
    writeFileSync(join(folder, 'load.sql'), `install '${http}/a';`);
    await refused(`import database '${folder}'`, /not allowed|type mismatch/);
    writeFileSync(join(folder, 'schema.sql'), '');
    await refused(`import database '${folder}'`, /not allowed|type mismatch/);
    await warehouse.execute('rollback').catch(() => undefined);
  });

  it('is refused in every table function of DuckDB', async () => {
    const { rows } = await warehouse.query(
      `select distinct function_name from duckdb_functions() where function_type in ('table', 'table_macro')`,
      1_000,
    );
    assert.ok(rows.length > 80, `${rows.length} functions`);
    const other = await driver.connect({ ...testPlace, environmentName: 'functions' });
    const url = `'${http}/f'`;
    for (const [name] of rows) {
      for (const parameters of [
        url,
        `[${url}]`,
        `${url}, ${url}`,
        `storage_path = ${url}`,
        `save_location = ${url}`,
      ])
        await other.query(`select * from ${name}(${parameters}) limit 1`, 1).catch(() => undefined);
      assert.deepEqual(arrived, [], String(name));
    }
    await other.close();
  });

  it('cannot change a setting except the schema', async () => {
    const { rows } = await warehouse.query('select name from duckdb_settings()', 1_000);
    const open: unknown[] = [];
    for (const [name] of rows) {
      const set = warehouse.execute(`set ${name} = '${http}'`);
      if (
        await set.then(
          () => true,
          (error) => !/locked/.test(String(error)),
        )
      )
        open.push(name);
    }
    assert.deepEqual(open.sort(), ['schema', 'search_path']);
  });

  it('cannot use file names that are URLs', async () => {
    const secret = 'canary-4711';
    for (const path of [
      `${root}/${secret}.csv`,
      `/tmp/${secret}.csv`,
      `${folders.files(testPlace)}/../${secret}.csv`,
    ]) {
      await refused(`copy t to '${path}'`, /files are written only in the files folder/);
      assert.equal(existsSync(path), false);
    }
    assert.ok(!readdirSync(root).some((name) => name.includes(secret)));
  });

  it('does not prevent ordinary SQL', async () => {
    const allowed = [
      `explain select * from t`,
      `EXPLAIN ANALYZE select * from t;`,
      `explain (format json) select * from t`,
      `explain (select 1) union select 2`,
      `-- why\nexplain /* how */ analyze insert into t values (2)`,
      `set variable x = 1`,
      `select getvariable('x')`,
      `use main`,
      `describe t`,
      `summarize t`,
      `show tables`,
      `pivot t on a using count(*)`,
      `merge into t using (select 1 as a) s on t.a = s.a when matched then update set a = 3`,
      `create or replace macro plus(x) as x + 1; select plus(1)`,
      `create or replace view v as select * from t; alter table t add column b int; comment on table t is 'x'`,
      `begin; delete from t; rollback`,
      `analyze; vacuum`,
      `drop view v; truncate t`,
    ];
    for (const sql of allowed) await warehouse.execute(sql);
    const { rows } = await warehouse.query('explain analyze select 4711', 10);
    assert.match(String(rows[0]?.[1]), /EXPLAIN ANALYZE|Query Profiling/i);
  });
});

describe('kinds of statement', () => {
  it('are all listed, for this version of DuckDB', () => {
    const all = Object.values(StatementType).filter((value) => typeof value === 'number');
    const allowed: string[] = [];
    for (const type of all) {
      try {
        checkStatementKind(type);
        allowed.push(StatementType[type]);
      } catch (error) {
        assert.match(String(error), /^Error: .+ is not allowed in this warehouse: .+\. Use only ALTER, /);
      }
    }
    const expected =
      'SELECT INSERT UPDATE EXPLAIN DELETE CREATE ALTER TRANSACTION COPY ANALYZE DROP EXPORT VACUUM SET MERGE_INTO';
    assert.deepEqual(allowed, expected.split(' '));
    assert.match(allowedKinds, /^ALTER, ANALYZE, .*\bSELECT\b/);
  });

  it('that a later DuckDB adds are refused', () => {
    const later = (Math.max(...Object.values(StatementType).filter(Number.isInteger).map(Number)) +
      1) as StatementType;
    assert.throws(() => checkStatementKind(later), /^Error: kind \d+ is not allowed .*does not know it/);
  });
});
