// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePipeline } from '../../format/parse.ts';
import { listSharedPipelineUses } from './shared-pipeline-use.ts';

const use = (sharedPipelineIdPrefix: unknown, versionName?: unknown, more: object = {}) => ({
  type: 'run-shared-pipeline',
  parameters: { sharedPipelineIdPrefix, sharedPipeline: 'p', versionName },
  ...more,
});

function usesOf(components: Record<string, object>) {
  const { pipeline } = parsePipeline(
    'p.orch.yaml',
    JSON.stringify({ type: 'orchestration', pipeline: { components } }),
  );
  assert.ok(pipeline);
  return listSharedPipelineUses(pipeline);
}

test('each group and version that a pipeline uses is listed once', () => {
  const uses = usesOf({
    a: use('Checks'),
    b: use('Checks', '[Latest]'),
    c: use(' Checks ', '1.0'),
    d: use('Loads', '1.0'),
    e: { type: 'start' },
  });
  assert.deepEqual(uses, [
    { prefix: 'Checks' },
    { prefix: 'Checks', versionName: '1.0' },
    { prefix: 'Loads', versionName: '1.0' },
  ]);
});

test('uses beyond the limit are not listed', () => {
  const many = Array.from({ length: 101 }, (_, index) => [`${index} of them`, use(`Group ${index}`)]);
  const uses = usesOf(Object.fromEntries(many));
  assert.equal(uses.length, 100);
  assert.equal(uses.at(-1)?.prefix, 'Group 99');
});

test('uses of skipped components and malformed uses are not listed', () => {
  const skipped = use('Checks', '1', { skipped: 'Yes' });
  const odd = ['', '${group}', 'x'.repeat(101), 'a\u0000b', '\ud800', ['Checks'], null];
  assert.deepEqual(
    usesOf({ skipped, ...Object.fromEntries(odd.map((prefix, at) => [`${at}`, use(prefix)])) }),
    [],
  );
  assert.deepEqual(usesOf({ a: use('Checks', '${version}'), b: use('Checks', 'x'.repeat(256)) }), []);
});

test('the group and the pipeline may be written in one, with `version` for the version', () => {
  const joined = (pipelineName: unknown, version?: unknown) => ({
    type: 'run-shared-pipeline',
    parameters: { pipelineName, version },
  });
  const uses = usesOf({
    a: joined('Our tools#clean/Up', '[Latest]'),
    b: joined('Our tools # ${name}', '2.1'),
    c: joined('${group}#x'),
  });
  assert.deepEqual(uses, [{ prefix: 'Our tools' }, { prefix: 'Our tools', versionName: '2.1' }]);
});
