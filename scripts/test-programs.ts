/**
 * The programs that tests start most often, bundled: Node.js needs 1 s of processor time to load the 1,500 modules of
 * a server, and 0.4 s for the bundle. `npm start`, the commands and the packed agent are tested as they are.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle } from '../packages/agent/src/pool/bundle.ts';

type Plugin = NonNullable<Parameters<typeof bundle>[0]['plugins']>[number];

/** From the checkout, without `.ts`. */
const server = 'packages/server/src/main/server';
const agent = 'packages/agent/src/main';
const duckdb = 'packages/agent/src/warehouses/duckdb-process';
const programs = [server, agent, duckdb, 'packages/agent/src/confinement/probe-process'];
/** Where the server looks for the program of its local agent. */
const agentProgram = 'packages/server/src/main/host/agent-program.ts';
/** Packages that are loaded only when used, that look for files beside their own, or that register their classes. */
const separate =
  /^(@aws-sdk|@azure|@google-cloud|@duckdb|@jitl|@peculiar|ai|@ai-sdk|nodemailer|quickjs-emscripten|esbuild|pino|reflect-metadata|ssh2|cpu-features|thread-stream)(\/|$)/;
const originUrl = 'urlOfSource';
const originFolder = 'folderOfSource';
const sources = ['packages/{agent,contract,pipelines,server}/src/**/*.{ts,json}', 'package-lock.json'];
const PREFIX = 'programs-';
/** Another run may use those of sources before a change. */
const ABANDONED_MS = 3 * 60 * 60_000;

/** Bundles the programs, unless this was done for the same sources. Returns their environment. */
export async function bundleTestPrograms(checkout: string) {
  const cache = join(checkout, 'node_modules', '.cache', 'headgate');
  const folder = join(cache, `${PREFIX}${digestSources(checkout)}`);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    removeAbandoned(cache);
    const draft = `${folder}-${process.pid}`;
    try {
      await bundlePrograms(checkout, draft, folder);
      renameSync(draft, folder);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      // Another run has made it meanwhile.
      if (!existsSync(folder)) throw error;
    }
  }
  return {
    HEADGATE_TEST_SERVER: join(folder, `${server}.mjs`),
    HEADGATE_TEST_DUCKDB: pathToFileURL(join(folder, `${duckdb}.mjs`)).href,
  };
}

async function bundlePrograms(checkout: string, draft: string, folder: string): Promise<void> {
  const origin = createOriginPlugin(checkout, folder);
  await bundle({
    absWorkingDir: checkout,
    entryPoints: programs.map((program) => `${program}.ts`),
    outdir: draft,
    outbase: checkout,
    outExtension: { '.js': '.mjs' },
    // What is loaded only when used stays in files of its own.
    splitting: true,
    keepNames: true,
    define: { 'import.meta.url': originUrl, 'import.meta.dirname': originFolder },
    plugins: [keepSeparate, origin.plugin],
  });
  const missing = programs.filter((program) => program !== server && !origin.named.has(program));
  if (missing.length > 0)
    throw new Error(`scripts/test-programs.ts: no bundled module starts ${missing.join(', ')} any more`);
}

const keepSeparate: Plugin = {
  name: 'keep-separate',
  setup(plugin) {
    plugin.onResolve({ filter: separate }, () => ({ external: true }));
  },
};

/** Each module finds the files beside it where its source is; the programs find each other in the bundle. */
function createOriginPlugin(checkout: string, folder: string): { plugin: Plugin; named: Set<string> } {
  const named = new Set<string>();
  const findBundle = (path: string): string | undefined => {
    const program = programs.find((each) => join(checkout, `${each}.ts`) === path);
    if (program === undefined) return undefined;
    named.add(program);
    return join(folder, `${program}.mjs`);
  };
  const plugin: Plugin = {
    name: 'keep-origin',
    setup(build) {
      build.onLoad({ filter: /[\\/]packages[\\/].*\.ts$/ }, ({ path }) => {
        if (relative(checkout, path) !== agentProgram)
          return { contents: fixOrigin(readFileSync(path, 'utf8'), path, findBundle), loader: 'ts' };
        const bundled = findBundle(join(checkout, `${agent}.ts`)) ?? '';
        return { contents: nameAgent(checkout, bundled) };
      });
    },
  };
  return { plugin, named };
}

/** Users that may not enter the checkout run a copy of the sources. */
const nameAgent = (checkout: string, bundled: string) => `
import { join } from 'node:path';
export const findAgentProgram = (folder) =>
  folder === ${JSON.stringify(realpathSync(checkout))} ? ${JSON.stringify(bundled)} : join(folder, '${agent}.ts');
`;

function fixOrigin(text: string, path: string, findBundle: (path: string) => string | undefined): string {
  const ofProgram = /new URL\('(\.{1,2}\/[^']+\.ts)', import\.meta\.url\)/g;
  const fixed = text.replaceAll(ofProgram, (whole, target: string) => {
    const bundled = findBundle(resolve(dirname(path), target));
    return bundled === undefined ? whole : `new URL(${JSON.stringify(pathToFileURL(bundled).href)})`;
  });
  const values = [pathToFileURL(path).href, dirname(path)].map((value) => JSON.stringify(value));
  // Only where it is used: a module that declares something is not removed as unused.
  if (!text.includes('import.meta.')) return fixed;
  return `const ${originUrl} = ${values[0]}, ${originFolder} = ${values[1]}; ${fixed}`;
}

/** With the path of the checkout, which is in the bundles. */
function digestSources(checkout: string): string {
  const digest = createHash('sha256')
    .update(`${checkout}\n`)
    .update(readFileSync(fileURLToPath(import.meta.url)));
  for (const file of globSync(sources, { cwd: checkout }).sort())
    digest.update(`${file}\n`).update(readFileSync(join(checkout, file)));
  return digest.digest('hex').slice(0, 32);
}

function removeAbandoned(cache: string): void {
  for (const name of readdirSync(cache).filter((each) => each.startsWith(PREFIX))) {
    const path = join(cache, name);
    if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < Date.now() - ABANDONED_MS)
      rmSync(path, { recursive: true, force: true });
  }
}
