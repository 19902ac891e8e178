import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { ALONE, canShareProcess, cutIntoGroups, usesSharedInstallation } from './test-groups.ts';

const path = 'packages/server/src/workspace/a.test.ts';
const files = (count: number) => Array.from({ length: count }, (_, index) => `${index}.test.ts`);
const sizesOf = (count: number, atOnce: number) =>
  cutIntoGroups(files(count), atOnce).map(({ length }) => length);

test('slice tests of the server and of the engine share a process, those of processes do not', () => {
  assert.equal(canShareProcess(path, `test('a process. It ends', () => {});`), true);
  assert.equal(canShareProcess('packages/agent/src/engine/a.test.ts', ''), true);
  assert.equal(canShareProcess('packages/agent/src/pool/a.test.ts', ''), false);
});

test('a file that measures or changes the whole process has its own', () => {
  for (const text of [
    'process.env.TZ = "UTC";',
    'process.memoryUsage()',
    `import { mock } from 'node:test';`,
    `import { spawn } from 'node:child_process';`,
    `import { monitorEventLoopDelay } from 'node:perf_hooks';`,
    't.assert.fileSnapshot(body, at);',
  ])
    assert.equal(canShareProcess(path, text), false, text);
});

test('acceptance tests on the shared installation share a process', () => {
  const text = `import { sharedInstallation } from './harness/shared-installation.ts';`;
  assert.equal(usesSharedInstallation('test/acceptance/a.test.ts', text), true);
  assert.equal(usesSharedInstallation('test/acceptance/a.test.ts', ''), false);
});

test('the files that are listed to run alone exist', () => {
  for (const file of Object.keys(ALONE)) {
    assert.ok(existsSync(file), file);
    assert.equal(canShareProcess(file, ''), false);
  }
});

test('files are cut in order into groups of at most ten; a few files run at the same time', () => {
  assert.deepEqual(cutIntoGroups(['a', 'b', 'c'], 2), [['a'], ['b', 'c']]);
  assert.deepEqual(sizesOf(0, 3), []);
  assert.deepEqual(sizesOf(2, 3), [1, 1]);
  assert.deepEqual(sizesOf(30, 3), [10, 10, 10]);
  assert.deepEqual(sizesOf(31, 3), [7, 8, 8, 8]);
  assert.deepEqual(cutIntoGroups(files(104), 3).flat(), files(104));
});
