/**
 * Judges the regular expressions of production code: none may take more than linear time, because a pattern that
 * meets somebody's text can then stop the server for everybody. `npm run generate` writes the safe ones to
 * safe-patterns.json, and only others are judged. `node scripts/pattern-check.ts --all` judges all of them.
 *
 * A pattern may be slow if its text is short: `// bounded: <why at most how many characters>` stands on its line
 * or the line above.
 *
 * Each search is judged by itself. A pattern that finds little after reading much, again and again, is not seen.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, type Parameters } from 'recheck';
import recheck from 'recheck/package.json' with { type: 'json' };
import { readSource } from './import-table.ts';
import { type PatternUse, readPatterns } from './pattern-source.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const LIST = 'scripts/safe-patterns.json';
const REMEDY = 'run `npm run generate` and commit it';
const checker = `recheck ${recheck.version}`;
/** A pattern that takes longer is unknown. */
const LONGEST_JUDGEMENT_MS = 120_000;
/** For a text that takes a safe pattern longer than the checker expects, because the machine is busy. */
const SECOND_ATTEMPT = { incubationTimeout: 5_000, attackTimeout: 20_000 };

/** As it is in the list. */
const nameOf = ({ source, flags }: PatternUse) => `/${source}/${flags}`;

/** @returns `safe`, or what is wrong with it */
async function judge({ source, flags }: PatternUse): Promise<string> {
  // A sticky pattern is judged as one that searches, because lexers try it again one character later.
  const judgeWith = (limits: Parameters) =>
    check(source, flags.replaceAll(/[dgy]/g, ''), { timeout: LONGEST_JUDGEMENT_MS, ...limits });
  let found = await judgeWith({});
  if (found.status === 'vulnerable' && found.complexity.isFuzz) found = await judgeWith(SECOND_ATTEMPT);
  switch (found.status) {
    case 'safe':
      return 'safe';
    case 'vulnerable':
      return `${found.complexity.summary}, such as for ${found.attack.pattern}`;
    case 'unknown':
      return `unknown (${'message' in found.error ? found.error.message : found.error.kind})`;
  }
}

async function judgeAll(uses: readonly PatternUse[]): Promise<Map<string, string>> {
  const verdicts = new Map<string, string>();
  const left = new Map(uses.map((use) => [nameOf(use), use])).entries();
  const judgeNext = async () => {
    for (const [name, use] of left) verdicts.set(name, await judge(use));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, judgeNext));
  return verdicts;
}

export interface Inspection {
  faults: string[];
  /** What is allowed for its bound. */
  bounded: string[];
  /** The names of all patterns that are safe, in order. */
  safe: string[];
}

/** @param known names of patterns that were found safe before */
export async function inspectPatterns(
  uses: readonly PatternUse[],
  known: ReadonlySet<string>,
): Promise<Inspection> {
  const verdicts = await judgeAll(uses.filter((use) => use.bound === undefined && !known.has(nameOf(use))));
  const found: Inspection = { faults: [], bounded: [], safe: [] };
  for (const use of uses) {
    const name = nameOf(use);
    if (use.bound !== undefined) found.bounded.push(`${use.place} ${name} is allowed: ${use.bound}`);
    else if (known.has(name) || verdicts.get(name) === 'safe') found.safe.push(name);
    else found.faults.push(`${use.place} ${name} is ${verdicts.get(name)}`);
  }
  found.safe = [...new Set(found.safe)].sort();
  return found;
}

/** One sentence for each name that only one of the lists has. */
export function compareLists(listed: readonly string[], safe: readonly string[]): string[] {
  const only = (names: readonly string[], others: ReadonlySet<string>) =>
    names.filter((name) => !others.has(name));
  return [
    ...only(listed, new Set(safe)).map((name) => `${LIST} lists ${name}, which no code uses: ${REMEDY}`),
    ...only(safe, new Set(listed)).map((name) => `${LIST} does not list ${name}, which is safe: ${REMEDY}`),
  ];
}

