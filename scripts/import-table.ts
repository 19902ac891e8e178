// Checks the imports: the table of packages, the order of the server's wings and of folders, slices only by their
// index, no cycles, no long chain in a folder, and process.env only in configuration. ARCHITECTURE.md shows the
// same table.
//
// This is our own check on the parser that knip uses. dependency-cruiser needs the programming interface of
// earlier TypeScript compilers, which TypeScript 7 does not have.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import { findOrderOf, placeInOrder } from './folder-order.ts';
import { findLongestChains, MOST_FILES_IN_CHAIN } from './import-chains.ts';

/** What each package may import of the others. */
const PACKAGES: Record<string, string[]> = {
  contract: [],
  pipelines: [],
  server: ['contract', 'pipelines'],
  agent: ['contract', 'pipelines'],
  client: ['contract'],
  cli: ['client', 'contract'],
  console: ['client', 'contract', 'pipelines'],
};

/** The server's wings: each imports only from itself and those before it. */
const WINGS = ['kernel', 'access', 'workspace', 'delivery', 'records', 'runtime', 'main'];
/** Wings whose folders are slices. */
export const WINGS_OF_SLICES = WINGS.slice(1, -1);

const READS_ENVIRONMENT = [
  /^packages\/server\/src\/main\/config\.ts$/,
  /^packages\/(agent|cli)\/src\/config\.ts$/,
  /^(scripts|test|bench)\//,
  /^packages\/\w+\/testing\//,
  /\.test\.ts$/,
];

/**
 * The server imports this module from outside of the packages: the bootstrap needs it before anything is
 * installed.
 */
const SHARED_WITH_BOOTSTRAP = 'scripts/process-lock.mjs';

/** A source file: its path from the checkout with `/`, and the paths that it imports, types included. */
export interface SourceFile {
  path: string;
  imports: string[];
  readsEnvironment: boolean;
}

/** One sentence for each import that breaks a rule. */
export function violations(files: SourceFile[]): string[] {
  const found: string[] = [];
  for (const { path, imports, readsEnvironment } of files) {
    if (readsEnvironment && !READS_ENVIRONMENT.some((allowed) => allowed.test(path))) {
      found.push(`${path} reads process.env: settings are read in the package's config.ts and passed on`);
    }
    for (const imported of imports) {
      const reason = refusal(path, imported);
      if (reason !== undefined) found.push(`${path} imports ${imported}: ${reason}`);
    }
  }
  for (const [folder, chain] of findLongestChains(files.filter(({ path }) => !isOfTests(path)))) {
    if (chain.length <= MOST_FILES_IN_CHAIN) continue;
    found.push(
      `${folder} has a chain of ${chain.length} imports, ${MOST_FILES_IN_CHAIN} at most: ${showChain(chain)}`,
    );
  }
  return [...found, ...cycles(files).map((cycle) => `cycle: ${cycle.join(' → ')}`)];
}

function showChain(chain: readonly string[]): string {
  return chain.map((path) => basename(path)).join(' → ');
}

function refusal(from: string, to: string): string | undefined {
  const [importer, imported] = [packageOf(from), packageOf(to)];
  // Tests, scripts and benchmarks outside of the packages may use them all.
  if (importer === undefined) return undefined;
  if (imported === undefined) {
    if (to === SHARED_WITH_BOOTSTRAP && importer === 'server') return undefined;
    return 'a package does not import from outside of the packages';
  }
  if (importer !== imported) {
    if (!PACKAGES[importer]?.includes(imported)) return `${importer} may not import ${imported}`;
    return undefined;
  }
  return (importer === 'server' ? refusalInServer(from, to) : undefined) ?? refusalByFolder(from, to);
}

/** A folder of an ordered one imports only from itself and those before it. */
function refusalByFolder(from: string, to: string): string | undefined {
  const order = findOrderOf(from, to);
  if (order === undefined || isOfTests(from)) return undefined;
  const [importer, imported] = [placeInOrder(order, from), placeInOrder(order, to)];
  const unknown = [importer, imported].find(({ rank }) => rank === undefined);
  if (unknown !== undefined) {
    return `${unknown.name} of ${order.base} has no place in the order of scripts/folder-order.ts`;
  }
  if ((imported.rank ?? 0) <= (importer.rank ?? 0)) return undefined;
  return `in ${order.base}, ${importer.name} stands below ${imported.name}`;
}

function refusalInServer(from: string, to: string): string | undefined {
  if (to === 'packages/server/package.json') return undefined;
  // A test in any wing may use the whole server through the harness. Other files may not import the harness.
  if (isOfTests(from)) return undefined;
  if (isOfTests(to)) return 'the harness is for tests only';
  const [importer, imported] = [wingOf(from), wingOf(to)];
  if (importer === undefined || imported === undefined) {
    return 'everything in the server lies in one of its wings';
  }
  if (WINGS.indexOf(imported) > WINGS.indexOf(importer)) return `${importer} stands below ${imported}`;
  const slice = sliceOf(to);
  if (slice !== undefined && slice !== sliceOf(from) && to !== `${slice}/index.ts`) {
    return `from outside, a slice is imported by its index.ts`;
  }
  return undefined;
}

