import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from '../config.ts';
import { checkArguments, checkFiles, checkPort, hasEndedWithin, StartError } from './startup-checks.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-checks-'));
after(() => rmSync(folder, { recursive: true }));

async function faultOf(work: Promise<void>): Promise<string> {
  const failure = await work.then(
    () => assert.fail('no fault'),
    (failure: unknown) => failure,
  );
  assert.ok(failure instanceof StartError);
  assert.ok(!failure.message.includes('\n'));
  return failure.message;
}

function filesOf(settings: Record<string, string>): Promise<void> {
  return checkFiles(loadConfig({ HEADGATE_DATA_DIR: join(folder, 'data'), ...settings }));
}

test('arguments are refused, and settings named', async () => {
  const fault = await faultOf((async () => checkArguments(['--port', '8081']))());
  assert.match(fault, /no arguments, and got "--port"\. .* HEADGATE_PORT=8081 npm start/);
  checkArguments([]);
});

test('a data directory is created, and the check leaves nothing in it', async () => {
  const data = join(folder, 'new', 'data');
  await filesOf({ HEADGATE_DATA_DIR: data });
  await filesOf({ HEADGATE_DATA_DIR: data, HEADGATE_LOG_FILE: join(data, 'log') });
  assert.deepEqual(readdirSync(data), []);
});

test('a data directory that cannot be written is refused, naming its setting', async () => {
  const file = join(folder, 'a file');
  writeFileSync(file, '');
  for (const path of [file, join(file, 'below')]) {
    const fault = await faultOf(filesOf({ HEADGATE_DATA_DIR: path }));
    assert.match(fault, /^HEADGATE_DATA_DIR: .*a file.* cannot be written \(ENOTDIR\)/);
  }
});

// In another process: an endless loop in this one could not be stopped.
test('a data directory in a folder where nothing can be created is refused at once', () => {
  const module = JSON.stringify(new URL('places.ts', import.meta.url).href);
  const make = (path: string) =>
    spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { makeDataDirectory } from ${module}; makeDataDirectory(${JSON.stringify(path)});`,
      ],
      { encoding: 'utf8', timeout: 120_000 },
    );
  for (const path of ['/proc/nope', '/proc/nope/below']) {
    const { status, stderr } = make(path);
    assert.equal(status, 1, path);
    assert.match(stderr, /ENOENT: .*mkdir '\/proc\/nope'|EACCES/);
  }
});

test('a log file that cannot be written, or a pipe without a reader, is refused, naming its setting', async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  assert.match(
    await faultOf(filesOf({ HEADGATE_LOG_FILE: pipe })),
    /^HEADGATE_LOG_FILE: .*pipe is not a regular file/,
  );
  mkdirSync(join(folder, 'directory'));
  assert.match(
    await faultOf(filesOf({ HEADGATE_LOG_FILE: join(folder, 'directory') })),
    /is not a regular file/,
  );
  const lost = join(folder, 'not there', 'log');
  assert.match(await faultOf(filesOf({ HEADGATE_LOG_FILE: lost })), /cannot be written \(ENOENT\)/);
  assert.ok(!existsSync(lost));
});

test('a check of a hanging file system times out', async () => {
  assert.equal(await hasEndedWithin('sleep', ['30'], 50), false);
  assert.equal(await hasEndedWithin('false', [], 5_000), true);
  assert.equal(await hasEndedWithin('/no/such/program', [], 5_000), true);
});

test('a port in use and a host of another machine are refused, naming the settings', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const config = loadConfig({ HEADGATE_PORT: String(port) });
  assert.match(
    await faultOf(checkPort(config)),
    new RegExp(`^HEADGATE_PORT: port ${port} of 127\\.0\\.0\\.1 is in use`),
  );
  await new Promise((resolve) => other.close(resolve));
  await checkPort(config);
  assert.match(
    await faultOf(checkPort({ ...config, host: '192.0.2.1' })),
    /^HEADGATE_HOST: "192\.0\.2\.1" is not an address/,
  );
});
