import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { lockWithin, processIdentity, tryLock } from './process-lock.mjs';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate lock-'));
  path = join(folder, 'some.lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

const lockModule = new URL('process-lock.mjs', import.meta.url).href;

function node(code: string): ChildProcess {
  const imports = `import { lockWithin, tryLock } from ${JSON.stringify(lockModule)};`;
  const source = `${imports}\nconst path = ${JSON.stringify(path)};\n${code}`;
  return spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

async function output(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout ?? []) text += chunk;
  return text;
}

test('a lock has one holder, which it names', () => {
  const first = tryLock(path);
  first.lock?.update({ state: 'stopping', address: 'http://127.0.0.1:8080' });
  const second = tryLock(path);
  assert.equal(second.lock, undefined);
  assert.equal(second.holder?.pid, process.pid);
  assert.equal(second.holder?.state, 'stopping');
  assert.equal(second.holder?.address, 'http://127.0.0.1:8080');
  first.lock?.release();
  assert.ok(tryLock(path).lock);
});

test('the lock of a killed process is free', async () => {
  const child = node('tryLock(path); console.log("held"); process.stdin.resume();');
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  assert.equal(tryLock(path).holder?.pid, child.pid);
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
  assert.ok(tryLock(path).lock);
});

test('the lock of an earlier process is free, even if its pid is in use again', () => {
  const holder = { token: 'a', pid: process.pid, identity: 'another boot:1', since: '', state: 'running' };
  writeFileSync(path, JSON.stringify(holder));
  assert.ok(tryLock(path).lock);
});

test('a lock file that a crash left empty is free', () => {
  writeFileSync(path, '');
  assert.ok(tryLock(path).lock);
});

test('the wait ends when the holder releases the lock, or when the time is over', async () => {
  const first = tryLock(path);
  const timedOut = await lockWithin(path, { timeoutMs: 60 });
  assert.equal(timedOut.holder?.pid, process.pid);
  let looks = 0;
  const second = await lockWithin(path, {
    timeoutMs: 120_000,
    onHeld() {
      if (++looks === 2) first.lock?.release();
      return true;
    },
  });
  assert.ok(second.lock);
});

test('processes that replace a dead process’s lock at the same time never hold it together', async () => {
  // Every other round leaves the lock with a dead holder instead of releasing it.
  const code = `
    import { mkdirSync, rmdirSync } from 'node:fs';
    let held = 0;
    while (held < 25) {
      const { lock } = await lockWithin(path, { timeoutMs: 120_000 });
      mkdirSync(path + '-inside');
      held++;
      rmdirSync(path + '-inside');
      if (held % 2) lock.update({ pid: 0 });
      else lock.release();
    }
    console.log(held);`;
  const answers = await Promise.all(Array.from({ length: 4 }, () => output(node(code))));
  assert.deepEqual(answers, ['25\n', '25\n', '25\n', '25\n']);
});

test('files that killed processes left beside the lock are removed', () => {
  for (const name of ['some.lock.0123', 'some.lock.0123.4567', 'some.lock.new-999999999-abcd']) {
    writeFileSync(join(folder, name), '{}');
  }
  tryLock(path);
  assert.deepEqual(readdirSync(folder), ['some.lock']);
});

test('a process that does not exist has no identity', () => {
  assert.equal(processIdentity(999_999_999), undefined);
  assert.equal(processIdentity(process.pid), processIdentity(process.pid));
});
