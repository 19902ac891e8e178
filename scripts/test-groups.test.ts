import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  ALONE,
  canShareProcess,
  dealIntoGroups,
  findSharedInstallation,
  groupTestFiles,
  interleave,
  LONGEST,
} from './test-groups.ts';

const path = 'packages/server/src/workspace/a.test.ts';
const files = (count: number) => Array.from({ length: count }, (_, index) => `${index}.test.ts`);
const sizesOf = (count: number, atOnce: number) =>
  dealIntoGroups(files(count), atOnce).map(({ length }) => length);

test('slice tests of the server and of the agent share a process, those of scripts do not', () => {
  assert.equal(canShareProcess('packages/agent/src/pool/a.test.ts', ''), true);
  assert.equal(canShareProcess('scripts/a.test.ts', ''), false);
  for (const text of [
    `test('a process. It ends', () => {});`,
    `new URL('./launcher-process.ts', import.meta.url)`,
    `import { spawn } from 'node:child_process';`,
    `spawn(process.execPath, [], { cwd: process.cwd() })`,
    `process.kill(process.pid + 1)`,
  ])
    assert.equal(canShareProcess(path, text), true, text);
});

test('a file that measures or changes the whole process has its own', () => {
  for (const text of [
    'process.env.TZ = "UTC";',
    'process.memoryUsage()',
    `import { mock } from 'node:test';`,
    'process.chdir("/")',
    'process.exit()',
    `import { monitorEventLoopDelay } from 'node:perf_hooks';`,
    't.assert.fileSnapshot(body, at);',
  ])
    assert.equal(canShareProcess(path, text), false, text);
});

test('acceptance tests on one installation share a process', () => {
  const text = `import { sharedInstallation } from './harness/shared-installation.ts';`;
  assert.equal(findSharedInstallation('test/acceptance/a.test.ts', text), 'shared-installation');
  const other = text.replaceAll('shared', 'impatient');
  assert.equal(findSharedInstallation('test/acceptance/a.test.ts', other), 'impatient-installation');
  assert.equal(findSharedInstallation('test/acceptance/a.test.ts', ''), undefined);
});

test('the files that are listed to run alone or first exist', () => {
  for (const file of [...Object.keys(ALONE), ...LONGEST]) {
    assert.ok(existsSync(file), file);
    assert.equal(canShareProcess(file, ''), false);
  }
});

test('files are dealt to groups of at most 24; a few files run at the same time', () => {
  assert.deepEqual(dealIntoGroups(['a', 'b', 'c'], 2), [['a', 'c'], ['b']]);
  assert.deepEqual(sizesOf(0, 3), []);
  assert.deepEqual(sizesOf(2, 3), [1, 1]);
  assert.deepEqual(sizesOf(72, 3), [24, 24, 24]);
  assert.deepEqual(sizesOf(73, 3), [19, 18, 18, 18]);
  assert.deepEqual(dealIntoGroups(files(104), 3).flat().toSorted(), files(104).toSorted());
});

test('acceptance tests are spread between groups of slice tests', () => {
  assert.deepEqual(interleave(['a1', 'a2', 'a3', 'a4'], ['s1', 's2']), ['a1', 's1', 'a2', 'a3', 's2', 'a4']);
  assert.deepEqual(interleave([], ['s1', 's2']), ['s1', 's2']);
});

test('the programs of the longest files come first, then those of groups, then the other files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-groups-'));
  try {
    const [first = ''] = LONGEST;
    const shared = 'packages/server/src/main/objects.test.ts';
    const other = 'scripts/test-run.test.ts';
    const waiting = 'test/acceptance/cancelling.test.ts';
    const found = groupTestFiles(process.cwd(), [other, shared, waiting, first], { folder, atOnce: 3 });
    const programs = ['group-001.mjs', 'group-002.mjs', 'group-003.mjs'];
    assert.deepEqual(found, [...programs.map((name) => join(folder, name)), other]);
    for (const [program, path] of [
      [found[0], first],
      [found[1], waiting],
      [found[2], shared],
    ])
      assert.match(readFileSync(program ?? '', 'utf8'), new RegExp(`"${path}"`));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
