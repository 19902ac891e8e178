import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { removeLeftLocks, removeLock } from './ref-locks.ts';

const folder = await mkdtemp(join(tmpdir(), 'headgate-ref-locks-'));
after(() => rm(folder, { recursive: true, force: true }));
await mkdir(join(folder, 'refs', 'heads'), { recursive: true });
const path = 'refs/heads/main.lock';
const lock = join(folder, path);

test('a lock is old by the clock of the file system, not by ours', async (context) => {
  await writeFile(lock, '');
  context.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_600_000 });
  assert.equal(await removeLeftLocks(folder), false);
  assert.ok(existsSync(lock));
  context.mock.timers.setTime(0);
  const leftAt = (await stat(lock)).mtimeMs / 1_000 - 100;
  await utimes(lock, leftAt, leftAt);
  assert.equal(await removeLeftLocks(folder), true);
  assert.deepEqual(await readdir(folder), ['refs']);
  assert.ok(!existsSync(lock));
});

test('a lock that was taken again since it was judged stays', async () => {
  await writeFile(lock, 'old');
  const judged = await stat(lock);
  // The new one exists before the old one is gone, so that it has another inode.
  await writeFile(`${lock}.new`, 'new');
  await rename(`${lock}.new`, lock);
  assert.equal(await removeLock(folder, path, judged), false);
  assert.equal(await readFile(lock, 'utf8'), 'new');
  assert.equal(await removeLock(folder, path, await stat(lock)), true);
  assert.equal(await removeLock(folder, path, judged), false, 'it is gone');
  assert.deepEqual(await readdir(folder), ['refs']);
});
