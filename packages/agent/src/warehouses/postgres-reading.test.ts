/** Queries of people sign in with a role that can only read. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createTestPostgres } from '../../testing/postgres.ts';
import { openWorkWarehouse } from '../handlers/work-warehouse.ts';
import type { ReadRows, ServedTarget, Warehouses } from './warehouse.ts';

const postgres = await createTestPostgres();
const { driver, target, admin, reader, runRole, change } = postgres;
const run = await driver.connect(target);
after(async () => {
  await run.close();
  await postgres.drop();
});

const bounds = { maxRows: 10, maxBytes: 10_000, rules: {} };
const { signal } = new AbortController();
async function read(sql: string, from = target): Promise<ReadRows['rows']> {
  const connection = await driver.connectReading(from);
  return (await connection.read(sql, bounds, signal).finally(() => connection.close())).rows;
}

async function refuses(from: ServedTarget, words: RegExp) {
  await assert.rejects(driver.connectReading(from), words);
  await assert.rejects(driver.test(from), words, 'the test of the connection says the same');
}

describe('a query of a person', () => {
  it('signs in as the reading role, in a transaction that only reads', async () => {
    await run.execute('create table cities (name text)');
    await run.execute("insert into cities values ('Oslo')");
    assert.deepEqual(await read('select name from cities'), [['Oslo']]);
    const settings = "current_user::text, current_setting('transaction_read_only')";
    assert.deepEqual(await read(`select ${settings}`), [[reader, 'on']]);
    await admin.query(`grant all on wh.cities to ${reader}`);
    await assert.rejects(read("insert into cities values ('Bergen')"), /read-only transaction/);
    await assert.rejects(read('do $$ begin commit; delete from cities; end $$'), /invalid transaction/);
    await assert.rejects(read("select set_config('transaction_read_only', 'off', true)"), /read-write mode/);
  });

  it('has its own name among the sessions of the server', async () => {
    let found: ServedTarget | undefined;
    const warehouses = {
      postgres: { ...driver, connectReading: async (tagged: ServedTarget) => (found = tagged) },
    } as unknown as Warehouses;
    await openWorkWarehouse(warehouses, {
      warehouse: { kind: 'postgres', connection: target.connection },
      place: { projectId: 'p', environmentName: 'dev' },
      id: '1',
      readSecret: target.readSecret,
    }).connectReading();
    assert.equal(found?.tag, 'hg:read:1');
    const sql = "select current_setting('application_name')";
    assert.deepEqual(await read(sql, { ...target, tag: 'hg:read:1' }), [['hg:read:1']]);
  });

  it('sees neither the statement of a run nor can it end the run', async () => {
    const running = run.query("select 'hidden' from pg_sleep(60)", 1).catch((error: Error) => error);
    const sessions = () =>
      admin.query<{ pid: number }>(
        "select pid from pg_stat_activity where query like '%hidden%' and pid <> pg_backend_pid()",
      );
    while ((await sessions()).rows.length === 0);
    const pid = (await sessions()).rows[0]?.pid ?? 0;
    assert.deepEqual(await read(`select query from pg_stat_activity where pid = ${pid}`), [
      ['<insufficient privilege>'],
    ]);
    for (const end of ['pg_cancel_backend', 'pg_terminate_backend'])
      await assert.rejects(read(`select ${end}(${pid})`), /permission denied to (cancel|terminate)/);
    await admin.query('select pg_cancel_backend($1)', [pid]);
    assert.match(String(await running), /cancel/);
  });

  it('writes and reads no file of the server, and starts no program', async () => {
    for (const [sql, words] of [
      ["copy wh.cities to '/nowhere/file'", /permission denied to COPY to a file/],
      ["copy (select 1) to program 'cat'", /permission denied to COPY to or from an external program/],
      ["select pg_read_file('/etc/hostname')", /permission denied for function pg_read_file/],
      ["select lo_export(1, '/nowhere/file')", /permission denied for function lo_export/],
    ] as const)
      await assert.rejects(read(sql), words);
  });
});

describe('a credential for reading is refused', () => {
  it('if there is none', async () => {
    const properties = { ...target.connection.properties };
    delete properties.readUsername;
    delete properties.readPassword;
    const without: ServedTarget = { ...target, connection: { ...target.connection, properties } };
    await assert.rejects(driver.connectReading(without), /set "readUsername" and "readPassword"/);
    assert.ok((await driver.test(without)).serverVersion, 'runs need none');
    const half = change({});
    delete half.connection.properties.readPassword;
    await refuses(half, /has no "readPassword": set it to a secret reference/);
  });

  it('if it cannot sign in, by its properties', () =>
    refuses(
      change({ readUsername: `${reader}_other` }),
      /correct "readUsername" or the secret "readPassword"/,
    ));

  it('if it is the role of the runs', async () => {
    const password = await target.readSecret('warehouse-password');
    const same = change({ readUsername: runRole });
    await refuses(
      { ...same, readSecret: async () => password },
      /is that of the runs: CREATE ROLE headgate_reader .* GRANT SELECT ON ALL TABLES IN SCHEMA wh TO headgate_reader; Then set/,
    );
  });

  for (const role of [
    'pg_signal_backend',
    'pg_read_server_files',
    'pg_write_server_files',
    'pg_execute_server_program',
    'pg_monitor',
    'pg_write_all_data',
  ])
    it(`if it is a member of ${role}, also by another role`, async () => {
      await admin.query(`create role ${reader}_group in role ${role} role ${reader}`);
      await refuses(
        target,
        new RegExp(`member of .*${role}.*: REVOKE .*${role}.* FROM ${reader}; GRANT USAGE`),
      );
      await admin.query(`drop role ${reader}_group`);
    });

  it('if it is a member of the role of the runs, or of a superuser', async () => {
    await admin.query(`grant ${runRole} to ${reader}`);
    await refuses(target, new RegExp(`member of ${runRole}: REVOKE ${runRole} FROM ${reader}`));
    await admin.query(`revoke ${runRole} from ${reader}`);
    await admin.query(`create role ${reader}_group superuser role ${reader}`);
    await refuses(target, new RegExp(`member of ${reader}_group: REVOKE`));
    await admin.query(`drop role ${reader}_group`);
  });

  it('if it has attributes with which it can do more', async () => {
    await admin.query(`alter role ${reader} superuser replication`);
    await refuses(
      target,
      /because it has SUPERUSER, REPLICATION: ALTER ROLE \w+ NOSUPERUSER NOREPLICATION; GRANT USAGE/,
    );
    await admin.query(`alter role ${reader} nosuperuser noreplication`);
    assert.equal((await read('select 1')).length, 1);
  });
});
