/** docs/pipelines.md describes the format that this package reads: its examples, types, parameters and findings. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  findDefinition,
  findingCodes,
  listComponentTypes,
  pipelineTypeOf,
  validateProject,
} from './index.ts';

const page = readFileSync(new URL('../../../docs/pipelines.md', import.meta.url), 'utf8');

/** The code blocks, which begin with a comment that names the file. */
const examples = [...page.matchAll(/^```(?:yaml|csv)\n# (.+)\n([\s\S]*?)^```/gm)].map(
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
  const blocks = page.match(/^```(?:yaml|csv)$/gm) ?? [];
  assert.equal(examples.length, blocks.length);
  assert.ok(examples.filter(({ path }) => pipelineTypeOf(path) !== undefined).length >= 3);
});

test('the check of the examples finds nothing', () => {
  assert.deepEqual(validateProject(examples), []);
});

for (const { kind, types, header, first } of [
  {
    kind: 'orchestrations',
    types: listComponentTypes('orchestration'),
    header: '| type | required | optional',
    first: 1,
  },
  {
    kind: 'transformations',
    types: listComponentTypes('transformation'),
    header: '| type | sources | required | optional',
    first: 2,
  },
]) {
  test(`every component type of ${kind} is listed with its parameters`, () => {
    const listed = rowsBelow(header).map((cells) => ({
      type: wordsOf(cells[0])[0],
      required: wordsOf(cells[first]).toSorted(),
      optional: wordsOf(cells[first + 1]).toSorted(),
    }));
    const known = types.map((type) => {
      const table = findDefinition(type)?.parameters ?? {};
      const names = (required: boolean) =>
        Object.keys(table).filter((name) => (table[name]?.required ?? false) === required);
      return { type, required: names(true).toSorted(), optional: names(false).toSorted() };
    });
    assert.deepEqual(listed, known);
  });
}

test('every finding is listed', () => {
  const listed = rowsBelow('| `code` | level').flatMap(([cell]) => wordsOf(cell));
  assert.deepEqual(listed.toSorted(), [...findingCodes].toSorted());
});
