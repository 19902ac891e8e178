/** SQL with memory that DuckDB does not count: the whole process has a limit. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { isInTurn, testSeed } from '@headgate/contract/testing/rounds';
import { createTestDriver, errorLog, makeWarehouseFolders, testPlace } from '../../testing/warehouse.ts';
import { type Confinement, openConfinement } from '../confinement/confinement.ts';
import { type EnvironmentPlace, removeTree } from '../host/folders.ts';
import type { WarehouseConnection, WarehouseDriver } from './warehouse.ts';

const { root, folders } = makeWarehouseFolders();
const limitMegabytes = 420;
/** How fast it grows until the watch has a processor depends on the load. */
const overshootMegabytes = 1_500;

/** The process with the open database. */
function databaseProcess(place: EnvironmentPlace): number | undefined {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).find((pid) => {
    try {
      const files = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
      return files.includes(folders.database(place));
    } catch {
      return false;
    }
  });
}

/** The peak memory of a process, as counted by the kernel. */
function peakMegabytes(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

describe('SQL that exceeds DuckDB’s own memory limit', () => {
  let confinement: Confinement;
  let driver: WarehouseDriver;
  let warehouse: WarehouseConnection;
  before(async () => {
    confinement = await openConfinement(errorLog);
    driver = createTestDriver(folders, confinement, {
      memoryMegabytes: 128,
      processMegabytes: limitMegabytes,
    });
    warehouse = await driver.connect(testPlace);
    await warehouse.execute('create table kept as select range as a from range(1000)');
  });
  after(async () => {
    await driver.close();
    await confinement.close();
    await removeTree(root);
  });

  const outcome =
    /exceeded its limit of 420 MB of memory and was killed, with all statements .*HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB/;

  it('names the agent’s settings if DuckDB itself limits the query', async () => {
    const list = `select list(repeat('x', 1000)) from range(10000000)`;
    await assert.rejects(warehouse.execute(list), (error: Error) => {
      assert.match(error.message, /128 MB.*HEADGATE_AGENT_WAREHOUSE_MEMORY_MB of the agent$/s);
      assert.doesNotMatch(error.message, /SET threads|PRAGMA/);
      return true;
    });
  });

  it('is limited in disk space for spilling', async () => {
    const large =
      'create temporary table large as select random() as r, uuid()::varchar as u from range(10000000)';
    await assert.rejects(warehouse.execute(large), (error: Error) => {
      assert.match(error.message, /HEADGATE_AGENT_WAREHOUSE_TEMP_MB of the agent$/s);
      assert.doesNotMatch(error.message, /PRAGMA|SET /);
      return true;
    });
    const settings = `select current_setting('threads'), current_setting('max_temp_directory_size')`;
    assert.deepEqual((await warehouse.query(settings, 1)).rows, [[2, '64.0 MiB']]);
  });

  const giantValues = [
    'select length(range(1000000000)::varchar)',
    `select length(list_aggregate(range(500000000), 'sum')::varchar)`,
    `select length(bitstring('1', 1000000000)::varchar)`,
    `select length(repeat('x', 2000000000))`,
    'select len(list_resize([1], 2000000000))',
    `select length(format('{:2000000000}', 1))`,
  ];
  for (const [number, sql] of giantValues.entries()) {
    if (!isInTurn(number, giantValues.length, 2)) continue;
    it(`fails alone: ${sql} (TEST_SEED=${testSeed})`, async (t) => {
      if (confinement.limitAllocations(limitMegabytes).length === 0) return t.skip('prlimit is missing');
      const beside = await driver.connect(testPlace);
      await beside.execute('begin; delete from kept');
      await assert.rejects(
        warehouse.query(sql, 1),
        /^Error: the statement needs more memory than the 420 MB .*HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB/,
      );
      assert.deepEqual(
        (await beside.query('select count(*) from kept', 1)).rows,
        [[0]],
        'in its transaction',
      );
      await beside.execute('rollback');
      await beside.close();
    });
  }

  const growing = 'select histogram(range) from range(1000000000)';
  /** Grows as little at a time, in a fifth of the processor time. */
  const growingFast = 'select entropy(range) from range(1000000000)';
  const watchedPlace = { ...testPlace, environmentName: 'watched' };

  /** Only the watch limits it, so that it is sure which of the two comes first. */
  async function connectWatched(): Promise<[WarehouseDriver, WarehouseConnection]> {
    const bounds = { memoryMegabytes: 128, processMegabytes: limitMegabytes };
    const watched = createTestDriver(folders, { ...confinement, limitAllocations: () => [] }, bounds);
    const connection = await watched.connect(watchedPlace);
    await connection.execute('create or replace table kept as select range as a from range(1000)');
    return [watched, connection];
  }

  it('fails if it grows in small steps, and the next statement works', async (t) => {
    const [watched, warehouse] = await connectWatched();
    const pid = databaseProcess(watchedPlace) ?? assert.fail('no process has the database open');
    let peak = 0;
    const watching = setInterval(() => {
      peak = Math.max(peak, peakMegabytes(pid));
    }, 2);
    try {
      await assert.rejects(warehouse.query(growing, 1), outcome);
    } finally {
      clearInterval(watching);
    }
    t.diagnostic(`at most ${Math.round(peak)} MB`);
    assert.ok(peak < limitMegabytes + overshootMegabytes, `${peak} MB`);
    assert.deepEqual((await warehouse.query('select count(*) from kept', 1)).rows, [[1000]]);
    await watched.close();
  });

  it('fails other runs with the same message, even between two statements', async () => {
    const [watched, warehouse] = await connectWatched();
    const busy = await watched.connect(watchedPlace);
    const between = await watched.connect(watchedPlace);
    await between.execute('begin; delete from kept');
    const endless = busy.execute('select count(*) from range(1000000000) a, range(1000000) b');
    await Promise.all([
      assert.rejects(endless, outcome),
      assert.rejects(warehouse.execute(growingFast), outcome),
    ]);
    // Its transaction is gone: the rest of it must not take effect by itself.
    await assert.rejects(between.execute('insert into kept values (-1)'), outcome);
    assert.deepEqual((await between.query('select count(*), min(a) from kept', 1)).rows, [[1000, 0]]);
    await watched.close();
  });

  it('a query that only reads is interrupted before it ends the statements of runs', async () => {
    // With room between the interrupt and the end of the process, which a busy machine delays.
    const roomy = createTestDriver(folders, confinement, { memoryMegabytes: 128, processMegabytes: 1_500 });
    const place = { ...testPlace, environmentName: 'roomy' };
    const run = await roomy.connect(place);
    await run.execute('create table kept as select range as a from range(1000)');
    await run.execute('begin; delete from kept');
    const endless = run.query('select count(*) from range(30000) a, range(30000) b', 1);
    const reading = await roomy.connectReading(place);
    const bounds = { maxRows: 10, maxBytes: 10_000, rules: {} };
    const noLimit = new AbortController().signal;
    // The limit of DuckDB itself can come first. It also fails this query alone.
    for (const sql of [growingFast, `select length(string_agg(repeat('x', 1000))) from range(10000000)`])
      await assert.rejects(
        reading.read(sql, bounds, noLimit),
        /the query was interrupted .*runs go first|the warehouse has 128 MB: make the query smaller/,
      );
    assert.deepEqual((await reading.read('select count(*) from kept', bounds, noLimit)).rows, [[1000]]);
    assert.deepEqual((await endless).rows, [[900_000_000]]);
    assert.deepEqual((await run.query('select count(*) from kept', 1)).rows, [[0]], 'in its transaction');
    await run.execute('rollback');
    await run.close();
    await reading.close();
    await roomy.close();
  });
});
