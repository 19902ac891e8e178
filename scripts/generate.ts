// `npm run generate` writes the lists of resources, records the examples of the reference, and writes the files
// that are generated from them and from the contract. With --check it only compares these files and fails if
// they differ. A test compares the examples with the server's responses.
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };
import { resourceLists } from './resource-lists.ts';

const checking = process.argv.includes('--check');
await writeOrCompare(resourceLists(fileURLToPath(new URL('..', import.meta.url))));
if (!checking) recordExamples();

// Imported after the lists and the examples are written, because the contract reads them.
const { openApiDocument } = await import('@headgate/contract');
const { permissionsDocument } = await import('./permissions-document.ts');
const document = openApiDocument({ version: manifest.version, serverUrl: 'http://127.0.0.1:8080' });
await writeOrCompare({
  'openapi.json': `${JSON.stringify(document, null, 2)}\n`,
  'docs/permissions.md': permissionsDocument(),
});

/** @param generated content by path from the checkout */
async function writeOrCompare(generated: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(generated)) {
    const file = new URL(`../${path}`, import.meta.url);
    if (!checking) {
      await writeFile(file, text);
      continue;
    }
    const stored = await readFile(file, 'utf8').catch(() => '');
    if (stored !== text) {
      console.error(`${path} differs from the code: run \`npm run generate\` and commit it.`);
      process.exitCode = 1;
    }
  }
}

/** Runs the test that compares them, with the option that updates them. */
function recordExamples(): void {
  const tests = fileURLToPath(new URL('test.ts', import.meta.url));
  const { status } = spawnSync(process.execPath, [tests, 'published-examples', '--test-update-snapshots'], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('the examples could not be recorded');
}
