// `npm test [-- --unit --slices --acceptance part-of-a-path … --slowest --test-…]` runs the named tiers
// (test-tiers.ts), by default all. The unit tests run in one process, the other files on a PostgreSQL of this
// run. The tiers run at the same time: slices need the processors, and acceptance tests mostly wait. The last
// line is `N passed, N failed`.
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareRunCode } from '../packages/agent/src/pool/run-code.ts';
import { createOutputTurns } from './output-turns.ts';
import { onOwnPostgres, THROWAWAY_SETTINGS } from './own-postgres.ts';
import { groupTestFiles } from './test-groups.ts';
import { runTests } from './test-run.ts';
import { readTestSelection, selectTestFiles } from './test-selection.ts';
import { createTierSorter, TIERS, type Tier } from './test-tiers.ts';
import type { TestTotals } from './test-totals.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const TEST_FILES = ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.*'];
/**
 * Files of a tier at one time: one more than there are processors. A test file waits for PostgreSQL, processes
 * and clocks about half of its time, so twice as many keep the processors busy while two tiers run.
 */
const AT_ONCE = availableParallelism() + 1;
/** All in one process: most files take less time than the start of a process. */
const UNIT_OPTIONS = ['--test-isolation=none', `--import=${new URL('unit-guard.ts', import.meta.url).href}`];
const SLOWEST_SHOWN = 20;

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

async function main(args: readonly string[]): Promise<TestTotals> {
  const selection = readTestSelection(args);
  const files = globSync(TEST_FILES, { cwd: checkout });
  const selected = selectTestFiles(selection, files, createTierSorter(checkout));
  const chosen = TIERS.filter((tier) => selected[tier].length > 0);
  const createTurn = createOutputTurns((text) => void process.stdout.write(text));
  const turns = new Map(chosen.length === 1 ? [] : chosen.map((tier) => [tier, createTurn()]));

  function runTier(
    tier: Tier,
    files: readonly string[],
    options: string[],
    environment: Record<string, string> = {},
  ) {
    const output = turns.get(tier);
    return runTests({
      checkout,
      args: [...options, ...selection.nodeOptions, ...files],
      environment,
      signal: stopping.signal,
      ...(output && { output }),
    });
  }

  const others = chosen.filter((tier) => tier !== 'unit');
  async function runOthers(url: string, folder: string): Promise<TestTotals[]> {
    // Agents that may not write into the checkout would each make it.
    await prepareRunCode(join(folder, 'code'));
    if (stopping.signal.aborted) return [];
    const environment = {
      HEADGATE_TEST_DATABASE_URL: url,
      // One for both tiers, which load the same sources.
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
    };
    return Promise.all(
      others.map((tier) => {
        const groups = join(folder, `groups-of-${tier}`);
        const files = groupTestFiles(checkout, selected[tier], { folder: groups, atOnce: AT_ONCE });
        return runTier(tier, files, [`--test-concurrency=${AT_ONCE}`], environment);
      }),
    );
  }

  const running: Promise<TestTotals[]>[] = [];
  if (chosen.includes('unit'))
    running.push(runTier('unit', selected.unit, UNIT_OPTIONS).then((totals) => [totals]));
  if (others.length > 0) running.push(onOwnPostgres(stopping.signal, runOthers, THROWAWAY_SETTINGS));
  const totals = sumOf((await settleAll(running)).flat());
  if (selection.showsSlowest) printSlowest(totals);
  return totals;
}

/** Waits for all, so that none goes on after an error of another. @throws the first error */
async function settleAll<Result>(promises: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
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
