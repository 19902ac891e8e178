import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findConcernedTests, listChangedFiles } from './changed-tests.ts';

const server = 'packages/server/src';
const imports: Record<string, string[]> = {
  [`${server}/runtime/a/a.test.ts`]: [`packages/server/testing/server.ts`, `${server}/runtime/a/rules.ts`],
  [`${server}/runtime/b/b.test.ts`]: [`packages/server/testing/server.ts`],
  [`${server}/runtime/c/c.test.ts`]: [`${server}/runtime/c/c.ts`],
  [`${server}/runtime/c/c.ts`]: [`${server}/kernel/clock.ts`],
  'packages/server/testing/server.ts': [`${server}/main/app.ts`],
  [`${server}/main/app.ts`]: [`${server}/runtime/a/rules.ts`, `${server}/runtime/c/c.ts`],
};
const tests = Object.keys(imports).filter((path) => path.endsWith('.test.ts'));
const find = (...changed: string[]) =>
  findConcernedTests(tests, changed, (path) => ({ files: imports[path] ?? [] }));

test('a change concerns the tests that import it, and those of its folder, not all by the harness', () => {
  assert.deepEqual(find(`${server}/runtime/a/rules.ts`).files, [`${server}/runtime/a/a.test.ts`]);
  assert.deepEqual(find(`${server}/runtime/b/b.routes.ts`).files, [`${server}/runtime/b/b.test.ts`]);
  assert.deepEqual(find(`${server}/kernel/clock.ts`).files, [`${server}/runtime/c/c.test.ts`]);
  assert.deepEqual(find(`packages/server/testing/server.ts`).files.length, 2);
});

test('files of which no import tells are named', () => {
  const migration = 'packages/server/migrations/0100_more.sql';
  assert.deepEqual(find(migration, 'README.md'), { files: [], unknown: [migration] });
});

test('changed files are those that differ from a revision, and new ones', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-changed-'));
  try {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: folder });
    git('init', '--quiet');
    writeFileSync(join(folder, 'same.ts'), '');
    writeFileSync(join(folder, 'changed.ts'), '');
    git('add', '.');
    git('commit', '--quiet', '--message', 'first');
    writeFileSync(join(folder, 'changed.ts'), 'more');
    writeFileSync(join(folder, 'new file.ts'), '');
    assert.deepEqual(listChangedFiles(folder, 'HEAD'), ['changed.ts', 'new file.ts']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
