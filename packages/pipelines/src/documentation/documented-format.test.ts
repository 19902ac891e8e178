/** docs/pipelines.md and docs/pipelines describe the format that this package reads: its examples and findings. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { validateProject } from '../check/validate-project-fixture.ts';
import { findingCodes, pipelineTypeOf } from '../index.ts';

const docs = new URL('../../../../docs/', import.meta.url);
const page = readFileSync(new URL('pipelines.md', docs), 'utf8');
const pages = [
  page,
  ...globSync('pipelines/*.md', { cwd: docs }).map((name) => readFileSync(new URL(name, docs), 'utf8')),
].join('\n');

/** The code blocks, which begin with a comment that names the file. */
const examples = [...pages.matchAll(/^```(?:yaml|csv)\n# (.+)\n([\s\S]*?)^```/gm)].map(
  ([, path = '', text = '']) => ({ path, text }),
);

/** The code-formatted words of a table cell. */
const wordsOf = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

/** The cells of the rows below the header that begins with the given cells. */
function rowsBelow(header: string): string[][] {
  const [, table = ''] = page.split(`\n${header}`);
  const [body = ''] = table.split('\n\n');
  const lines = body.split('\n').slice(2);
  return lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

test('every example is a pipeline file or a file that one reads', () => {
  const blocks = pages.match(/^```(?:yaml|csv)$/gm) ?? [];
  assert.equal(examples.length, blocks.length);
  assert.ok(examples.filter(({ path }) => pipelineTypeOf(path) !== undefined).length >= 4);
});

test('the check of the examples finds nothing', () => {
  const endpoint = { name: 'Orders', url: 'https://shop.example.com/orders', auth: 'BEARER' };
  const text = JSON.stringify({ name: 'Shop', endpoints: [endpoint] });
  const files = [...examples, { path: 'connector-profile:flex-shop.json', text }];
  assert.deepEqual(validateProject(files, [], ['shop-token']), []);
});

test('every finding is listed', () => {
  const listed = rowsBelow('| `code` | level').flatMap(([cell]) => wordsOf(cell));
  assert.deepEqual(listed.toSorted(), [...findingCodes].toSorted());
});
