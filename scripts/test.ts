// `npm test [-- part-of-a-file-name … --flag-of-node-test=…]`: starts one PostgreSQL for the run, runs the tests on it
// and stops it, whatever happens. The last line is `N passed, N failed`.
import { type ChildProcess, spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onOwnPostgres } from './own-postgres.ts';
import type { TestTotals } from './test-totals.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const TEST_FILES = ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.*'];
/** A single test that takes longer has hung; the whole run, too. */
const ONE_TEST_MS = 300_000;
const WHOLE_RUN_MS = 45 * 60_000;

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

async function main(args: string[]): Promise<TestTotals> {
  const flags = args.filter((arg) => arg.startsWith('-'));
  const parts = args.filter((arg) => !arg.startsWith('-'));
  const files = globSync(TEST_FILES, { cwd: checkout })
    .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
    .sort();
  if (files.length === 0)
    throw new Error(`No test file has ${parts.map((part) => `'${part}'`).join(' or ')} in its path.`);

  return onOwnPostgres(stopping.signal, (url, folder) => runTests(folder, [...flags, ...files], url));
}

async function runTests(folder: string, args: string[], databaseUrl: string): Promise<TestTotals> {
  const totals = join(folder, 'totals.json');
  const reporters = [
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...[`--test-reporter=${new URL('test-totals.ts', import.meta.url).href}`],
    `--test-reporter-destination=${totals}`,
  ];
  const bounds = ['--test-concurrency=2', `--test-timeout=${ONE_TEST_MS}`];
  const child = spawn(process.execPath, ['--test', ...bounds, ...reporters, ...args], {
    cwd: checkout,
    stdio: ['ignore', 'inherit', 'inherit'],
    // A group of its own, so that it and all that it started can be ended together.
    detached: true,
    env: environment(databaseUrl),
  });
  const code = await endOf(child);
  const sums: TestTotals = readTotals(totals);
  // A run that broke off, or an error outside of any test.
  if (code !== 0 && sums.failed === 0) sums.failed = 1;
  return sums;
}

/** The settings of whoever runs the tests must not reach them. */
function environment(databaseUrl: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(HEADGATE_|DATABASE_URL$|PG[A-Z]+$)/.test(name),
  );
  return { ...Object.fromEntries(kept), HEADGATE_TEST_DATABASE_URL: databaseUrl };
}

function endOf(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const endGroup = (reason: string, how: NodeJS.Signals) => {
    console.error(`headgate: ending the tests: ${reason}`);
    if (child.pid !== undefined) process.kill(-child.pid, how);
  };
  const bound = setTimeout(
    () => endGroup(`they took more than ${WHOLE_RUN_MS / 60_000} minutes`, 'SIGKILL'),
    WHOLE_RUN_MS,
  );
  const onStop = () => endGroup('asked to', 'SIGTERM');
  stopping.signal.addEventListener('abort', onStop, { once: true });
  child.on('error', reject);
  child.on('exit', (code, signal) => {
    clearTimeout(bound);
    stopping.signal.removeEventListener('abort', onStop);
    resolve(signal === null ? (code ?? 1) : 1);
  });
  return promise;
}

function readTotals(path: string): TestTotals {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { passed: 0, failed: 0, skipped: 0 };
  }
}

let sums: TestTotals = { passed: 0, failed: 1, skipped: 0 };
try {
  sums = await main(process.argv.slice(2));
  // Nothing run is nothing proven.
  if (sums.passed + sums.failed === 0) sums.failed = 1;
} catch (error) {
  console.error(`headgate: the tests could not be run: ${error instanceof Error ? error.message : error}`);
}
const skipped = sums.skipped > 0 ? `, ${sums.skipped} skipped` : '';
console.log(`${sums.passed} passed, ${sums.failed} failed${skipped}`);
process.exitCode = sums.failed === 0 ? 0 : 1;
