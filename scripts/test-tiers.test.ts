import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { readTestSelection, selectTestFiles } from './test-selection.ts';
import { createModuleReader, createTierSorter, type Tier } from './test-tiers.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** The tier of a test file with this text, beside these other files. */
function tierOf(path: string, text: string, others: Record<string, string> = {}): Tier {
  const checkout = mkdtempSync(join(tmpdir(), 'headgate-tiers-'));
  folders.push(checkout);
  for (const [file, content] of Object.entries({ ...others, [path]: text })) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true });
    writeFileSync(join(checkout, file), content);
  }
  return createTierSorter(createModuleReader(checkout))(path);
}

const path = 'packages/server/src/kernel/a.test.ts';
const usesRules = `import { rule } from './rules.ts';`;

test('a file that reaches no process, socket or database is a unit test', () => {
  const others = { 'packages/server/src/kernel/rules.ts': `import { join } from 'node:path';` };
  assert.equal(tierOf(path, usesRules, others), 'unit');
});

test('a file that reaches one of them through another module is a slice test', () => {
  const direct = ['node:child_process', 'child_process', 'pg', 'node:http', '@duckdb/node-api'];
  for (const name of direct) {
    const others = { 'packages/server/src/kernel/rules.ts': `import { x } from '${name}';` };
    assert.equal(tierOf(path, usesRules, others), 'slices', name);
  }
});

test('re-exports, dynamic imports and packages of this repository are followed', () => {
  const others = {
    'packages/contract/src/index.ts': `export { x } from './x.ts';`,
    'packages/contract/src/x.ts': `await import('node:net');`,
  };
  assert.equal(tierOf(path, `import { x } from '@headgate/contract';`, others), 'slices');
});

test('type imports are not followed: nothing is loaded by them', () => {
  const others = { 'packages/server/src/kernel/rules.ts': `import pg from 'pg';` };
  for (const text of [`import type { Rule } from './rules.ts';`, `import { type Rule } from './rules.ts';`])
    assert.equal(tierOf(path, text, others), 'unit');
});

test('a circle of imports ends', () => {
  const others = { 'packages/server/src/kernel/rules.ts': `import './a.test.ts';` };
  assert.equal(tierOf(path, usesRules, others), 'unit');
});

test('every file below test/ is an acceptance test', () => {
  assert.equal(tierOf('test/fuzz/a.test.ts', ''), 'acceptance');
});

test('without an option all tiers run; several options add up', () => {
  assert.deepEqual(readTestSelection([]).tiers, ['unit', 'slices', 'acceptance']);
  assert.deepEqual(readTestSelection(['--acceptance', '--unit']).tiers, ['unit', 'acceptance']);
});

test('options of node --test are passed on, parts of paths are not options', () => {
  const { parts, nodeOptions, showsSlowest } = readTestSelection(['a', '--test-only', '--slowest', 'b']);
  assert.deepEqual(
    { parts, nodeOptions, showsSlowest },
    {
      parts: ['a', 'b'],
      nodeOptions: ['--test-only'],
      showsSlowest: true,
    },
  );
});

test('an unknown option is named, with the options that exist', () => {
  assert.throws(() => readTestSelection(['--unitt']), /no option --unitt\. Usage: .*\[--unit\] \[--slices\]/);
});

const files = ['b.test.ts', 'a.test.ts', 'test/c.test.ts'];
const tiersByPlace = (file: string): Tier => (file.startsWith('test/') ? 'acceptance' : 'unit');
const all = readTestSelection([]).tiers;

test('files are chosen by parts of their paths, and sorted', () => {
  const chosen = selectTestFiles({ tiers: all, parts: ['a.', 'b.'] }, files, tiersByPlace);
  assert.deepEqual(chosen, { unit: ['a.test.ts', 'b.test.ts'], slices: [], acceptance: [] });
});

test('files of other tiers are left out', () => {
  const chosen = selectTestFiles({ tiers: ['acceptance'], parts: [] }, files, tiersByPlace);
  assert.deepEqual(chosen, { unit: [], slices: [], acceptance: ['test/c.test.ts'] });
});

test('a part that no path has is named; so are the tiers of files that an option leaves out', () => {
  assert.throws(
    () => selectTestFiles({ tiers: all, parts: ['x', 'y'] }, files, tiersByPlace),
    /^Error: No test file has 'x' or 'y' in its path\.$/,
  );
  assert.throws(
    () => selectTestFiles({ tiers: ['unit'], parts: ['c.test'] }, files, tiersByPlace),
    /^Error: No test file of the tier unit has 'c.test' in its path; those that do are in: acceptance\.$/,
  );
});

test('a file that a package exports by a name of its own is followed, and not the whole package', () => {
  const rounds = `import { roundsOr } from '@headgate/contract/testing/rounds';`;
  const manifest = {
    'packages/contract/package.json': '{ "exports": { "./testing/rounds": "./testing/rounds.ts" } }',
  };
  const imports = `import 'node:net';`;
  assert.equal(tierOf(path, rounds, { ...manifest, 'packages/contract/src/index.ts': imports }), 'unit');
  assert.equal(
    tierOf(path, rounds, { ...manifest, 'packages/contract/testing/rounds.ts': imports }),
    'slices',
  );
});
