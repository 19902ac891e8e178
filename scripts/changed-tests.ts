/**
 * The test files that a change concerns: those that import a changed file, and those in its folder of a package. What
 * the harness of the server imports does not count, as that is the whole server: a test that reaches another slice only
 * by HTTP is left to `npm test`.
 */
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import type { LoadedModules } from './test-tiers.ts';

const harness = /^packages\/server\/(testing|src\/main)\//;
const source = /^(packages|scripts|test|bench)\/.*\.(ts|mjs|cjs)$/;

/** The files that differ from a revision, and those that git does not know yet; paths from the checkout. */
export function listChangedFiles(checkout: string, revision: string): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: checkout, encoding: 'utf8' });
  const listed =
    git('diff', '--name-only', '-z', '--end-of-options', revision, '--') +
    git('ls-files', '--others', '--exclude-standard', '-z');
  return listed.split('\0').filter((path) => path !== '');
}

export interface ConcernedTests {
  files: string[];
  /** Changed files of which no import tells whom they concern, such as migrations. */
  unknown: string[];
}

export function findConcernedTests(
  testFiles: readonly string[],
  changed: readonly string[],
  modulesOf: (path: string) => Pick<LoadedModules, 'files'>,
): ConcernedTests {
  const sources = new Set(changed.filter((path) => source.test(path)));
  const folders = new Set(
    [...sources].filter((path) => !path.startsWith('test/')).map((path) => dirname(path)),
  );
  const concerns = (testFile: string) => {
    const reached = new Set([testFile]);
    // A set's iteration also visits what is added on the way.
    for (const path of reached) {
      if (sources.has(path)) return true;
      if (!harness.test(path)) for (const file of modulesOf(path).files) reached.add(file);
    }
    return folders.has(dirname(testFile));
  };
  return {
    files: testFiles.filter(concerns),
    unknown: changed.filter((path) => /^packages\//.test(path) && !source.test(path)),
  };
}
