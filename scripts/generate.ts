// `npm run generate` writes the lists of resources, records the examples of the reference, and writes the files
// that are generated from them and from the contract, and the list of safe patterns (pattern-check.ts). With
// --check it only compares these files, without that list, and fails if they differ. A test compares the examples
// with the server's responses.
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };
import { renderDecisionIndex } from './adr-index.ts';
import { writeSafePatterns } from './pattern-check.ts';
import { resourceLists } from './resource-lists.ts';

const checking = process.argv.includes('--check');
await writeOrCompare(resourceLists(fileURLToPath(new URL('..', import.meta.url))));
if (!checking) recordExamples();

// Imported after the lists and the examples are written, because the contract reads them.
const { openApiDocument } = await import('@headgate/contract');
const { createPipelineSchema, renderComponentPages, renderRulePages } = await import('@headgate/pipelines');
const { permissionsDocument } = await import('./permissions-document.ts');
const document = openApiDocument({ version: manifest.version, serverUrl: 'http://127.0.0.1:8080' });

/** Folders of pages that are written from definitions. */
const pageFolders = {
  'docs/pipelines/components': renderComponentPages(),
  'docs/quality-rules': renderRulePages(),
};
const pages = Object.entries(pageFolders).flatMap(([folder, texts]) =>
  [...texts].map(([name, text]) => [`${folder}/${name}`, text] as const),
);
const schemas = (['orchestration', 'transformation'] as const).map(
  (kind) =>
    [`docs/schemas/${kind}.schema.json`, `${JSON.stringify(createPipelineSchema(kind), null, 2)}\n`] as const,
);
await writeOrCompare({
  ...Object.fromEntries([...pages, ...schemas]),
  'openapi.json': `${JSON.stringify(document, null, 2)}\n`,
  'docs/permissions.md': permissionsDocument(),
  'docs/adr/README.md': renderDecisionIndex(fileURLToPath(new URL('../docs/adr', import.meta.url))),
});
await removeOtherPages(pages.map(([path]) => path));
if (!checking) await writeSafePatterns();

/** @param generated content by path from the checkout */
async function writeOrCompare(generated: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(generated)) {
    const file = new URL(`../${path}`, import.meta.url);
    if (!checking) {
      await mkdir(new URL('.', file), { recursive: true });
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

/** Removes the pages of what does not exist any more. */
async function removeOtherPages(known: readonly string[]): Promise<void> {
  for (const folder of Object.keys(pageFolders))
    for (const name of await readdir(new URL(`../${folder}/`, import.meta.url))) {
      if (known.includes(`${folder}/${name}`)) continue;
      if (!checking) await rm(new URL(`../${folder}/${name}`, import.meta.url));
      else {
        console.error(`${folder}/${name} describes nothing: run \`npm run generate\` and commit it.`);
        process.exitCode = 1;
      }
    }
}

/** Runs the test that compares them, with the option that updates them. */
function recordExamples(): void {
  const tests = fileURLToPath(new URL('test.ts', import.meta.url));
  const names = ['published-examples', 'database/schema'];
  const { status } = spawnSync(process.execPath, [tests, ...names, '--test-update-snapshots'], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('the examples and schema.sql could not be recorded');
}
