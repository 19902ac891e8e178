/** `npm run new-resource` in a copy of the checkout: what it makes passes the checks, its own tests and the guards. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const copy = mkdtempSync(join(tmpdir(), 'headgate-resource-'));
/** Without the variable by which a test runner knows that it is inside of another one: it would run nothing. */
const { NODE_TEST_CONTEXT: _, ...env } = process.env;
after(() => rmSync(copy, { recursive: true, force: true }));

/** The files of the checkout, and links to its dependencies. The packages of the checkout are those of the copy. */
function copyCheckout(): void {
  const left = ['node_modules', '.git', '.headgate'];
  for (const name of readdirSync(checkout)) {
    if (!left.includes(name)) cpSync(join(checkout, name), join(copy, name), { recursive: true });
  }
  const modules = join(copy, 'node_modules');
  mkdirSync(join(modules, '@headgate'), { recursive: true });
  for (const name of readdirSync(join(checkout, 'node_modules'))) {
    if (name !== '@headgate') symlinkSync(join(checkout, 'node_modules', name), join(modules, name));
  }
  for (const name of readdirSync(join(copy, 'packages')))
    symlinkSync(join(copy, 'packages', name), join(modules, '@headgate', name));
}

function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8', env });
  assert.equal(status, 0, `${args.join(' ')}\n${stdout}\n${stderr}`);
  return stdout;
}

/** The files of the checkout that differ in the copy. */
function changedFiles(): string[] {
  return globSync('packages/**/*', { cwd: checkout, exclude: ['**/node_modules'], withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(checkout, join(entry.parentPath, entry.name)))
    .filter((path) => !readFileSync(join(checkout, path)).equals(readFileSync(join(copy, path))))
    .toSorted();
}

function addedLines(path: string): string[] {
  const before = readFileSync(join(checkout, path), 'utf8').split('\n');
  const after = readFileSync(join(copy, path), 'utf8').split('\n');
  assert.deepEqual(
    after.filter((line) => before.includes(line)),
    before,
  );
  return after.filter((line) => !before.includes(line));
}

function refusal(...args: string[]): string {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/new-resource.ts', ...args], {
    cwd: copy,
    encoding: 'utf8',
  });
  assert.equal(status, 2);
  return stderr;
}

test('a new resource changes one line outside of its folders and the generated files, and passes its tests', () => {
  copyCheckout();
  const made = run('scripts/new-resource.ts', 'alarm-policy', '--plural', 'alarm-policies');
  assert.match(made, /packages\/server\/src\/workspace\/alarm-policies\/alarm-policy\.routes\.ts/);
  assert.deepEqual(changedFiles(), [
    'packages/contract/src/headings.ts',
    'packages/contract/src/outcomes.list.ts',
    'packages/contract/src/resources.list.ts',
    'packages/server/src/main/slices.list.ts',
    'packages/server/testing/guards.list.ts',
  ]);
  assert.deepEqual(addedLines('packages/contract/src/headings.ts'), [
    "  { tag: 'Alarm policies', about: 'Alarm policies of a project.' },",
  ]);
  // Its threads would repeat work for each other and take twice the processor time.
  run('node_modules/typescript/bin/tsc', '-p', '.', '--singleThreaded');
  const written = [...made.matchAll(/^ {2}(packages\/\S+\.ts)$/gm)].map(([, path = '']) => path);
  assert.ok(written.length > 5, made);
  run('node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', ...written);
  run('scripts/import-table.ts');
  // In one process and on the PostgreSQL of this run: most of the time of such a file is its start.
  const named = ['alarm policy', 'AlarmPolic', 'is in the guards', 'the table of the code'];
  const files = [
    'alarm-policies/*',
    'endpoint/unique-names',
    'endpoint/lost-updates',
    'security/permissions',
  ];
  const paths = [...files, 'main/assembly'].map((file) => `packages/server/src/**/${file}.test.ts`);
  const patterns = named.map((pattern) => `--test-name-pattern=${pattern}`);
  const output = run('--test', '--test-isolation=none', ...patterns, ...paths);
  for (const test of [
    'an alarm policy is created',
    'createAlarmPolicy: of 6',
    'updateAlarmPolicy: 8 clients',
  ])
    assert.ok(output.includes(`✔ ${test}`), `"${test}" did run`);
});

test('a name that is taken, a word of SQL, or not a name is refused with the reason', () => {
  assert.match(refusal('variable'), /packages\/contract\/src\/variable already exists/);
  assert.match(refusal('agent-instance'), /has the table "agent_instance"/);
  assert.match(refusal('order'), /"order" is a word of SQL/);
  assert.match(
    refusal('Tag'),
    /"Tag" is not a name in lower case with hyphens; use a name such as project-tag/,
  );
  assert.match(refusal(), /one name is needed/);
});
