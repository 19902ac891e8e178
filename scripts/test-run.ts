// One run of `node --test` in a process group of its own, with a limit on its time.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OutputTurn } from './output-turns.ts';
import type { TestTotals } from './test-totals.ts';

/**
 * A single test or hook that takes longer hangs; so does a whole run. A starved machine takes several times as long.
 */
const ONE_TEST_MS = 600_000;
const WHOLE_RUN_MS = 90 * 60_000;

export interface TestRun {
  checkout: string;
  /** Options and files. */
  args: readonly string[];
  /** Added to the environment of the tests. */
  environment: Record<string, string>;
  /** Aborting it ends the tests. */
  signal: AbortSignal;
  /** Gets what the tests print. Default: the standard output of this process. */
  output?: OutputTurn;
}

export async function runTests({
  checkout,
  args,
  environment,
  signal,
  output,
}: TestRun): Promise<TestTotals> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-test-totals-'));
  try {
    const path = join(folder, 'totals.json');
    const reporters = [
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${new URL('test-totals.ts', import.meta.url).href}`],
      `--test-reporter-destination=${path}`,
    ];
    const child = spawn(
      process.execPath,
      ['--test', `--test-timeout=${ONE_TEST_MS}`, ...reporters, ...args],
      {
        cwd: checkout,
        stdio: ['ignore', output === undefined ? 'inherit' : 'pipe', 'inherit'],
        // A group of its own, so that one signal ends it with all that it started.
        detached: true,
        // The processes of a run share the compiled sources. Compiling took a fifth of the processor time of slice
        // tests.
        env: { NODE_COMPILE_CACHE: join(folder, 'compiled'), ...ownEnvironment(), ...environment },
      },
    );
    child.stdout?.setEncoding('utf8').on('data', (text: string) => output?.write(text));
    const code = await exitCodeOf(child, signal);
    const totals = readTotals(path);
    // The run broke off, or an error came from outside of any test.
    if (code !== 0 && totals.failed === 0) totals.failed = 1;
    return totals;
  } finally {
    output?.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The caller's environment without settings that would affect the tests or make Node.js see this run as part
 * of another.
 */
function ownEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(HEADGATE_|DATABASE_URL$|PG[A-Z]+$|NODE_TEST_CONTEXT$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

function exitCodeOf(child: ReturnType<typeof spawn>, stopping: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const endGroup = (reason: string, how: NodeJS.Signals) => {
    console.error(`headgate: ending the tests: ${reason}`);
    try {
      if (child.pid !== undefined) process.kill(-child.pid, how);
    } catch {
      // It has ended already.
    }
  };
  const limit = setTimeout(
    () => endGroup(`they took more than ${WHOLE_RUN_MS / 60_000} minutes`, 'SIGKILL'),
    WHOLE_RUN_MS,
  );
  const onStop = () => endGroup('a signal asked for it', 'SIGTERM');
  stopping.addEventListener('abort', onStop, { once: true });
  child.on('error', (error) => {
    clearTimeout(limit);
    reject(error);
  });
  // After the last output.
  child.on('close', (code, signal) => {
    clearTimeout(limit);
    stopping.removeEventListener('abort', onStop);
    resolve(signal === null ? (code ?? 1) : 1);
  });
  return promise;
}

function readTotals(path: string): TestTotals {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { passed: 0, failed: 0, skipped: 0, files: [] };
  }
}
