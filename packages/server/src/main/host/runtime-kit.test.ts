import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { ensureSystemUser, isRoot } from './process-users.ts';
import { ensureAgentKit } from './runtime-kit.ts';

let folder: string;
let checkout: string;
let runtime: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate kit-'));
  checkout = join(folder, 'private', 'checkout');
  runtime = join(folder, 'runtime');
  for (const name of ['agent', 'contract', 'pipelines']) {
    write(
      `packages/${name}/package.json`,
      manifest(`@headgate/${name}`, name === 'agent' ? ['outer', 'absent'] : []),
    );
    mkdirSync(join(checkout, 'node_modules', '@headgate'), { recursive: true });
    symlinkSync(`../../packages/${name}`, join(checkout, 'node_modules', '@headgate', name));
  }
  write('packages/contract/src/index.ts', `export const word: string = 'from the contract';`);
  write(
    'packages/agent/src/main.ts',
    `import { word } from '@headgate/contract'; import { outer } from 'outer'; console.log(word, outer);`,
  );
  write('packages/agent/src/main.test.ts', '');
  write('node_modules/outer/package.json', manifest('outer', ['inner']));
  write(
    'node_modules/outer/index.js',
    `import { inner } from 'inner'; export const outer = 'outer with ' + inner;`,
  );
  write('node_modules/outer/node_modules/inner/package.json', manifest('inner', []));
  write('node_modules/outer/node_modules/inner/index.js', `export const inner = 'its own inner';`);
  write('node_modules/unneeded/package.json', manifest('unneeded', []));
});
afterEach(() => rmSync(folder, { recursive: true }));

function manifest(name: string, needs: string[]): string {
  const dependencies = Object.fromEntries(needs.map((need) => [need, '1.0.0']));
  const main = name.startsWith('@headgate/') ? './src/index.ts' : './index.js';
  return JSON.stringify({ name, type: 'module', exports: main, optionalDependencies: dependencies });
}

function write(path: string, text: string): void {
  const full = join(checkout, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
}

test('a kit runs as a user that cannot read the checkout and cannot change the kit', () => {
  chmodSync(folder, 0o711);
  chmodSync(join(folder, 'private'), 0o700);
  // Like a clone with a umask that excludes others.
  chmodSync(join(checkout, 'node_modules', 'outer', 'index.js'), 0o600);
  const umask = process.umask(0o077);
  const kit = ensureAgentKit(checkout, process.execPath, runtime);
  process.umask(umask);
  const user = isRoot() ? ensureSystemUser('headgate-agent', 'HEADGATE_AGENT_USER') : undefined;
  const run = spawnSync(kit.node, [join(kit.checkout, 'packages', 'agent', 'src', 'main.ts')], {
    encoding: 'utf8',
    cwd: '/',
    env: {},
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  });
  assert.equal(run.stdout, 'from the contract outer with its own inner\n', run.stderr);
  assert.equal(statSync(join(kit.checkout, 'packages', 'agent', 'src', 'main.ts')).uid, process.getuid?.());
});

test('it contains only what the agent needs', () => {
  const kit = ensureAgentKit(checkout, process.execPath, runtime);
  assert.deepEqual(readdirSync(join(kit.checkout, 'node_modules')).sort(), ['@headgate', 'outer']);
  assert.deepEqual(readdirSync(join(kit.checkout, 'packages', 'agent', 'src')), ['main.ts']);
});

test('it is created once, and again after a source has changed', () => {
  const first = ensureAgentKit(checkout, process.execPath, runtime);
  assert.equal(ensureAgentKit(checkout, process.execPath, runtime).checkout, first.checkout);
  write('packages/contract/src/index.ts', `export const word: string = 'changed';`);
  const second = ensureAgentKit(checkout, process.execPath, runtime);
  assert.notEqual(second.checkout, first.checkout);
  assert.match(
    readFileSync(join(second.checkout, 'packages', 'contract', 'src', 'index.ts'), 'utf8'),
    /changed/,
  );
  assert.match(
    readFileSync(join(first.checkout, 'packages', 'contract', 'src', 'index.ts'), 'utf8'),
    /from the contract/,
  );
});

test('a kit unused for a while is removed, unless a process runs from it', async (t) => {
  const first = ensureAgentKit(checkout, process.execPath, runtime);
  const longAgo = new Date(Date.now() - 3_600_000);
  utimesSync(first.checkout, longAgo, longAgo);
  const child = spawn(first.node, ['-e', 'setTimeout(() => {}, 600_000)'], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  write('packages/agent/src/more.ts', '');
  ensureAgentKit(checkout, process.execPath, runtime);
  assert.ok(existsSync(first.checkout));

  child.kill('SIGKILL');
  await once(child, 'exit');
  ensureAgentKit(checkout, process.execPath, runtime);
  assert.equal(existsSync(first.checkout), false);
});
