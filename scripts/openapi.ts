// Writes openapi.json from the contract; with --check it only compares, and fails on drift.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from '@headgate/contract';
import manifest from '../package.json' with { type: 'json' };

const file = fileURLToPath(new URL('../openapi.json', import.meta.url));
const document = openApiDocument({ version: manifest.version, serverUrl: 'http://127.0.0.1:8080' });
const text = `${JSON.stringify(document, null, 2)}\n`;

if (process.argv.includes('--check')) {
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (stored !== text) {
    console.error('openapi.json is not what the contract says: run `node scripts/openapi.ts` and commit it.');
    process.exitCode = 1;
  }
} else {
  await writeFile(file, text);
}
