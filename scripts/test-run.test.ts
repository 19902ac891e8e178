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

const writeTests = (name: string, text: string) =>
  writeFileSync(join(folder, name), `import test, { after, beforeEach } from 'node:test';\n${text}`);

/** The totals of a run of one test file with this text. */
function totalsOf(text: string, options: string[] = []) {
  writeTests('some.test.mjs', text);
  return totalsOfFile('some.test.mjs', options);
}

/** The totals of a run of files in one process, by their names. */
function totalsOfGroup(texts: Record<string, string>, options: string[] = []) {
  const paths = Object.keys(texts).map((name) => join(folder, name));
  for (const [name, text] of Object.entries(texts)) writeTests(name, text);
  const runner = new URL('run-test-group.ts', import.meta.url).href;
  const program = `import { runTestGroup } from ${JSON.stringify(runner)};
    await runTestGroup(${JSON.stringify(paths)}, 5_000);`;
  writeFileSync(join(folder, 'group.mjs'), program);
  return totalsOfFile('group.mjs', options);
}

function totalsOfFile(name: string, options: string[]) {
  const file = join(folder, name);
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

test('files in one process run one after the other, each with its own hooks, and have their own times', () => {
  const name = (letter: string) => `${letter}.test.mjs`;
  const text = (letter: string) => `
    beforeEach(() => console.log('before a test of ${letter}'));
    after(() => console.log('after ${letter}'));
    await new Promise((resolve) => setTimeout(resolve, 5));
    test('passes', () => console.log('in ${letter}'));`;
  const { passed, failed, files, output } = totalsOfGroup({ [name('a')]: text('a'), [name('b')]: text('b') });
  assert.deepEqual({ passed, failed }, { passed: 2, failed: 0 });
  assert.deepEqual(
    files.map(({ path }: { path: string }) => path.split('/').at(-1)),
    ['a.test.mjs', 'b.test.mjs'],
  );
  const said = output.split('\n').filter((line: string) => /^(before a test|in|after) /.test(line));
  const order = (letter: string) => [`before a test of ${letter}`, `in ${letter}`, `after ${letter}`];
  assert.deepEqual(said, [...order('a'), ...order('b')]);
});

test('a file that cannot be loaded, hangs or fails is named, and the next one of its process runs', () => {
  const { passed, failed, output } = totalsOfGroup(
    {
      'missing.test.mjs': `import './nowhere.mjs';`,
      'loading.test.mjs': `setInterval(() => {}, 1_000).unref(); await new Promise(() => {});`,
      'hanging.test.mjs': `
        const timer = setInterval(() => {}, 1_000);
        after(() => clearInterval(timer));
        test('hangs', () => new Promise(() => {}));`,
      'failing.test.mjs': `test('fails', () => { throw new Error('so'); });`,
      'next.test.mjs': `test('passes', () => {});`,
    },
    ['--test-timeout=5000'],
  );
  assert.deepEqual({ passed, failed }, { passed: 1, failed: 2 });
  for (const name of ['missing', 'loading', 'hanging', 'failing'])
    assert.match(output, new RegExp(`✖ .*/${name}\\.test\\.mjs`), name);
  assert.match(output, /loading\.test\.mjs was not loaded in 5 s/);
});

test('a file that ends its process is named, and the run has failed', () => {
  const { failed, output } = totalsOfGroup({ 'ending.test.mjs': `test('ends', () => process.exit(7));` });
  assert.equal(failed, 1);
  assert.match(output, /ending\.test\.mjs/);
});
