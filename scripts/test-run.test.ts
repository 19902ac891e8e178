import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-test-run-'));
});
after(() => rmSync(folder, { recursive: true }));

/** The totals of a run of one test file with this text. */
function totalsOf(text: string, options: string[] = []) {
  const file = join(folder, 'some.test.mjs');
  writeFileSync(file, `import test from 'node:test';\n${text}`);
  const program = `
    import { runTests } from './scripts/test-run.ts';
    const args = ${JSON.stringify([...options, file])};
    const { signal } = new AbortController();
    const environment = { GIVEN: 'yes' };
    console.log(JSON.stringify(await runTests({ checkout: process.cwd(), args, environment, signal })));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: checkout,
    encoding: 'utf8',
    env: { ...process.env, HEADGATE_PORT: '1' },
  });
  return { ...JSON.parse(output.trim().split('\n').at(-1) ?? ''), output };
}

test('the totals count what passed, failed and was skipped, and name the file with its time', () => {
  const { passed, failed, skipped, files } = totalsOf(`
    test('passes', () => {});
    test('fails', () => { throw new Error('so'); });
    test('is skipped', { skip: 'so' }, () => {});`);
  assert.deepEqual({ passed, failed, skipped }, { passed: 1, failed: 1, skipped: 1 });
  assert.equal(files.length, 1);
  assert.match(files[0].path, /some\.test\.mjs$/);
});

test('a file that cannot be loaded counts as failed', () => {
  assert.equal(totalsOf(`import './nowhere.mjs';`).failed, 1);
  assert.equal(totalsOf(`import './nowhere.mjs';`, ['--test-isolation=none']).failed, 1);
});

test('tests get what the run gives them, and no settings of the caller', () => {
  const { failed } = totalsOf(`
    test('environment', () => {
      if (process.env.GIVEN !== 'yes' || process.env.HEADGATE_PORT !== undefined) throw new Error('wrong');
    });`);
  assert.equal(failed, 0);
});

test('a unit test that opens a connection, listens or starts a process fails, and learns why', () => {
  const unit = ['--test-isolation=none', `--import=${join(checkout, 'scripts', 'unit-guard.ts')}`];
  for (const body of [
    `await fetch('http://127.0.0.1:20001/');`,
    `(await import('node:http')).createServer().listen(0);`,
    `(await import('node:child_process')).spawn('true');`,
  ]) {
    const { failed, output } = totalsOf(`test('a', async () => { ${body} });`, unit);
    assert.equal(failed, 1, body);
    assert.match(output, /A unit test (opens|listens|starts)/, body);
  }
});
