/** What a killed agent left in a warehouse is ended by its next start, and nothing else is. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTestPostgres } from '../../testing/postgres.ts';
import { createLog } from '../log.ts';
import { endLeftSessions, listLeftSessions } from './left-sessions.ts';

const postgres = await createTestPostgres();
const { driver, target } = postgres;
const folder = mkdtempSync(join(tmpdir(), 'headgate-sessions-'));
after(async () => {
  rmSync(folder, { recursive: true });
  await postgres.drop();
});

const password = await target.readSecret('warehouse-password');
const lines: string[] = [];
const log = createLog({ level: 'info', write: (line) => lines.push(line) });
const sleeping =
  "select pid from pg_stat_activity where query like '%pg_sleep(3600)%' and pid <> pg_backend_pid()";

/** Starts a statement in a process, and kills it. */
async function leaveSession(isTest = false): Promise<void> {
  const places = {
    '["warehouse-password",null]': { secretName: 'shop/warehouse' },
    '["reader-password",null]': { secretName: 'shop/warehouse' },
  };
  const input = { folder, ...target, places, isTest, password: password.reveal() };
  const path = fileURLToPath(new URL('./left-session-fixture.ts', import.meta.url));
  const child = spawn(process.execPath, [path, JSON.stringify(input)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exit = once(child, 'exit');
  for (;;) {
    if ((await postgres.admin.query(sleeping)).rowCount === 1) break;
    assert.equal(child.exitCode, null);
  }
  child.kill('SIGKILL');
  await exit;
}

const endAll = async () =>
  endLeftSessions(await listLeftSessions(folder), {
    drivers: { postgres: driver, redshift: driver, snowflake: driver },
    readSecret: async ({ secretName }) => {
      assert.equal(secretName, 'shop/warehouse');
      return password;
    },
    log,
  });

it('the statement of a killed agent is ended, and other sessions of its role go on', async () => {
  await leaveSession();
  const [name = ''] = readdirSync(folder);
  assert.ok(!readFileSync(join(folder, name), 'utf8').includes(password.reveal()));
  // Another agent goes on with the same execution, and something else uses the role.
  const other = await driver.connect(target);
  const foreign = await driver.connect({ ...target, tag: 'hg:22222222-2222-4333-8444-555555555555' });
  assert.equal((await postgres.admin.query(sleeping)).rowCount, 1);
  await endAll();
  for (;;) if ((await postgres.admin.query(sleeping)).rowCount === 0) break;
  const ids = 'select pg_backend_pid()';
  assert.ok((await other.query(ids, 1)).rows.length + (await foreign.query(ids, 1)).rows.length === 2);
  await Promise.all([other.close(), foreign.close()]);
  assert.deepEqual(readdirSync(folder), []);
  assert.match(lines.join(), /ended a session that a killed agent had left/);
});

it('the schema of a test of a killed agent is dropped, with its session, and no other one is', async () => {
  await postgres.admin.query(`grant create on database ${postgres.runRole} to ${postgres.runRole}`);
  const list = async () =>
    (
      await postgres.admin.query<{ nspname: string }>(
        "select nspname from pg_namespace where nspname like 'headgate%' order by 1",
      )
    ).rows.map(({ nspname }) => nspname);
  await leaveSession(true);
  const [left = ''] = await list();
  assert.match(left, /^headgate_test_11111111222243338444555555555555_/);
  const foreign = 'headgate_test_22222222222243338444555555555555_0123456789ab';
  await postgres.admin.query(`create schema ${foreign} authorization ${postgres.runRole}`);
  const other = await driver.connectScratch(target);
  // Records say which schema: neither a name that is none of a test, nor one of another execution, is dropped.
  const [file = ''] = readdirSync(folder);
  const record = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  for (const scratch of [foreign, 'wh']) {
    writeFileSync(join(folder, `${scratch}.json`), JSON.stringify({ ...record, scratch }));
  }
  await endAll();
  assert.deepEqual(await list(), [other.schema, foreign].sort());
  assert.equal((await postgres.admin.query("select from pg_namespace where nspname = 'wh'")).rowCount, 1);
  assert.equal((await postgres.admin.query(sleeping)).rowCount, 0);
  await other.warehouse.close();
  assert.deepEqual(await list(), [foreign]);
  assert.deepEqual(readdirSync(folder), []);
});

it('a record stays while its server cannot be reached, for a day', async () => {
  const path = join(folder, 'unreachable.json');
  const { connection } = postgres.change({ port: '1' });
  writeFileSync(
    path,
    JSON.stringify({ connection, tag: target.tag, processId: 1, startedAt: '2030-01-01', places: {} }),
  );
  await endAll();
  assert.match(lines.at(-1) ?? '', /could not be ended/);
  assert.deepEqual(readdirSync(folder), ['unreachable.json']);
  utimesSync(path, 1, 1);
  await endAll();
  assert.deepEqual(readdirSync(folder), []);
});
