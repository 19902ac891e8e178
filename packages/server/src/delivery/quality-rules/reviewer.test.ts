/** The order of reviews, and what they read. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { fileBytesLimit, rulesFileBytesLimit } from '@headgate/pipelines';
import { createRetainedFiles } from './quality-gate.ts';
import { createReviewer, type ReviewSource } from './reviewer.ts';

const pipeline = `type: orchestration
pipeline:
  components:
    Start: {type: start}
`;

function createSource(files: Record<string, string>): ReviewSource & { readPaths: string[] } {
  const readPaths: string[] = [];
  return {
    readPaths,
    files: Object.entries(files).map(([path, { length: size }]) => ({ path, size })),
    async *read(chosen) {
      for (const { path } of chosen) {
        readPaths.push(path);
        yield Buffer.from(files[path] ?? '');
      }
    },
  };
}

test('many reviews of one project do not delay that of another project of the account', async () => {
  const review = createReviewer();
  const accountId = randomUUID();
  const outcomes: string[] = [];
  const start = (projectId: string) =>
    review({ accountId, projectId }, createSource({ 'a.orch.yaml': pipeline })).then(() => {
      outcomes.push(projectId);
    });
  await Promise.all([...Array.from({ length: 10 }, () => start('busy')), start('other')]);
  assert.ok(outcomes.indexOf('other') < 3, outcomes.join(', '));
});

test('files above their limits are judged by their size, and not read', async () => {
  const source = createSource({
    'headgate-rules.yaml': ' '.repeat(rulesFileBytesLimit + 1),
    'a.orch.yaml': pipeline,
    'b.orch.yaml': ' '.repeat(fileBytesLimit + 1),
  });
  const { isPassed, findings } = await createReviewer()({ accountId: 'a', projectId: 'p' }, source);
  assert.deepEqual(source.readPaths, ['a.orch.yaml']);
  assert.equal(isPassed, false);
  assert.match(findings.get('headgate-rules.yaml')?.[0]?.message ?? '', /more than 262144 characters/);
  assert.match(findings.get('b.orch.yaml')?.[0]?.message ?? '', /1048577 bytes, and a pipeline has at most/);
});

test('of an upload, files above their limits are not kept', async () => {
  const retained = createRetainedFiles();
  const large = Buffer.alloc(rulesFileBytesLimit + 1);
  retained.retain('headgate-rules.yaml', large);
  retained.retain('notes.txt', large);
  const { files, read } = retained.getSource();
  assert.deepEqual(files, [{ path: 'headgate-rules.yaml', size: large.length }]);
  for await (const bytes of read(files)) assert.equal(bytes, undefined);
});
