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

const { fake, driver, target, secrets, drop } = await createTestSnowflake();
const folder = mkdtempSync(join(tmpdir(), 'headgate-sessions-'));
after(async () => {
  rmSync(folder, { recursive: true });
  await drop();
});

it('the statement of a killed agent is ended, and other sessions of its user go on', async () => {
  const names = ['warehouse-key', 'warehouse-passphrase'];
  const places = Object.fromEntries(
    names.map((name) => [JSON.stringify([name, null]), { secretName: `shop/${name}` }]),
  );
  const input = { folder, ...target, places, secrets: Object.fromEntries(secrets) };
  const path = fileURLToPath(new URL('./left-snowflake-fixture.ts', import.meta.url));
  const child = spawn(process.execPath, [path, JSON.stringify(input)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exit = once(child, 'exit');
  const listSleeping = () =>
    [...fake.sessions.values()].filter(({ history }) =>
      history.some((sql) => sql.includes('system$wait(3600)')),
    );
  while (listSleeping().length === 0) {
    assert.equal(child.exitCode, null);
    await new Promise(setImmediate);
  }
  child.kill('SIGKILL');
  await exit;
  const [name = ''] = readdirSync(folder);
  const record = readFileSync(join(folder, name), 'utf8');
  assert.ok(!record.includes('PRIVATE KEY') && record.includes('"kind":"snowflake"'));
  const other = await driver.connect(target);
  const lines: string[] = [];
  await endLeftSessions(await listLeftSessions(folder), {
    drivers: { postgres: driver, snowflake: driver },
    readSecret: async ({ secretName }) => target.readSecret(secretName.replace('shop/', '')),
    log: createLog({ level: 'info', write: (line) => lines.push(line) }),
  });
  assert.deepEqual(listSleeping(), []);
  assert.equal((await other.execute('select 1')).rowCount, 1);
  await other.close();
  assert.deepEqual(readdirSync(folder), []);
  assert.match(lines.join(), /ended a session that a killed agent had left/);
});
