import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { processIdentity } from '../../../../../scripts/process-lock.mjs';
import { Secret } from '../../kernel/security/sealed.ts';
import { type LocalAgent, startLocalAgent } from './local-agent.ts';

let folder: string;
let entry: string;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate agent-'));
  entry = join(folder, 'agent.mjs');
  writeFileSync(
    entry,
    `import { createInterface } from 'node:readline';
    console.log(JSON.stringify({ level: 'info', message: 'ready', agent: process.env.NAME, home: process.env.HOME }));
    console.error('not a log entry');
    createInterface({ input: process.stdin }).on('line', (line) => console.log(JSON.stringify({ level: 'info', message: 'told ' + JSON.parse(line).clientSecret })));
    process.stdin.resume().on('end', () => {
      console.log(JSON.stringify({ level: 'error', message: 'ending', flag: process.env.HEADGATE_AGENT_END_WITH_STDIN }));
      process.exit(0);
    });`,
  );
});
after(() => rmSync(folder, { recursive: true }));

type Entry = [level: string, message: string, fields: Record<string, unknown>];

function listeningLog() {
  const entries: Entry[] = [];
  const waiting = new Set<() => void>();
  const at = (level: string) => (fields: Record<string, unknown>, message: string) => {
    entries.push([level, message, fields]);
    for (const look of waiting) look();
  };
  const said = (message: string, times = 1) =>
    new Promise<Entry>((resolve) => {
      const look = () => {
        const found = entries.filter((entry) => entry[1] === message)[times - 1];
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return { log: { info: at('info'), warn: at('warn'), error: at('error') }, said };
}

function start(log: ReturnType<typeof listeningLog>['log']): LocalAgent {
  const secret = new Secret('first');
  return startLocalAgent({ node: process.execPath, entry, env: { NAME: 'local' }, secret, cwd: folder, log });
}

test('the server logs its lines, it has only its own environment, and it ends with its standard input', async () => {
  const { log, said } = listeningLog();
  const agent = start(log);
  const [level, , fields] = await said('ready');
  assert.deepEqual([level, fields], ['info', { agent: 'local', part: 'agent' }]);
  assert.equal((await said('not a log entry'))[0], 'warn');
  await agent.stop();
  const ending = await said('ending');
  assert.deepEqual([ending[0], ending[2].flag], ['error', 'yes']);
  assert.equal(agent.pid, undefined);
});

test('a killed agent is restarted', async () => {
  const { log, said } = listeningLog();
  const agent = start(log);
  await said('ready');
  const first = agent.pid ?? 0;
  process.kill(first, 'SIGKILL');
  assert.equal((await said('the local agent ended unexpectedly'))[2].signal, 'SIGKILL');
  await said('ready', 2);
  assert.notEqual(agent.pid, first);
  await agent.stop();
});

test('it gets its secret and each new one; later agents get the latest', async () => {
  const { log, said } = listeningLog();
  const agent = start(log);
  await said('told first');
  agent.giveSecret(new Secret('second'));
  await said('told second');
  process.kill(agent.pid ?? 0, 'SIGKILL');
  await said('told second', 2);
  await agent.stop();
});

const hasProc = existsSync('/proc/self/environ');

test('its environment and command line do not contain its secret', {
  skip: !hasProc && 'no /proc',
}, async () => {
  const { log, said } = listeningLog();
  const agent = start(log);
  await said('told first');
  const [environment = '', command = ''] = ['environ', 'cmdline'].map((file) =>
    readFileSync(`/proc/${agent.pid}/${file}`, 'utf8'),
  );
  assert.match(environment, /NAME=local/);
  assert.doesNotMatch(environment + command, /first|CLIENT_SECRET/);
  await agent.stop();
});

test('it does not outlive the process that started it', async () => {
  const module = new URL('local-agent.ts', import.meta.url).href;
  const code = `import { startLocalAgent } from ${JSON.stringify(module)};
    const log = { info(fields, message) { if (message === 'ready') console.log(agent.pid); }, warn() {}, error() {} };
    const agent = startLocalAgent({ node: process.execPath, entry: ${JSON.stringify(entry)}, env: {}, secret: { reveal: () => 'x' }, cwd: '/', log });`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = await new Promise<number>((resolve) =>
    parent.stdout.once('data', (text) => resolve(Number(text))),
  );
  parent.kill('SIGKILL');
  const end = performance.now() + 120_000;
  while (processIdentity(pid) !== undefined) {
    assert.ok(performance.now() < end, 'the agent still runs');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});
