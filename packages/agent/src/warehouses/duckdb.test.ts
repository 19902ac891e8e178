import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { createTestDriver, errorLog, makeWarehouseFolders, testPlace } from '../../testing/warehouse.ts';
import { openConfinement } from '../confinement/confinement.ts';
import { removeTree } from '../host/folders.ts';
import { DatabaseProcess } from './duckdb-database.ts';
import type { WarehouseConnection, WarehouseDriver } from './warehouse.ts';

const { root, folders } = makeWarehouseFolders();
const artifact = join(folders.projectArtifacts(testPlace.projectId), 'digest', 'files');

const confinement = await openConfinement(errorLog);

/** The processes below this one that have this database open. */
function databaseProcesses(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const files = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
      return files.includes(folders.database(testPlace));
    } catch {
      return false;
    }
  });
}

describe('the DuckDB warehouse', () => {
  let driver: WarehouseDriver;
  let warehouse: WarehouseConnection;

  before(async () => {
    mkdirSync(artifact, { recursive: true });
    writeFileSync(join(artifact, 'towns.csv'), 'name,people\nUlm,126000\nJena,111000\n');
    writeFileSync(join(root, 'credential.json'), '{"clientSecret":"canary"}');
    driver = createTestDriver(folders, confinement);
    warehouse = await driver.connect(testPlace);
  });
  after(async () => {
    await driver.close();
    await confinement.close();
    await removeTree(root);
  });

  it('says the beginning of a very long error', async () => {
    await assert.rejects(warehouse.execute("select error(repeat('x', 1000000))"), (error: Error) => {
      assert.match(error.message, /^Invalid Input Error: x/);
      return error.message.length <= 200_000;
    });
  });

  it('runs in a process with no folders but its own', async () => {
    const place = { ...testPlace, environmentName: 'other' };
    const inputs: unknown[] = [];
    const recording: typeof confinement = {
      ...confinement,
      limitFolders: (rules) => {
        inputs.push(rules);
        return confinement.limitFolders(rules);
      },
    };
    const own = createTestDriver(folders, recording);
    await (await own.connect(place)).execute("copy (select 1) to 'a.csv'");
    await own.close();
    assert.deepEqual(inputs, [
      {
        readable: [folders.projectArtifacts(place.projectId), folders.files(place)],
        writable: [dirname(folders.database(place)), folders.warehouseTemporary(place), folders.files(place)],
      },
    ]);
  });

  it('loads a file of the artifact, and counts the rows of each kind of statement', async () => {
    const file = join(artifact, 'towns.csv');
    const made = await warehouse.execute(`create table towns as select * from read_csv('${file}')`);
    assert.equal(made.rowCount, 2);
    assert.equal((await warehouse.execute('update towns set people = people + 1')).rowCount, 2);
    assert.equal((await warehouse.execute(`delete from towns where name = 'Ulm'`)).rowCount, 1);
    assert.equal((await warehouse.execute('select * from towns')).rowCount, 1);
    assert.equal((await warehouse.execute('create table empty (a int)')).rowCount, 0);
    assert.equal(
      (await warehouse.execute(`insert into empty values (1); insert into empty values (2), (3)`)).rowCount,
      2,
    );
  });

  it('writes and reads Parquet in the files folder of its environment', async () => {
    const file = join(folders.files(testPlace), 'out.parquet');
    assert.equal(
      (await warehouse.execute(`copy (select 1 as a union all select 2) to '${file}'`)).rowCount,
      2,
    );
    assert.deepEqual(await warehouse.query(`select sum(a) as total from '${file}'`, 10), {
      columns: ['total'],
      rows: [[3]],
    });
  });

  it('resolves relative paths in the files folder, and refuses writes to its temporary folder', async () => {
    await warehouse.execute(`copy (select 7 as a) to 'program'`);
    assert.equal(existsSync(join(folders.files(testPlace), 'program')), true);
    assert.deepEqual((await warehouse.query(`select a from read_csv('program')`, 1)).rows, [[7]]);
    const temporary = folders.warehouseTemporary(testPlace);
    const up = relative(folders.files(testPlace), temporary);
    for (const target of [
      `${temporary}/out`,
      `${temporary.replace('/temporary/', '/.//temporary//')}/out`,
      `${up}/out`,
    ])
      await assert.rejects(
        warehouse.execute(`copy (select 1) to '${target}'`),
        /use a relative path, which is in the files folder/,
        target,
      );
    assert.deepEqual(readdirSync(temporary), []);
  });

  it('converts values to JavaScript', async () => {
    const { columns, rows } = await warehouse.query(
      `select true, 9007199254740991, 9007199254740993, 1.50::decimal(10,2), 12345678901234567.89::decimal(20,2), 'x', null,
        date '2024-02-29', timestamp '2024-02-29 12:30:00', timestamptz '2024-02-29 12:30:00+02', 'nan'::double, [1, 2], {'a': 1}`,
      1,
    );
    assert.equal(columns.length, 13);
    assert.deepEqual(rows, [
      [
        true,
        9007199254740991,
        '9007199254740993',
        1.5,
        '12345678901234567.89',
        'x',
        null,
        '2024-02-29',
        '2024-02-29T12:30:00',
        '2024-02-29T10:30:00.000Z',
        'NaN',
        '[1,2]',
        '{"a":1}',
      ],
    ]);
  });

  it('refuses a result with too many rows, however large, and continues to work', async () => {
    await assert.rejects(warehouse.query('select * from range(100000000000)', 1000), /more than 1000 rows/);
    assert.equal((await warehouse.query('select * from range(1000)', 1000)).rows.length, 1000);
  });

  it('interrupts a running and a waiting statement, and continues to work', async () => {
    await warehouse.execute('create or replace temporary table mine as select 1 as a');
    const limit = new AbortController();
    const endless = 'select count(*) from range(10000000000) a, range(1000) b';
    const running = warehouse.query(endless, 1, 0, limit.signal);
    const waiting = warehouse.execute('drop table mine', 0, limit.signal);
    const next = warehouse.query('select a from mine', 1);
    const refused = [
      assert.rejects(running, /interrupted/i),
      assert.rejects(waiting, /interrupted before it began/),
    ];
    // Both are sent by then.
    await new Promise((resolve) => setImmediate(resolve));
    limit.abort(new Error('late'));
    await Promise.all(refused);
    // The same session: its temporary table is there.
    assert.deepEqual((await next).rows, [[1]]);
    await assert.rejects(warehouse.execute('select 1', 0, limit.signal), /late/);
  });

  it('cannot read or write outside its folders', async () => {
    const outside = [
      `select * from read_text('/etc/passwd')`,
      `select * from read_text('${artifact}/../../../../../../etc/passwd')`,
      `select * from read_text('${root}/credential.json')`,
      `select * from read_text('/proc/self/environ')`,
      `select * from glob('/etc/*')`,
      `select * from sniff_csv('/etc/passwd')`,
      `create table stolen as select * from read_csv('/etc/passwd')`,
      `copy (select 1) to '${root}/out.csv'`,
      `copy (select 1) to '${folders.files(testPlace)}/../out.csv'`,
      `copy (select 1) to '${folders.files({ ...testPlace, environmentName: 'dev2' })}/out.csv'`,
      `export database '${root}/out'`,
      `select * from 'https://127.0.0.1/x.csv'`,
      `select * from read_text('${folders.database({ ...testPlace, environmentName: 'prod' })}')`,
    ];
    for (const sql of outside) {
      await assert.rejects(
        warehouse.execute(sql),
        /disabled by configuration|SQL reads no addresses|files are written only in the files folder/,
        sql,
      );
    }
    assert.deepEqual(readdirSync(root).includes('out.csv'), false);
  });

  it('cannot load extensions, attach databases, change settings or hide statements', async () => {
    const files = folders.files(testPlace);
    const refused: [string, RegExp][] = [
      ['install httpfs', /not allowed/],
      ['load httpfs', /not allowed/],
      [`attach '${files}/other.duckdb' as other`, /not allowed/],
      [`attach ':memory:' as other`, /not allowed/],
      ['detach dev', /not allowed/],
      [`select 1; attach ':memory:' as other`, /not allowed/],
      [`prepare hidden as attach ':memory:' as other`, /syntax error/],
      ['prepare hidden as select 1', /not allowed/],
      ['execute hidden', /./],
      ['explain analyze detach dev', /./],
      ['pragma enable_profiling', /not allowed/],
      ['set threads = 64', /locked/],
      [`set memory_limit = '64GB'`, /locked/],
      ['set enable_external_access = true', /./],
      [`set allowed_directories = ['/']`, /./],
      ['reset lock_configuration', /locked/],
      [`set home_directory = '/'`, /locked/],
      [`select getenv('HOME')`, /does not exist/],
      [`create persistent secret s (type http, bearer_token 'x')`, /./],
    ];
    for (const [sql, message] of refused) await assert.rejects(warehouse.execute(sql), message, sql);
    const attached = await warehouse.query(
      'select database_name from duckdb_databases() where not internal',
      10,
    );
    assert.deepEqual(attached.rows, [['dev']]);
  });

  it('supports JSON, Parquet and time zones without the network', async () => {
    writeFileSync(join(artifact, 'towns.json'), '[{"name":"Ulm"}]');
    const { rows } = await warehouse.query(
      `select name, (timestamptz '2024-01-01 00:00:00Z' at time zone 'Asia/Tokyo')::varchar from read_json('${artifact}/towns.json')`,
      1,
    );
    assert.deepEqual(rows, [['Ulm', '2024-01-01 09:00:00']]);
  });

  it('does not pass the agent’s environment to its process', () => {
    const [pid] = databaseProcesses();
    const environment = execFileSync('cat', [`/proc/${pid}/environ`], { encoding: 'utf8' }).split('\0');
    const names = environment.map((entry) => entry.split('=')[0]).filter(Boolean);
    const expected = [
      'DUCKDB_JE_MALLOC_CONF',
      'HOME',
      'LANG',
      'NODE_CHANNEL_FD',
      'NODE_CHANNEL_SERIALIZATION_MODE',
      'TMPDIR',
      'TZ',
      'UV_THREADPOOL_SIZE',
    ];
    assert.deepEqual(names.sort(), expected);
  });

  it('ends an endless statement when its connection is closed, and no other statement', async () => {
    const other = await driver.connect(testPlace);
    const endless = other.execute('select count(*) from range(1000000000) a, range(1000000) b');
    const queued = other.execute('create table never (a int)');
    const end = Promise.all([assert.rejects(endless, /Interrupted/i), assert.rejects(queued, /closed/)]);
    // The first answer shows that the endless statement had time to start.
    await warehouse.query('select 1', 1);
    await other.close();
    await end;
    await assert.rejects(other.execute('select 1'), /closed/);
    assert.equal((await warehouse.query('select 2', 1)).rows[0]?.[0], 2);
  });

  it('reports how a process died, and starts another for the next statement', async () => {
    const other = await driver.connect(testPlace);
    const endless = other.execute('select count(*) from range(1000000000) a, range(1000000) b');
    const [pid] = databaseProcesses();
    process.kill(pid as number, 'SIGKILL');
    await assert.rejects(endless, /was killed by SIGKILL/);
    assert.equal((await other.query('select count(*) from towns', 1)).rows[0]?.[0], 1);
    await other.close();
  });

  for (const binding of [
    'set variable x = 5',
    'create temp table kept (a int)',
    '/* a */ use information_schema',
  ])
    it(`does not go on without what a session had: ${binding}`, async () => {
      const bound = await driver.connect(testPlace);
      const other = await driver.connect(testPlace);
      await bound.execute(binding);
      const endless = bound.execute('select count(*) from range(1000000000) a, range(1000000) b');
      await other.query('select 1', 1);
      process.kill(databaseProcesses()[0] as number, 'SIGKILL');
      await assert.rejects(endless, /was killed by SIGKILL/);
      for (const _ of [1, 2])
        await assert.rejects(
          bound.execute("create table lost as select getvariable('x') as x"),
          /settings of this run/,
        );
      await bound.close();
      await assert.rejects(other.query('select 1', 1), /was killed by SIGKILL/);
      assert.deepEqual((await other.query('select 1', 1)).rows, [[1]]);
      await other.close();
    });

  it('names the cause when it was killed because another run’s cancelled statement did not stop', () => {
    const other = { ...testPlace, environmentName: 'other' };
    const settings = {
      databaseFile: folders.database(other),
      temporaryFolder: root,
      filesFolder: root,
      allowedFolders: [root],
      memoryMegabytes: 256,
      processMegabytes: 1_024,
      threads: 1,
      temporaryMegabytes: 64,
    };
    const database = new DatabaseProcess(settings, { confinement, processMegabytes: 1_024, concurrency: 4 });
    const response = database.ask({ type: 'open', connection: 1 });
    database.kill('another run’s cancelled statement did not stop; start the run again');
    return assert.rejects(
      response,
      /^Error: another run’s cancelled statement did not stop; start the run again$/,
    );
  });

  it('restarts if a statement broke the database for all connections', async () => {
    const fragile = { ...testPlace, environmentName: 'fragile' };
    // SQL that is checked cannot make this view; a log that cannot be written breaks the database.
    mkdirSync(dirname(folders.database(fragile)), { recursive: true });
    const instance = await DuckDBInstance.create(folders.database(fragile));
    const connection = await instance.connect();
    await connection.run(
      `create table towns as select 1 as a; create view breaking as select * from enable_logging(storage = 'file', storage_path = '/nonexistent/logs')`,
    );
    connection.closeSync();
    instance.closeSync();
    const first = await driver.connect(fragile);
    // DuckDB cannot explain a PIVOT, so nobody sees what the view calls.
    await first.execute('pivot (select 1 as a from breaking) on a').catch(() => undefined);
    await assert.rejects(first.execute('select 1'), 'the database is not broken: this test shows nothing');
    await first.close();
    const next = await driver.connect(fragile);
    assert.equal((await next.query('select count(*) from towns', 1)).rows[0]?.[0], 1);
    await next.close();
  });

  it('says why a database cannot be opened', async () => {
    const broken = { ...testPlace, environmentName: 'broken' };
    writeFileSync(folders.database(broken), 'this is no database'.repeat(1000));
    await assert.rejects(driver.connect(broken), /the warehouse cannot be opened: .*not a valid DuckDB/s);
  });

  it('ends its process when it was idle for a while', async () => {
    const idle = { ...testPlace, environmentName: 'Idle — Umgebung' };
    const brief = createTestDriver(folders, confinement, { idleSeconds: 1 });
    const connection = await brief.connect(idle);
    await connection.execute('create table kept as select 1 as a');
    await connection.close();
    // The write-ahead log is removed by a clean shutdown.
    const wal = `${folders.database(idle)}.wal`;
    assert.equal(existsSync(wal), true);
    const deadline = Date.now() + 120_000;
    while (existsSync(wal) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(existsSync(wal), false);
    const again = await brief.connect(idle);
    assert.equal((await again.execute('select * from kept')).rowCount, 1);
    await brief.close();
  });
});
