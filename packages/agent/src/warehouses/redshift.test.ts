import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createTestRedshift } from '../../testing/fake-redshift.ts';
import { testWarehouse } from '../../testing/warehouse-conformance.ts';

testWarehouse('Redshift', async () => {
  const { driver, target, drop } = await createTestRedshift();
  return {
    connect: () => driver.connect(target),
    connectReading: () => driver.connectReading(target),
    slow: 'select pg_sleep(60)',
    end: drop,
  };
});

describe('a session with Redshift', async () => {
  const redshift = await createTestRedshift();
  const { driver, target, admin, change, reader, runRole } = redshift;
  after(() => redshift.drop());
  const { signal } = new AbortController();

  it('says which Redshift it is', async () => {
    assert.deepEqual(await driver.test(target), { serverVersion: 'Redshift 1.0.98765' });
    await assert.rejects(driver.test(change({ schema: 'nowhere' })), /the schema "nowhere" does not exist/);
  });

  it('is named to those who watch, with its time zone, and finds tables of its schema', async () => {
    const connection = await driver.connect(target);
    const settings =
      "select current_setting('headgate.query_group'), current_setting('timezone'), current_schema()";
    assert.deepEqual((await connection.query(settings, 1)).rows, [[target.tag, 'UTC', 'wh']]);
    await connection.close();
  });

  it('ends with its transaction if a statement of it is stopped', async () => {
    const connection = await driver.connect(target);
    await connection.execute('begin transaction');
    await assert.rejects(
      connection.execute('select pg_sleep(60)', undefined, AbortSignal.timeout(300)),
      /terminating connection|was lost during the statement/,
    );
    await assert.rejects(connection.execute('select 1'), /lost in a transaction/);
    await connection.close();
  });

  it('ends a session that a killed agent left, and no other', async () => {
    const left = await driver.connect(target);
    const { rows } = await left.query(
      'select process, starttime::varchar from stv_sessions where process = pg_backend_pid()',
      1,
    );
    const [[processId, startedAt] = []] = rows as [number, string][];
    const session = { tag: target.tag, processId: Number(processId), startedAt: String(startedAt) };
    assert.equal(await driver.endSession(target, { ...session, startedAt: '2001-01-01 00:00:00' }), false);
    assert.equal(await driver.endSession(target, session), true);
    assert.equal(await driver.endSession(target, session), false);
    await left.close();
  });

  it('refuses a user for reading that may do more', async () => {
    const refuses = (words: RegExp, at = target) => assert.rejects(driver.connectReading(at), words);
    await refuses(/is that of the runs: CREATE USER headgate_reader/, change({ readUsername: runRole }));
    await admin.query(`alter role ${reader} createdb`);
    await refuses(/because it has CREATEDB: ALTER USER \S+ NOCREATEDB;/);
    await admin.query(`alter role ${reader} nocreatedb`);
    await admin.query(`insert into svv_user_grants values ('${reader}', 'analysts')`);
    await (await driver.connectReading(target)).close();
    await admin.query("insert into svv_role_grants values ('analysts', 'sys:dba')");
    await refuses(/because it has the roles sys:dba: REVOKE ROLE/);
    await admin.query('delete from svv_role_grants');
  });

  it('refuses queries of people that write elsewhere', async () => {
    const bounds = { maxRows: 1, maxBytes: 1_000, rules: {} };
    for (const sql of [
      "unload ('select 1') to 's3://b/' iam_role default",
      "copy t from 's3://b/'",
      'call f()',
    ]) {
      const reading = await driver.connectReading(target);
      await assert.rejects(
        reading.read(sql, bounds, signal).finally(() => reading.close()),
        /is refused: a query of a person begins with SELECT, WITH, SHOW or EXPLAIN/,
      );
    }
    assert.deepEqual(redshift.sent, []);
  });

  it('is never with the database of a Headgate server', async () => {
    const tables = ['agent_request', 'environment_default_connection', 'work_turn'];
    for (const table of tables) await admin.query(`create table public.${table} (id integer)`);
    await assert.rejects(driver.connect(target), /is that of a Headgate server, which no run may use/);
    for (const table of tables) await admin.query(`drop table public.${table}`);
  });

  it('has no private address unless the agent allows it', async () => {
    const { createRedshiftDriver } = await import('./redshift.ts');
    const { parseEgressAllow } = await import('@headgate/contract/egress');
    const guarded = createRedshiftDriver({ allow: parseEgressAllow([]) });
    await assert.rejects(guarded.connect(target), /127\.0\.0\.1/);
    await assert.rejects(guarded.connect(change({ host: '169.254.169.254' })), /169\.254\.169\.254/);
  });
});
