/**
 * Test files that share a process. Loading the server or DuckDB takes longer than the tests of most files, so
 * the slice tests of the server and of the agent run in groups: one file after the other, each with its
 * own servers and databases (`startTestServer`). A file that measures or changes the whole process runs alone.
 * So do acceptance tests, except those that share an installation.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Beginnings of paths. */
const SHARING = ['packages/server/', 'packages/agent/'];
/** Signs that a test measures or changes its process. Node.js names snapshots after the file of the process. */
const WHOLE_PROCESS = [
  // The members that are listed do neither.
  /(?<![-\w])process\.(?!(?:arch|cwd|execPath|getuid|hrtime|kill|p?pid|platform|versions?)\b)[a-z]/,
  /\b(?:mock|globalThis)\b|snapshot|node:(?:perf_hooks|v8|vm)\b/i,
];
/** Files that no sign shows, with the reason. */
export const ALONE: Readonly<Record<string, string>> = {
  'packages/server/src/kernel/database/trips/statement.test.ts':
    'reads the list of all statements, to which other tests add theirs',
  'packages/server/src/main/dashboard.test.ts':
    'reads metrics of garbage collections since the start of the process',
};
const MOST_FILES = 24;
/**
 * The files that take longest. Each starts first, in a process of its own, so that the end of a run does not
 * wait for one of them.
 */
export const LONGEST: readonly string[] = [
  'packages/server/src/kernel/security/permissions.test.ts',
  'packages/server/src/main/plans.test.ts',
  'packages/server/src/main/backup/backup.test.ts',
  'packages/agent/src/agent.test.ts',
  'packages/agent/src/scripts/sandbox.test.ts',
  'packages/agent/src/scripts/python-script.test.ts',
  'packages/agent/src/scripts/kernel-limits.test.ts',
  'test/acceptance/first-run.test.ts',
  'test/acceptance/killed-migration.test.ts',
  'test/time-fuzz/time-fuzz.test.ts',
  'test/acceptance/packed-agent.test.ts',
  'test/acceptance/never-ending.test.ts',
  'test/acceptance/backup.test.ts',
  'test/acceptance/schedules.test.ts',
  'test/acceptance/kill-anything.test.ts',
];

/** Whether a test file of the tier "slices" may share a process with others. */
export function canShareProcess(path: string, text: string): boolean {
  return (
    SHARING.some((beginning) => path.startsWith(beginning)) &&
    !Object.hasOwn(ALONE, path) &&
    !LONGEST.includes(path) &&
    !WHOLE_PROCESS.some((sign) => sign.test(text))
  );
}

/** Which installation of its process an acceptance test uses, if any: a name in the folder harness. */
export function findSharedInstallation(path: string, text: string): string | undefined {
  if (!path.startsWith('test/acceptance/')) return undefined;
  return /'\.\/harness\/((?:shared|impatient)-installation)\.ts'/.exec(text)?.[1];
}

/**
 * Deals the files to groups of similar size; to at least `atOnce`, so that few files run at the same time.
 * Neighbours come into different groups: the files of a folder often take long for the same reason.
 */
export function dealIntoGroups(files: readonly string[], atOnce: number): string[][] {
  const count = Math.max(Math.min(files.length, atOnce), Math.ceil(files.length / MOST_FILES));
  return Array.from({ length: count }, (_, group) => files.filter((_, index) => index % count === group));
}

/** Spreads the parts of each list evenly: both begin and end at about the same place. */
export function interleave<Item>(...lists: readonly (readonly Item[])[]): Item[] {
  return lists
    .flatMap((list) => list.map((item, index) => ({ item, place: (index + 0.5) / list.length })))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

/**
 * The arguments of `node --test` for these files of a tier: first the longest files, then acceptance tests, which
 * mostly wait, between groups of slice tests, which need the processors, then short files that run alone. Programs are
 * written to the folder, which is absolute, because Node.js sorts what it runs: absolute paths first.
 */
export function groupTestFiles(
  checkout: string,
  files: readonly string[],
  { folder, atOnce }: { folder: string; atOnce: number },
): string[] {
  const textOf = (path: string) => readFileSync(join(checkout, path), 'utf8');
  const longest = LONGEST.filter((path) => files.includes(path));
  const sharing = files.filter((path) => canShareProcess(path, textOf(path)));
  const installationOf = (path: string) => findSharedInstallation(path, textOf(path));
  const waiting = files.filter((path) => path.startsWith('test/') && !longest.includes(path));
  const [alone = [], onInstallation = []] = [false, true].map((isShared) =>
    waiting.filter((path) => (installationOf(path) !== undefined) === isShared),
  );
  // A process loads the server or the engine, which takes a second each.
  const slices = [...Map.groupBy(sharing, (path) => path.split('/')[1]).values()].flatMap((each) =>
    dealIntoGroups(each, atOnce),
  );
  const acceptance = [
    ...Map.groupBy(onInstallation, installationOf).values(),
    ...alone.map((path) => [path]),
  ];
  const groups = [...longest.map((path) => [path]), ...interleave(acceptance, slices)];
  const grouped = new Set(groups.flat());
  mkdirSync(folder, { recursive: true });
  const runner = JSON.stringify(new URL('run-test-group.ts', import.meta.url).href);
  const programs = groups.map((group, index) => {
    const program = join(folder, `group-${String(index + 1).padStart(3, '0')}.mjs`);
    const paths = JSON.stringify(group, null, 2);
    writeFileSync(program, `import { runTestGroup } from ${runner};\nawait runTestGroup(${paths});\n`);
    return program;
  });
  return [...programs, ...files.filter((path) => !grouped.has(path))];
}
