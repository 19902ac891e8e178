/** The process of one run, as the agent watches it. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { orchestration, start, text, update } from './engine/pipeline-fixture.ts';
import { runInProcess } from './run-process.ts';

/** A search of steps without number, all in one built-in function: QuickJS asks for its bound only between functions. */
const oneLongBuiltIn = "${'x'.repeat(6e6).indexOf('x'.repeat(3e6) + 'y')}";

test('a run that is caught in one built-in function is killed, and told so', {
  timeout: 60_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-run-'));
  t.after(() => rm(folder, { recursive: true }));
  const files = join(folder, 'files');
  await mkdir(files);
  const components = { Start: start('Search'), Search: update('x', oneLongBuiltIn) };
  await writeFile(join(folder, 'main.orch.yaml'), orchestration(components, { x: text('') }));
  const nobody = () => assert.fail('no SQL is asked for');
  const never = new AbortController().signal;
  const outcome = await runInProcess({
    request: {
      pipelineExecutionId: '00000000-0000-7000-8000-000000000001',
      projectId: '00000000-0000-7000-8000-000000000002',
      environmentName: 'dev',
      pipelineName: 'main',
      versionName: '1',
      warehouse: 'DUCKDB',
      variables: [],
      scalarVariables: {},
      gridVariables: {},
    },
    artifact: { folder, paths: ['main.orch.yaml'], ignored: [] },
    shared: [],
    filesFolder: files,
    workFolder: folder,
    memoryMegabytes: 256,
    warehouse: { execute: nobody, query: nobody },
    readSecret: nobody,
    conceal: (said) => said,
    cancel: never,
    kill: never,
    onStep: () => undefined,
    onLine: () => undefined,
    silenceMilliseconds: 4_000,
  });
  assert.equal(outcome.status, 'FAILED');
  assert.match(outcome.message ?? '', /busy for more than 4 s in one built-in function/);
});
