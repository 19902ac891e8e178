// `npm run pack-agent [-- folder]` makes headgate-agent-<version>.tgz, which installs and runs without this
// checkout. Node.js does not run TypeScript below node_modules, so the package contains compiled JavaScript.
// The packages of this checkout that the agent needs are bundled; packages of the registry are dependencies
// in the tested versions. ADR 0023.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleRunCode } from '../packages/agent/src/pool/bundle.ts';
import { packedRunCode } from '../packages/agent/src/pool/run-code.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
/** Packages of this checkout; the first is the agent itself. */
const parts = ['agent', 'contract', 'pipelines'] as const;
const bundled = parts.slice(1);

interface Manifest {
  name: string;
  version: string;
  description: string;
  license: string;
  exports: Record<string, string>;
  bin?: Record<string, string>;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** @returns the tarball's path */
export async function packAgent(folder: string): Promise<string> {
  const staging = mkdtempSync(join(tmpdir(), 'headgate-pack-'));
  try {
    compile(staging);
    const root = join(staging, 'agent');
    for (const part of bundled) {
      const place = join(root, 'node_modules', '@headgate', part);
      mkdirSync(dirname(place), { recursive: true });
      renameSync(join(staging, part), place);
      write(join(place, 'package.json'), bundledManifest(manifestOf(part)));
    }
    await bundleRunCode(join(root, 'dist/pool', packedRunCode));
    cpSync(join(checkout, 'packages/agent/bin'), join(root, 'bin'), { recursive: true });
    cpSync(join(checkout, 'packages/agent/README.md'), join(root, 'README.md'));
    cpSync(join(checkout, 'LICENSE'), join(root, 'LICENSE'));
    write(join(root, 'package.json'), packedManifest());
    mkdirSync(folder, { recursive: true });
    const packed = run(
      'npm',
      ['pack', '--json', '--ignore-scripts', `--pack-destination=${resolve(folder)}`],
      root,
    );
    const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
    return join(resolve(folder), filename);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Compiles each package to JavaScript in `<staging>/<part>/dist`. */
function compile(staging: string): void {
  const tests = ['**/*.test.ts', '**/*-fixture.ts'];
  const project = join(staging, 'tsconfig.json');
  write(project, {
    extends: join(checkout, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      // `npm run check` checks the types, which takes five times as long as the rest.
      noCheck: true,
      rewriteRelativeImportExtensions: true,
      rootDir: join(checkout, 'packages'),
      outDir: staging,
      typeRoots: [join(checkout, 'node_modules/@types')],
    },
    include: parts.map((part) => join(checkout, 'packages', part, 'src')),
    exclude: tests.map((pattern) => join(checkout, 'packages', pattern)),
  });
  const tsc = join(checkout, 'node_modules/typescript/bin/tsc');
  run(process.execPath, [tsc, '-p', project], checkout);
  rmSync(project);
  for (const part of parts) {
    renameSync(join(staging, part, 'src'), join(staging, part, 'dist'));
    // The compiler does not copy JSON files that modules import, and the programs that confine scripts.
    const source = join(checkout, 'packages', part, 'src');
    for (const file of globSync('**/*.{json,pl,py}', { cwd: source }))
      cpSync(join(source, file), join(staging, part, 'dist', file));
    for (const file of globSync('dist/**/*.js', { cwd: join(staging, part) }))
      renameEntries(join(staging, part, file));
  }
}

/** Renames the entry files of child processes. The compiler renames imports, but not these URLs. */
function renameEntries(file: string): void {
  const text = readFileSync(file, 'utf8');
  const renamed = text.replaceAll(
    /(new URL\(\s*['"]\.{1,2}\/[^'"]+)\.ts(['"],\s*import\.meta\.url)/g,
    '$1.js$2',
  );
  const left = /^(?!\s*(?:\/\/|\*|\/\*)).*['"]\.{1,2}\/[^'"]+\.ts['"].*$/m.exec(renamed);
  if (left !== null) throw new Error(`${file} still names a TypeScript file: ${left[0].trim()}`);
  if (renamed !== text) writeFileSync(file, renamed);
}

function bundledManifest({ name, version, license, exports, dependencies }: Manifest): object {
  const modules = Object.entries(exports).filter(([, file]) => file.endsWith('.ts'));
  const compiled = modules.map(([entry, file]) => [
    entry,
    file.replace('./src/', './dist/').replace(/\.ts$/, '.js'),
  ]);
  return { name, version, license, type: 'module', exports: Object.fromEntries(compiled), dependencies };
}

function packedManifest(): object {
  const { version, description, license, bin, dependencies, ...others } = manifestOf('agent');
  // Loaded only when used, so they stay optional.
  const { optionalDependencies, peerDependencies, peerDependenciesMeta } = others;
  // The code of a run's process is bundled already.
  const { esbuild: _, ...needed } = dependencies ?? {};
  const inherited = bundled.map((part) => manifestOf(part).dependencies);
  return {
    name: 'headgate-agent',
    version,
    description,
    license,
    type: 'module',
    engines: { node: '>=24' },
    bin,
    files: ['bin', 'dist'],
    dependencies: Object.assign({}, ...inherited, needed),
    optionalDependencies,
    peerDependencies,
    peerDependenciesMeta,
    bundleDependencies: bundled.map((part) => manifestOf(part).name),
  };
}

function manifestOf(part: (typeof parts)[number]): Manifest {
  return JSON.parse(readFileSync(join(checkout, 'packages', part, 'package.json'), 'utf8'));
}

function write(file: string, value: object): void {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
}

function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}

if (import.meta.main) console.log(await packAgent(process.argv[2] ?? 'dist'));