/** Tests, their data and harness, and what a slice tells the tests over all operations. */
function isOfTests(path: string): boolean {
  return /(\.(test|guards|examples)|-fixture)\.ts$|^packages\/\w+\/testing\//.test(path);
}

function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

function wingOf(path: string): string | undefined {
  const wing = /^packages\/server\/src\/([^/]+)\//.exec(path)?.[1];
  return wing !== undefined && WINGS.includes(wing) ? wing : undefined;
}

/** The folder of the slice that a file is in. */
function sliceOf(path: string): string | undefined {
  const slice = /^packages\/server\/src\/([^/]+)\/[^/]+(?=\/)/.exec(path);
  return slice && WINGS_OF_SLICES.includes(slice[1] ?? '') ? slice[0] : undefined;
}

/** Each strongly connected group of files once, as a path that ends where it begins. */
function cycles(files: SourceFile[]): string[][] {
  const importsOf = new Map(files.map((file) => [file.path, file.imports]));
  const found: string[][] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    const at = trail.indexOf(path);
    if (at >= 0) {
      found.push([...trail.slice(at), path]);
      return;
    }
    if (done.has(path)) return;
    trail.push(path);
    for (const imported of importsOf.get(path) ?? []) visit(imported);
    trail.pop();
    done.add(path);
  };
  for (const path of importsOf.keys()) visit(path);
  return found;
}

/** Reads the imports of one file. Those of npm packages and of Node are left out. */
export function readSource(checkout: string, path: string, text: string): SourceFile {
  const { program, module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const requests = new Set<string>();
  for (const { moduleRequest } of module.staticImports) requests.add(moduleRequest.value);
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest } of entries) if (moduleRequest) requests.add(moduleRequest.value);
  }
  let readsEnvironment = false;
  const literal = (node: { type: string; value?: unknown }) => {
    if (node.type === 'Literal' && typeof node.value === 'string') requests.add(node.value);
  };
  new Visitor({
    ImportExpression: (node) => literal(node.source),
    TSImportType: (node) => literal(node.source),
    MemberExpression(node) {
      if (node.object.type !== 'Identifier' || node.object.name !== 'process') return;
      const { property } = node;
      if (
        property.type === 'Identifier'
          ? property.name === 'env'
          : property.type === 'Literal' && property.value === 'env'
      ) {
        readsEnvironment = true;
      }
    },
    ImportDeclaration(node) {
      if (!/^(node:)?process$/.test(node.source.value)) return;
      readsEnvironment ||= node.specifiers.some(
        (specifier) =>
          specifier.type === 'ImportSpecifier' &&
          'name' in specifier.imported &&
          specifier.imported.name === 'env',
      );
    },
  }).visit(program);
  const imports = [...requests]
    .map((request) => resolveRequest(checkout, path, request))
    .filter((to) => to !== undefined);
  return { path, imports, readsEnvironment };
}

/** The path from the checkout of an imported file; undefined for npm packages and modules of Node. */
export function resolveRequest(checkout: string, from: string, request: string): string | undefined {
  if (request.startsWith('.')) return relative(checkout, resolve(checkout, dirname(from), request));
  const [, workspace, path = ''] = /^@headgate\/([^/]+)(\/.*)?$/.exec(request) ?? [];
  return workspace === undefined ? undefined : entryOf(checkout, workspace, `.${path}`);
}

/** The file that a package exports by a name, such as `.` or `./log-writer`. */
function entryOf(checkout: string, workspace: string, name: string): string {
  const manifest = join(checkout, 'packages', workspace, 'package.json');
  const entry: unknown = existsSync(manifest)
    ? JSON.parse(readFileSync(manifest, 'utf8')).exports?.[name]
    : undefined;
  return join('packages', workspace, typeof entry === 'string' ? entry : 'src/index.ts');
}

function main(): void {
  const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
  const patterns = ['packages/*/{src,testing}/**/*.{ts,tsx}', '{scripts,test,bench}/**/*.{ts,mjs,cjs}'];
  const files = globSync(patterns, { cwd: checkout, exclude: ['**/node_modules/**'] }).map((path) =>
    readSource(checkout, path, readFileSync(join(checkout, path), 'utf8')),
  );
  const found = violations(files);
  for (const violation of found) console.error(violation);
  const longest = [...findLongestChains(files.filter(({ path }) => !isOfTests(path))).entries()].reduce(
    (most, each) => (each[1].length > most[1].length ? each : most),
  );
  console.log(`${files.length} files, ${found.length} against the import table`);
  console.log(`longest chain of imports inside a folder: ${longest[1].length}, in ${longest[0]}`);
  process.exitCode = found.length === 0 ? 0 : 1;
}

if (import.meta.main) main();
