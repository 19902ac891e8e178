/** `npm run new-resource` in a copy of the checkout: what it makes passes the checks, its own tests and the guards. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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

function refusal(...args: string[]): string {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/new-resource.ts', ...args], {
    cwd: copy,
    encoding: 'utf8',
  });
  assert.equal(status, 2);
  return stderr;
}

test('a resource is made whole: typed, formatted, in every list, and it passes its tests', () => {
  copyCheckout();
  const made = run('scripts/new-resource.ts', 'alarm-policy', '--plural', 'alarm-policies');
  assert.match(made, /packages\/server\/src\/workspace\/alarm-policies\/alarm-policy\.routes\.ts/);
  run('node_modules/typescript/bin/tsc', '-p', '.');
  run('node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', 'packages');
  run('scripts/import-table.ts');
  const named = ['alarm policy', 'AlarmPolic', 'is in the guards', 'the table of the code'];
  const files = ['alarm-policies', 'unique-names', 'lost-updates', 'permissions', 'assembly'];
  const patterns = named.map((pattern) => `--test-name-pattern=${pattern}`);
  const output = run('scripts/test.ts', ...files, ...patterns);
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
