/** The process of a run, as supervised by the agent. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { openConfinement } from '../confinement/confinement.ts';
import { createLog } from '../log.ts';
import { print, renderOrchestration, start, text, update } from './pipeline-fixture.ts';
import { type RunOptions, runInProcess } from './run-process.ts';

/**
 * A search of steps without number, all in one built-in function: QuickJS asks for its bound only between
 * functions.
 */
const oneLongBuiltIn = "'x'.repeat(6e6).indexOf('x'.repeat(3e6) + 'y')";

const confinement = await openConfinement(createLog({ level: 'error', write: (line) => console.log(line) }));
after(() => confinement.close());

/** Runs one orchestration, in which no SQL is asked for. */
async function run(
  t: TestContext,
  pipeline: string,
  { copied = [], ...options }: Partial<RunOptions> & { copied?: string[] } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-run-'));
  t.after(() => rm(folder, { recursive: true }));
  const files = join(folder, 'files');
  await mkdir(files);
  for (const name of copied) await writeFile(join(files, name), '');
  await writeFile(join(folder, 'main.orch.yaml'), pipeline);
  const nobody = () => assert.fail('no SQL is asked for');
  const never = new AbortController().signal;
  return runInProcess({
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
    enterScratch: async () => files,
    workFolder: folder,
    memoryMegabytes: 256,
    processMegabytes: 512,
    confinement,
    warehouse: { execute: nobody, query: nobody },
    readSecret: nobody,
    runScript: nobody,
    conceal: (said) => said,
    cancel: never,
    kill: never,
    onStep: () => undefined,
    onLine: () => undefined,
    onVariables: () => undefined,
    ...options,
  });
}

test('a run has a process with no folders but its own', async (t) => {
  const given: { readable: readonly string[]; writable: readonly string[] }[] = [];
  const recording: RunOptions['confinement'] = {
    ...confinement,
    limitFolders: (rules) => {
      given.push(rules);
      return confinement.limitFolders(rules);
    },
  };
  const outcome = await run(t, renderOrchestration({ Start: start() }, {}), { confinement: recording });
  assert.equal(outcome.status, 'SUCCESS');
  const [{ readable, writable } = { readable: [], writable: [] }] = given;
  assert.deepEqual([readable.length, writable.length], [2, 1]);
  const [artifact = '', files] = readable;
  assert.deepEqual([files, writable], [join(artifact, 'files'), [files]]);
});

test('a run that is blocked in a built-in function is killed with a message', {
  timeout: 60_000,
}, async (t) => {
  const components = { Start: start('Search'), Search: update('x', oneLongBuiltIn) };
  const outcome = await run(t, renderOrchestration(components, { x: text('') }), {
    silenceMilliseconds: 4_000,
  });
  assert.equal(outcome.status, 'FAILED');
  assert.match(outcome.message ?? '', /blocked the run’s process for more than 4 s in a built-in function/);
});

test('a run whose process exceeds its memory limit fails and names the setting; the next run succeeds', {
  timeout: 60_000,
}, async (t) => {
  const count = 80;
  const names = Array.from({ length: count }, (_, index) => `v${index}`);
  const large = "'x'.repeat(4e6)";
  const steps = names.map((name, index) => [
    `Fill ${name}`,
    { ...update(name, large), transitions: { success: index + 1 < count ? [`Fill v${index + 1}`] : [] } },
  ]);
  const components = { Start: start('Fill v0'), ...Object.fromEntries(steps) };
  const variables = Object.fromEntries(names.map((name) => [name, text('')]));
  const pipeline = renderOrchestration(components, variables);
  const limits = { memoryMegabytes: 2_048, processMegabytes: 200 };
  const outcome = await run(t, pipeline, limits);
  assert.equal(outcome.status, 'FAILED');
  assert.match(outcome.message ?? '', /exceeded its limit of 200 MB.*HEADGATE_AGENT_RUN_PROCESS_MEMORY_MB/);
  const next = await run(t, renderOrchestration({ Start: start() }, {}), limits);
  assert.equal(next.status, 'SUCCESS', next.message);
});

test('the process may list the files folder, and wait', { timeout: 60_000 }, async (t) => {
  const files = { inputDataUrl1: '.', filterRegex: '.*[.]csv', variables: [['Filename', 'x']] };
  const components = {
    Start: start('Each file'),
    'Each file': {
      type: 'file-iterator',
      iterationTarget: 'Print',
      parameters: files,
      transitions: { success: ['Again'] },
    },
    Print: print('x'),
    Again: {
      type: 'retry',
      iterationTarget: 'Fail',
      parameters: { numberOfRetries: '1', retryDelay: '0.6' },
    },
    Fail: update('x', 'nix()'),
  };
  const lines: string[] = [];
  const outcome = await run(t, renderOrchestration(components, { x: text('') }), {
    copied: ['a.csv', 'b.txt', 'c.csv'],
    onLine: (line) => lines.push(line),
  });
  assert.match(outcome.message ?? '', /"Again" failed: failed after 2 attempts: /);
  assert.deepEqual(lines, ['x = a.csv', 'x = c.csv']);
});
