// `npm test [-- --unit --slices --acceptance part-of-a-path … --slowest --test-…]` runs the named tiers
// (test-tiers.ts), by default all. The unit tests run in one process. Then the other files run on a
// PostgreSQL of this run, one more at a time than there are processors. The last line is `N passed, N failed`.
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onOwnPostgres, THROWAWAY_SETTINGS } from './own-postgres.ts';
import { runTests } from './test-run.ts';
import { readTestSelection, selectTestFiles } from './test-selection.ts';
import { createTierSorter } from './test-tiers.ts';
import type { TestTotals } from './test-totals.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const TEST_FILES = ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.*'];
/** One more than there are processors: many files mostly wait for a process or a lease. */
const AT_ONCE = availableParallelism() + 1;
/** All in one process: most files take less time than the start of a process. */
const UNIT_OPTIONS = ['--test-isolation=none', `--import=${new URL('unit-guard.ts', import.meta.url).href}`];
const SLOWEST_SHOWN = 20;

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

async function main(args: readonly string[]): Promise<TestTotals> {
  const selection = readTestSelection(args);
  const files = globSync(TEST_FILES, { cwd: checkout });
  const { unit, slices, acceptance } = selectTestFiles(selection, files, createTierSorter(checkout));
  const { signal } = stopping;
  const runFiles = (files: string[], options: string[], environment: Record<string, string> = {}) =>
    runTests({ checkout, args: [...options, ...selection.nodeOptions, ...files], environment, signal });

  const runs: TestTotals[] = [];
  if (unit.length > 0) runs.push(await runFiles(unit, UNIT_OPTIONS));
  const others = [...slices, ...acceptance];
  if (others.length > 0 && !signal.aborted) {
    const onPostgres = (url: string) =>
      runFiles(others, [`--test-concurrency=${AT_ONCE}`], { HEADGATE_TEST_DATABASE_URL: url });
    runs.push(await onOwnPostgres(signal, onPostgres, THROWAWAY_SETTINGS));
  }
  const totals = sumOf(runs);
  if (selection.showsSlowest) printSlowest(totals);
  return totals;
}

function sumOf(runs: readonly TestTotals[]): TestTotals {
  const sum: TestTotals = { passed: 0, failed: 0, skipped: 0, files: [] };
  for (const { passed, failed, skipped, files } of runs) {
    sum.passed += passed;
    sum.failed += failed;
    sum.skipped += skipped;
    sum.files.push(...files);
  }
  return sum;
}

function printSlowest({ files }: TestTotals): void {
  console.log('The slowest files (unit tests share one process and are not listed):');
  for (const { path, milliseconds } of files
    .toSorted((one, other) => other.milliseconds - one.milliseconds)
    .slice(0, SLOWEST_SHOWN))
    console.log(`${(milliseconds / 1_000).toFixed(1).padStart(7)} s  ${path}`);
}

let totals: TestTotals = { passed: 0, failed: 1, skipped: 0, files: [] };
try {
  totals = await main(process.argv.slice(2));
  // A run without a test proves nothing.
  if (totals.passed + totals.failed === 0 || stopping.signal.aborted) totals.failed ||= 1;
} catch (error) {
  console.error(`headgate: the tests could not be run: ${error instanceof Error ? error.message : error}`);
}
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : '';
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`);
process.exitCode = totals.failed === 0 ? 0 : 1;
