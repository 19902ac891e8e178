/**
 * The code of a run's process: one bundled file, because loading hundreds of modules takes ten times as long.
 * Its name is the digest of its sources, so that it is never older than they are. A packed agent brings it
 * along.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { access, chmod, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleRunCode } from './bundle.ts';

const here = fileURLToPath(import.meta.url);
const checkout = dirname(dirname(dirname(dirname(dirname(here)))));
const sources = ['agent', 'contract', 'pipelines'];
/** What is bundled with the sources, and what bundles. Installed packages change with their version. */
const packages = [
  'esbuild',
  'quickjs-emscripten',
  'quickjs-emscripten-core',
  '@jitl/quickjs-wasmfile-release-sync',
  'typebox',
  'yaml',
];

/** Its name in a packed agent. */
export const packedRunCode = 'run-code.mjs';

/**
 * Returns the path of the bundle. It is made if it is missing: beside the installed packages if this user may
 * write there, else in `ownFolder`.
 */
export async function prepareRunCode(ownFolder: string): Promise<string> {
  if (here.endsWith('.js')) return join(dirname(here), packedRunCode);
  const name = `run-code-${computeDigest()}.mjs`;
  const shared = join(checkout, 'node_modules', '.cache', 'headgate');
  for (const folder of [shared, ownFolder]) if (existsSync(join(folder, name))) return join(folder, name);
  for (const folder of [shared, ownFolder]) {
    if (folder === ownFolder) await removeOlder(ownFolder);
    const isWritable = await mkdir(folder, { recursive: true })
      .then(() => access(folder, 2))
      .then(
        () => true,
        () => false,
      );
    if (isWritable || folder === ownFolder) return makeBundle(folder, name);
  }
  throw new Error('not reached');
}

async function makeBundle(folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  const draft = join(folder, `${randomUUID()}.mjs`);
  try {
    await bundleRunCode(draft);
    await chmod(draft, 0o444);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  return path;
}

/** Only one agent uses its own folder, so that no other one needs an older file. */
async function removeOlder(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder))
    if (name.startsWith('run-code-')) await rm(join(folder, name), { force: true });
}

function computeDigest(): string {
  const digest = createHash('sha256').update(`${process.platform}-${process.arch}\n`);
  for (const name of sources)
    for (const file of listSources(join(checkout, 'packages', name, 'src')))
      digest.update(`${file.slice(checkout.length)}\n`).update(readFileSync(file));
  for (const name of packages)
    digest.update(readFileSync(join(checkout, 'node_modules', name, 'package.json')));
  return digest.digest('hex').slice(0, 32);
}

function listSources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return listSources(path);
      return /(?<!\.test)\.ts$/.test(entry.name) ? [path] : [];
    });
}
