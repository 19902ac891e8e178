/**
 * The tiers of the tests. The folder of a test file and its imports decide its tier, so there is no list to
 * maintain:
 *
 *   acceptance  files below `test/`: they start whole installations or run many random rounds
 *   unit        files whose imports, followed through this repository, reach no process, thread, socket or
 *               database
 *   slices      all other files: the server's slices and kernel on PostgreSQL, the agent's processes, scripts
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { resolveRequest } from './import-table.ts';

export const TIERS = ['unit', 'slices', 'acceptance'] as const;
export type Tier = (typeof TIERS)[number];

/** Modules of Node.js and packages that start a process or a thread, open a socket, or are a database. */
const OUTSIDE_MODULE = /^(node:)?(child_process|cluster|dgram|http|http2|https|net|tls|worker_threads)$/;
const OUTSIDE_PACKAGE = /^(pg|fastify|undici|recheck|@duckdb\/.*)$/;

const SOURCE_FILE = /\.(ts|mjs|cjs|js)$/;

/** The imports of a source file, without type imports, which do not exist at run time. */
export interface LoadedModules {
  /** Paths from the checkout. */
  files: string[];
  /** Names of npm packages and of Node's modules. */
  packages: string[];
}

/** Reads what source files import, each of them once. */
export function createModuleReader(checkout: string): (path: string) => LoadedModules {
  const known = new Map<string, LoadedModules>();
  return (path) => {
    const found = known.get(path) ?? readLoadedModules(checkout, path);
    known.set(path, found);
    return found;
  };
}

/** Sorts test files into tiers. */
export function createTierSorter(modulesOf: (path: string) => LoadedModules): (testFile: string) => Tier {
  function reachesOutsideWorld(testFile: string): boolean {
    const reached = new Set([testFile]);
    // A set's iteration also visits what is added on the way.
    for (const path of reached) {
      const { files, packages } = modulesOf(path);
      if (packages.some((name) => OUTSIDE_MODULE.test(name) || OUTSIDE_PACKAGE.test(name))) return true;
      for (const file of files) reached.add(file);
    }
    return false;
  }

  return (testFile) => {
    if (testFile.startsWith('test/')) return 'acceptance';
    return reachesOutsideWorld(testFile) ? 'slices' : 'unit';
  };
}

function readLoadedModules(checkout: string, path: string): LoadedModules {
  const absolute = join(checkout, path);
  if (!SOURCE_FILE.test(path) || !existsSync(absolute)) return { files: [], packages: [] };
  return loadedModules(checkout, path, readFileSync(absolute, 'utf8'));
}

function loadedModules(checkout: string, path: string, text: string): LoadedModules {
  const { module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const requests = [
    ...module.staticImports
      .filter(({ entries }) => entries.length === 0 || entries.some((entry) => !entry.isType))
      .map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports
      .flatMap(({ entries }) => entries)
      .flatMap(({ moduleRequest, isType }) => (moduleRequest && !isType ? [moduleRequest.value] : [])),
    ...module.dynamicImports.flatMap(({ moduleRequest }) =>
      literalIn(text.slice(moduleRequest.start, moduleRequest.end)),
    ),
  ];
  const files: string[] = [];
  const packages: string[] = [];
  for (const request of requests) {
    const file = resolveRequest(checkout, path, request);
    if (file === undefined) packages.push(request);
    else files.push(file);
  }
  return { files, packages };
}

/** The text of a string literal; nothing of an expression. */
function literalIn(source: string): string[] {
  return /^(['"])(.*)\1$/.exec(source)?.slice(2) ?? [];
}
