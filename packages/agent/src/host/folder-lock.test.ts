import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { lockFolder } from './folder-lock.ts';

const never = new AbortController().signal;

describe('the lock of the agent’s folder', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-lock-'));
    path = join(folder, 'agent.lock');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is refused while its holder is alive, with its process id, and free afterwards', async () => {
    const lock = await lockFolder(path, 0, never);
    await assert.rejects(
      lockFolder(path, 0, never),
      new RegExp(`another agent \\(process ${process.pid}\\) uses this folder`),
    );
    await lock.release();
    assert.equal(existsSync(path), false);
    await (await lockFolder(path, 0, never)).release();
  });

  it('is taken over from a killed holder, and waited for while the holder ends', async () => {
    const source = `import { lockFolder } from ${JSON.stringify(new URL('./folder-lock.ts', import.meta.url).href)};
      await lockFolder(${JSON.stringify(path)}, 0, new AbortController().signal); console.log('held'); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const waiting = lockFolder(path, 120_000, never);
    child.kill('SIGKILL');
    await waiting;
    assert.equal(JSON.parse(readFileSync(path, 'utf8')).pid, process.pid);
  });

  it('is taken over from a reused process id, and from a damaged file', async () => {
    writeFileSync(path, JSON.stringify({ pid: process.ppid, started: 'another boot:1' }));
    await (await lockFolder(path, 0, never)).release();
    writeFileSync(path, '{"pid":');
    await (await lockFolder(path, 0, never)).release();
  });
});
