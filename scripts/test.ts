// `npm test [-- --unit --slices --acceptance part-of-a-path … --slowest --test-…]` runs the named tiers
// (test-tiers.ts), by default all. The unit tests run in one process, the other files on a PostgreSQL of this
// run. All run at the same time: slices need the processors, and acceptance tests mostly wait. The last
// line is `N passed, N failed`.
import { globSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareRunCode } from '../packages/agent/src/pool/run-code.ts';
import { findConcernedTests, listChangedFiles } from './changed-tests.ts';
import { openCompileCache } from './compile-cache.ts';
import { createOutputTurns, type OutputTurn } from './output-turns.ts';
import { onOwnPostgres, prepareCluster, THROWAWAY_SETTINGS } from './own-postgres.ts';
import { inRunFolder } from './run-folder.ts';
import { groupTestFiles } from './test-groups.ts';
import { bundleTestPrograms } from './test-programs.ts';
import { runTests } from './test-run.ts';
import { readTestSelection, selectTestFiles, type TestSelection } from './test-selection.ts';
import { createModuleReader, createTierSorter, TIERS } from './test-tiers.ts';
import type { TestTotals } from './test-totals.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const TEST_FILES = ['packages/*/{src,testing}/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.*'];
/**
 * Files of one tier at one time: two more than there are processors. A test file waits for PostgreSQL, processes
 * and clocks more than half of its time, and acceptance tests wait more: with both tiers, twice as many.
 */
const AT_ONCE = availableParallelism() + 2;
/** All in one process: most files take less time than the start of a process. */
const UNIT_OPTIONS = ['--test-isolation=none', `--import=${new URL('unit-guard.ts', import.meta.url).href}`];
const BUNDLED_DUCKDB = `--import=${new URL('bundled-duckdb.ts', import.meta.url).href}`;
const SLOWEST_SHOWN = 20;

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

async function main(args: readonly string[]): Promise<TestTotals> {
  const selection = readTestSelection(args);
  const modulesOf = createModuleReader(checkout);
  const files = chooseFiles(selection, modulesOf);
  const selected = selectTestFiles(selection, files, createTierSorter(modulesOf));
  const chosen = TIERS.filter((tier) => selected[tier].length > 0);
  const others = chosen.filter((tier) => tier !== 'unit');
  const isTurned = chosen.includes('unit') && others.length > 0;
  const createTurn = createOutputTurns((text) => void process.stdout.write(text));
  const [unitTurn, otherTurn] = isTurned ? [createTurn(), createTurn()] : [];

  function runFiles(
    files: readonly string[],
    options: string[],
    output: OutputTurn | undefined,
    environment: Record<string, string> = {},
  ) {
    return runTests({
      checkout,
      args: [...options, ...selection.nodeOptions, ...files],
      environment,
      signal: stopping.signal,
      ...(output && { output }),
    });
  }

  async function runOthers(url: string, folder: string): Promise<TestTotals[]> {
    // Agents that may not write into the checkout would each make it.
    await prepareRunCode(join(folder, 'code'));
    const prepared = others.includes('acceptance')
      ? {
          HEADGATE_TEST_CLUSTER: await prepareCluster(join(folder, 'prepared'), stopping.signal),
          ...(await bundleTestPrograms(checkout)),
        }
      : {};
    if (stopping.signal.aborted) return [];
    const compiled = openCompileCache(join(folder, 'compiled'), getCompileCacheDir());
    const environment = {
      HEADGATE_TEST_DATABASE_URL: url,
      NODE_COMPILE_CACHE: compiled.path,
      ...prepared,
    };
    // In one run: when one tier has no more files, the other one goes on with the processors of both.
    const files = others.flatMap((tier) => selected[tier]);
    const programs = groupTestFiles(checkout, files, { folder: join(folder, 'groups'), atOnce: AT_ONCE });
    const concurrency = AT_ONCE * others.length;
    const options = [`--test-concurrency=${concurrency}`, BUNDLED_DUCKDB];
    const totals = await runFiles(programs, options, otherTurn, environment);
    compiled.save();
    return [totals];
  }

  const running: Promise<TestTotals[]>[] = [];
  if (chosen.includes('unit'))
    running.push(runFiles(selected.unit, UNIT_OPTIONS, unitTurn).then((totals) => [totals]));
  if (others.length > 0) running.push(onOwnPostgres(stopping.signal, runOthers, THROWAWAY_SETTINGS));
  const totals = sumOf((await settleAll(running)).flat());
  if (selection.showsSlowest) printSlowest(totals);
  return totals;
}

function chooseFiles(
  { changedSince }: TestSelection,
  modulesOf: ReturnType<typeof createModuleReader>,
): string[] {
  const files = globSync(TEST_FILES, { cwd: checkout });
  if (changedSince === undefined) return files;
  const changed = listChangedFiles(checkout, changedSince);
  const concerned = findConcernedTests(files, changed, modulesOf);
  for (const path of concerned.unknown) console.log(`${path}: no import tells which tests it concerns`);
  console.log(
    `${concerned.files.length} of ${files.length} test files concern what changed since ${changedSince}`,
  );
  if (concerned.files.length === 0)
    throw new Error(`No test file concerns what changed since ${changedSince}.`);
  return concerned.files;
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
  totals = await inRunFolder(() => main(process.argv.slice(2)));
  // A run without a test proves nothing.
  if (totals.passed + totals.failed === 0 || stopping.signal.aborted) totals.failed ||= 1;
} catch (error) {
  console.error(`headgate: the tests could not be run: ${error instanceof Error ? error.message : error}`);
}
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : '';
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`);
process.exitCode = totals.failed === 0 ? 0 : 1;
