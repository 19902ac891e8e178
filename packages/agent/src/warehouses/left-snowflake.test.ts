/** What a killed agent left in Snowflake is ended by its next start, and nothing else is. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTestSnowflake } from '../../testing/snowflake.ts';
import { createLog } from '../log.ts';
import { endLeftSessions, listLeftSessions } from './left-sessions.ts';
import type { ServedTarget } from './warehouse.ts';

const { fake, driver, target, secrets, change, drop } = await createTestSnowflake();
const folder = mkdtempSync(join(tmpdir(), 'headgate-sessions-'));
after(async () => {
  rmSync(folder, { recursive: true });
  await drop();
});

const listSleeping = () =>
  [...fake.sessions.values()].filter(({ history }) =>
    history.some((sql) => sql.includes('system$wait(3600)')),
  );

/** Starts a statement in a process, and kills it. */
async function leaveSession(left: ServedTarget, isTest = false): Promise<void> {
  const names = ['warehouse-key', 'warehouse-passphrase', 'reader-key'];
  const places = Object.fromEntries(
    names.map((name) => [JSON.stringify([name, null]), { secretName: `shop/${name}` }]),
  );
  const input = { folder, ...left, places, isTest, secrets: Object.fromEntries(secrets) };
  const path = fileURLToPath(new URL('./left-snowflake-fixture.ts', import.meta.url));
  const child = spawn(process.execPath, [path, JSON.stringify(input)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exit = once(child, 'exit');
  while (listSleeping().length === 0) {
    assert.equal(child.exitCode, null);
    await new Promise(setImmediate);
  }
  child.kill('SIGKILL');
  await exit;
}

const lines: string[] = [];
const endAll = async () =>
  endLeftSessions(await listLeftSessions(folder), {
    drivers: { postgres: driver, redshift: driver, snowflake: driver },
    readSecret: async ({ secretName }) => target.readSecret(secretName.replace('shop/', '')),
    log: createLog({ level: 'info', write: (line) => lines.push(line) }),
  });

it('the schema of a test of a killed agent is dropped, and no other one is', async () => {
  const tested = change({ readUsername: 'tester' });
  await leaveSession(tested, true);
  const [left = ''] = fake.schemas.made.keys();
  assert.match(left, /^HEADGATE_TEST_11111111222243338444555555555555_/);
  const other = await driver.connectScratch(tested);
  await endAll();
  assert.deepEqual([...fake.schemas.made.keys()], [other.schema]);
  assert.deepEqual(listSleeping(), []);
  await other.warehouse.close();
  assert.deepEqual([fake.schemas.made.size, readdirSync(folder)], [0, []]);
});

it('the statement of a killed agent is ended, and other sessions of its user go on', async () => {
  await leaveSession(target);
  const [name = ''] = readdirSync(folder);
  const record = readFileSync(join(folder, name), 'utf8');
  assert.ok(!record.includes('PRIVATE KEY') && record.includes('"kind":"snowflake"'));
  const other = await driver.connect(target);
  await endAll();
  assert.deepEqual(listSleeping(), []);
  assert.equal((await other.execute('select 1')).rowCount, 1);
  await other.close();
  assert.deepEqual(readdirSync(folder), []);
  assert.match(lines.join(), /ended a session that a killed agent had left/);
});