/** Where SQL of users and of DuckDB passes, but for the folders that read it. */
const SQL_PASSES = /^packages\/(?:agent|pipelines)\/src\/(?!sql\/(?:tokens|functions|rewrite|statements)\/)/;
/** Texts in quotes, comments, and words of SQL. */
const READS_SQL =
  /\[\^'\]\|''|--\[|\\\/\\\*|(?<![a-z_])(?:select|insert|update|delete|merge|create|drop|alter|truncate|begin|commit|rollback|pivot|values|join|temp|temporary|macro|nextval)(?![a-z_])/i;

/** One sentence for each pattern that seems to read SQL: another reader would divide it otherwise than the first. */
export function findSqlReaders(uses: readonly PatternUse[]): string[] {
  return uses
    .filter(
      ({ place, source, reads }) => SQL_PASSES.test(place) && READS_SQL.test(source) && reads === undefined,
    )
    .map(
      (use) =>
        `${use.place} ${nameOf(use)} seems to read SQL: use the tokens of packages/pipelines/src/sql/tokens/tokens.ts, or write // not SQL: and what it reads`,
    );
}

/** Files of tests are left out, and files that only these import. */
function listProductionFiles(): string[] {
  const paths = globSync('packages/*/{src,testing}/**/*.{ts,tsx,mjs,cjs}', { cwd: checkout }).sort();
  const importers = new Map<string, string[]>();
  for (const path of paths) {
    const { imports } = readSource(checkout, path, readFileSync(join(checkout, path), 'utf8'));
    for (const imported of imports) importers.set(imported, [...(importers.get(imported) ?? []), path]);
  }
  const ofTests = new Set(paths.filter((path) => /\.(?:test|guards|examples)\.ts$|\/testing\//.test(path)));
  for (let before = -1; before < ofTests.size; ) {
    before = ofTests.size;
    for (const path of paths) if (importers.get(path)?.every((each) => ofTests.has(each))) ofTests.add(path);
  }
  return paths.filter((path) => !ofTests.has(path));
}

/** The patterns of schemas that are no constants of one file. */
function readSchemaPatterns(part: unknown): PatternUse[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) =>
    key === 'pattern' && typeof value === 'string'
      ? [{ source: value, flags: 'u', place: 'openapi.json', bound: undefined }]
      : readSchemaPatterns(value),
  );
}

function readAllPatterns() {
  const files = listProductionFiles().map((path) =>
    readPatterns(path, readFileSync(join(checkout, path), 'utf8')),
  );
  const document: unknown = JSON.parse(readFileSync(join(checkout, 'openapi.json'), 'utf8'));
  return {
    uses: [...files.flatMap(({ uses }) => uses), ...readSchemaPatterns(document)],
    faults: files.flatMap(({ faults }) => faults),
  };
}

/** Verdicts of another version of the checker do not count. */
function readList(): { checker: string; safe: string[] } {
  return JSON.parse(readFileSync(join(checkout, LIST), 'utf8'));
}

/** Patterns that are not safe are left out, and reported by the check. */
export async function writeSafePatterns(): Promise<void> {
  const list = readList();
  const { safe } = await inspectPatterns(
    readAllPatterns().uses,
    new Set(list.checker === checker ? list.safe : []),
  );
  writeFileSync(join(checkout, LIST), `${JSON.stringify({ checker, safe }, null, 2)}\n`);
}

async function main(): Promise<void> {
  const { uses, faults } = readAllPatterns();
  const list = readList();
  const judgesAll = process.argv.includes('--all') || list.checker !== checker;
  const { bounded, safe, ...found } = await inspectPatterns(uses, new Set(judgesAll ? [] : list.safe));
  faults.push(...found.faults, ...findSqlReaders(uses), ...compareLists(list.safe, safe));
  if (list.checker !== checker) faults.push(`${LIST} is of ${list.checker}, not of ${checker}: ${REMEDY}`);
  for (const line of bounded) console.log(line);
  for (const fault of faults) console.error(fault);
  console.log(`${uses.length} patterns, ${bounded.length} bounded, ${faults.length} faults`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

if (import.meta.main) await main();
