import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '../packages/server/testing/waiting.ts';
import { processIdentity } from './process-lock.mjs';

const here = dirname(fileURLToPath(import.meta.url));

/** A checkout in a path with spaces. It has one local dependency, and its server prints what it received. */
let checkout: string;

before(() => {
  checkout = mkdtempSync(join(tmpdir(), 'headgate "boot" strap-'));
  mkdirSync(join(checkout, 'scripts'));
  mkdirSync(join(checkout, 'local'));
  for (const name of ['bootstrap.mjs', 'installation.mjs', 'process-lock.mjs', 'lifeline.cjs']) {
    copyFileSync(join(here, name), join(checkout, 'scripts', name));
  }
  const root = { name: 'checkout', version: '1.0.0', dependencies: { local: 'file:local' } };
  const local = { name: 'local', version: '1.0.0' };
  writeJson('package.json', { ...root, type: 'module' });
  writeJson('local/package.json', local);
  writeJson('package-lock.json', {
    ...root,
    lockfileVersion: 3,
    packages: { '': root, local, 'node_modules/local': { resolved: 'local', link: true } },
  });
  const server = join(checkout, 'packages', 'server', 'src', 'main', 'server.ts');
  mkdirSync(dirname(server), { recursive: true });
  writeFileSync(
    server,
    `import { Worker } from 'node:worker_threads';
    const [wish, code] = process.argv.slice(2);
    const thread = () => new Promise((resolve, reject) =>
      new Worker('', { eval: true }).on('error', reject).on('exit', resolve));
    if (wish === 'threads')
      for (const time of ['first', 'second']) await thread().catch((failure) => console.log(time, failure));
    // Before it prints its pid: the test then sends signals.
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => console.log('signal', signal));
    process.on('SIGTERM', () => process.exit(0));
    const hasNpmVariables = Object.keys(process.env).some((name) => name.startsWith('npm_'));
    console.log('pid', process.pid, Number.parseInt(process.versions.node), hasNpmVariables);
    if (wish === 'exit') process.exit(Number(code));
    setTimeout(() => process.exit(99), 300_000);`,
  );
});
after(() => rmSync(checkout, { recursive: true }));

function writeJson(path: string, value: unknown): void {
  writeFileSync(join(checkout, path), JSON.stringify(value));
}

interface Run {
  child: ChildProcess;
  text(): string;
  /** Resolves with the pid of the real command. */
  started(): Promise<number>;
  exit: Promise<number | null>;
}

const bootstrap = () => join(checkout, 'scripts', 'bootstrap.mjs');

function start(args: string[], env: Record<string, string> = {}): Run {
  return node([bootstrap(), 'start', ...args], env);
}

function node(args: string[], env: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more) => (text += more));
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, text: () => text, started: () => pidIn(() => text), exit };
}

async function pidIn(text: () => string): Promise<number> {
  const pid = await waitUntil(
    'the start of the command',
    withinSeconds,
    () => /^pid (\d+)/m.exec(text())?.[1],
  );
  return Number(pid);
}

/** For a start on a busy machine. */
const withinSeconds = 120;

const stamp = () => join(checkout, 'node_modules', '.headgate-installed.json');

test('two first starts at once install once, whatever settings npm has, and both run', async () => {
  const noise = {
    npm_config_omit: 'optional',
    npm_config_dry_run: 'true',
    npm_config_port: '1',
    NODE_ENV: 'production',
  };
  const runs = [start(['exit', '0'], noise), start(['exit', '0'], noise)];
  assert.deepEqual(await Promise.all(runs.map((run) => run.exit)), [0, 0]);
  const installed = runs.filter((run) => run.text().includes('installing the dependencies'));
  assert.equal(installed.length, 1);
  assert.ok(existsSync(stamp()));
  for (const run of runs) assert.match(run.text(), /^pid \d+ 24 false$/m);
});

test('a later start installs nothing, and a changed lock file is seen', async () => {
  const again = start(['exit', '0']);
  await again.exit;
  assert.doesNotMatch(again.text(), /installing/);
  writeFileSync(stamp(), JSON.stringify({ wanted: 'another lock file', node: process.execPath }));
  const changed = start(['exit', '0']);
  await changed.exit;
  assert.match(changed.text(), /installing/);
});

test('the next start repeats an installation that was killed', async () => {
  rmSync(stamp());
  const killed = start(['exit', '0']);
  await waitUntil('the install', withinSeconds, () => killed.text().includes('installing'));
  killed.child.kill('SIGKILL');
  const next = start(['exit', '0']);
  assert.equal(await next.exit, 0);
  assert.ok(existsSync(stamp()));
});

test('the exit code of the command is the exit code of the bootstrap', async () => {
  assert.equal(await start(['exit', '7']).exit, 7);
});

test('an unknown command is refused with a list of the commands', async () => {
  const run = node([bootstrap(), 'stat']);
  assert.equal(await run.exit, 1);
  assert.match(run.text(), /no command 'stat'.*start, credential/);
});

test('Ctrl-C, which arrives twice under npm, is forwarded once', async () => {
  const run = start([]);
  await run.started();
  run.child.kill('SIGINT');
  await waitUntil('the signal', withinSeconds, () => run.text().includes('signal SIGINT'));
  run.child.kill('SIGINT');
  await delay(400);
  run.child.kill('SIGTERM');
  assert.equal(await run.exit, 0);
  assert.equal(run.text().match(/signal SIGINT/g)?.length, 1);
});

test('kill -9 of the bootstrap shuts the command down in order', async () => {
  const run = start([]);
  const pid = await run.started();
  run.child.kill('SIGKILL');
  await waitUntil('the end of the command', withinSeconds, () => run.text().includes('signal SIGTERM'));
  await waitUntil('the command to be gone', withinSeconds, () => processIdentity(pid) === undefined);
});

test('threads of the command start and end, and its lifeline stays open', async () => {
  const run = start(['threads']);
  const pid = await run.started();
  assert.doesNotMatch(run.text(), /first|second/);
  run.child.kill('SIGKILL');
  await waitUntil('the end of the command', withinSeconds, () => run.text().includes('signal SIGTERM'));
  await waitUntil('the command to be gone', withinSeconds, () => processIdentity(pid) === undefined);
});

test('kill -9 of npm shuts the command down in order', async () => {
  // npm runs its scripts in a shell.
  const npm = `const { spawn } = require('node:child_process');
    spawn('/bin/sh', ['-c', '"$0" "$1" start; exit $?', process.execPath, process.argv[1]],
      { stdio: 'inherit', env: { ...process.env, npm_lifecycle_event: 'start' } });`;
  const run = node(['-e', npm, bootstrap()]);
  const pid = await run.started();
  run.child.kill('SIGKILL');
  await waitUntil('the end of the command', withinSeconds, () => run.text().includes('signal SIGTERM'));
  await waitUntil('the command to be gone', withinSeconds, () => processIdentity(pid) === undefined);
});
