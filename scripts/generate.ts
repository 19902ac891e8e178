// `npm run generate`: records the examples of the reference, then writes what follows from them and from the contract. With --check it only
// compares what follows, and fails on drift; that the examples still are what the server answers is a test.
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };

const checking = process.argv.includes('--check');
if (!checking) recordExamples();

// Read after the examples are recorded.
const { openApiDocument } = await import('@headgate/contract');
const { permissionsDocument } = await import('./permissions-document.ts');
const document = openApiDocument({ version: manifest.version, serverUrl: 'http://127.0.0.1:8080' });

/** By path from the checkout. */
const generated: Record<string, string> = {
  'openapi.json': `${JSON.stringify(document, null, 2)}\n`,
  'docs/permissions.md': permissionsDocument(),
};

for (const [path, text] of Object.entries(generated)) {
  const file = new URL(`../${path}`, import.meta.url);
  if (!checking) {
    await writeFile(file, text);
    continue;
  }
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (stored !== text) {
    console.error(`${path} is not what the contract says: run \`npm run generate\` and commit it.`);
    process.exitCode = 1;
  }
}

/** By the test that compares them: it starts a PostgreSQL and a server, and sends every request. */
function recordExamples(): void {
  const tests = fileURLToPath(new URL('test.ts', import.meta.url));
  const { status } = spawnSync(process.execPath, [tests, 'published-examples', '--test-update-snapshots'], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('the examples could not be recorded');
}
