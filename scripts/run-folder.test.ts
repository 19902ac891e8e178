import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { inRunFolder, isLargeEnough } from './run-folder.ts';

const gibibyte = 2 ** 30;
const mount = 'tmpfs /dev/shm tmpfs rw,nosuid,nodev,relatime 0 0';
const large = { freeBytes: 8 * gibibyte, memoryBytes: 14 * gibibyte, mount };

test('a folder in memory is used if it has the space, the machine the memory, and programs in it may run', () => {
  assert.equal(isLargeEnough(large), true);
  // The default of containers.
  assert.equal(isLargeEnough({ ...large, freeBytes: 64 * 2 ** 20 }), false);
  assert.equal(isLargeEnough({ ...large, memoryBytes: 7 * gibibyte }), false);
  assert.equal(isLargeEnough({ ...large, mount: mount.replace('nodev', 'noexec') }), false);
  assert.equal(isLargeEnough({ ...large, mount: 'overlay /dev/shm overlay rw 0 0' }), false);
  assert.equal(isLargeEnough({ ...large, mount: undefined }), false);
});

test('temporary files of the work are in its folder, in TMPDIR if that is set, and removed even if it fails', async (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'headgate-run-folder-'));
  const input = process.env.TMPDIR;
  t.after(() => {
    if (input === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = input;
    rmSync(parent, { recursive: true });
  });
  process.env.TMPDIR = parent;
  const abandoned = join(parent, 'headgate-run-abandoned');
  const recent = join(parent, 'headgate-run-recent');
  const other = join(parent, 'other');
  for (const folder of [abandoned, recent, other]) mkdirSync(folder);
  for (const folder of [abandoned, other]) utimesSync(folder, 1, 1);

  let used = '';
  const work = inRunFolder(async () => {
    used = tmpdir();
    assert.equal(statSync(used).mode & 0o7777, 0o1777);
    writeFileSync(join(used, 'left'), '');
    throw new Error('so');
  });
  await assert.rejects(work, /^Error: so$/);
  assert.equal(dirname(used), parent);
  assert.equal(tmpdir(), parent);
  assert.deepEqual([used, abandoned, recent, other].map(existsSync), [false, false, true, true]);
});
