// `npm run generate`: writes what follows from the contract. With --check it only compares, and fails on drift.
import { readFile, writeFile } from 'node:fs/promises';
import { openApiDocument } from '@headgate/contract';
import manifest from '../package.json' with { type: 'json' };
import { permissionsDocument } from './permissions-document.ts';

const document = openApiDocument({ version: manifest.version, serverUrl: 'http://127.0.0.1:8080' });

/** By path from the checkout. */
const generated: Record<string, string> = {
  'openapi.json': `${JSON.stringify(document, null, 2)}\n`,
  'docs/permissions.md': permissionsDocument(),
};

for (const [path, text] of Object.entries(generated)) {
  const file = new URL(`../${path}`, import.meta.url);
  if (!process.argv.includes('--check')) {
    await writeFile(file, text);
    continue;
  }
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (stored !== text) {
    console.error(`${path} is not what the contract says: run \`npm run generate\` and commit it.`);
    process.exitCode = 1;
  }
}
