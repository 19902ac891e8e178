/** Scripts of a run in its own process: messages both ways, and no script outlives its run. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import type { Step } from '@headgate/contract';
import { openConfinement } from '../confinement/confinement.ts';
import { createLog } from '../log.ts';
import { createScriptsFixture, isRunning, makeMark, place, untilRunning } from '../scripts/script-fixture.ts';
import { number, renderOrchestration, start } from './pipeline-fixture.ts';
import { type RunOptions, runInProcess } from './run-process.ts';

const confinement = await openConfinement(createLog({ level: 'error', write: () => undefined }));
const fixture = createScriptsFixture();
after(async () => {
  await fixture.close();
  await confinement.close();
});

async function run(t: TestContext, type: string, parameters: object, change: Partial<RunOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-run-'));
  t.after(() => rm(folder, { recursive: true }));
  const files = join(folder, 'files');
  await mkdir(files);
  const components = {
    Start: start('Script'),
    Script: { type, parameters, transitions: { success: ['Show'] } },
    Show: { type: 'print-variables', parameters: { variablesToPrint: ['n'] } },
  };
  await writeFile(join(folder, 'main.orch.yaml'), renderOrchestration(components, { n: number('1') }));
  const steps = new Map<string, Step>();
  const never = new AbortController().signal;
  const refuse = () => assert.fail('not asked for');
  const outcome = await runInProcess({
    request: {
      pipelineExecutionId: '00000000-0000-7000-8000-000000000001',
      ...place,
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
    warehouse: { execute: refuse, query: async (sql) => ({ columns: ['SQL'], rows: [[sql]] }) },
    readSecret: refuse,
    runScript: (job, events, kill) => fixture.scripts.run(job, place, events, kill),
    conceal: (said) => said,
    cancel: never,
    kill: never,
    onStep: (step) => steps.set(step.name, step),
    onLine: () => undefined,
    onVariables: () => undefined,
    ...change,
  });
  return { outcome, steps };
}

describe('a script of a run in its own process', { timeout: 60_000 }, () => {
  it('changes variables and runs SQL through the process of the run', async (t) => {
    const { outcome, steps } = await run(t, 'python-pushdown', {
      pythonScript:
        'context.updateVariable("n", n + 1)\nprint(session.sql("select 1").collect()[0].SQL)\ntry:\n  context.updateVariable("n", "x")\nexcept Exception as error:\n  print(error)',
    });
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    assert.equal(
      steps.get('Script')?.message,
      'select 1\nthe variable "n" is NUMBER, but "x" is not a finite number',
    );
    assert.equal(steps.get('Show')?.message, 'n = 2');
  });

  it('dies with a run that is killed', async (t) => {
    const mark = makeMark();
    const kill = new AbortController();
    const running = run(
      t,
      'bash-script',
      { script: `setsid sleep ${mark} & sleep ${mark}` },
      { kill: kill.signal },
    );
    await untilRunning(mark);
    kill.abort(new Error('cancelled by force'));
    await assert.rejects(running, /cancelled by force/);
    assert.equal(isRunning(mark), false);
  });

  it('ends before a run that is cancelled gracefully', async (t) => {
    const mark = makeMark();
    const cancel = new AbortController();
    const running = run(
      t,
      'bash-script',
      { script: `sleep ${mark} & sleep 0.5; kill $!; echo finished` },
      { cancel: cancel.signal },
    );
    await untilRunning(mark);
    cancel.abort();
    const { outcome, steps } = await running;
    assert.equal(outcome.status, 'CANCELLED');
    assert.equal(steps.get('Script')?.message, 'finished');
    assert.equal(steps.get('Show')?.status, 'SKIPPED');
  });

  it('fails its step if scripts are off, and names what the agent needs', async (t) => {
    const off = createScriptsFixture({}, { isOn: false });
    t.after(() => off.close());
    const { outcome, steps } = await run(
      t,
      'bash-script',
      { script: 'true' },
      { runScript: (job, events, kill) => off.scripts.run(job, place, events, kill) },
    );
    assert.equal(outcome.status, 'FAILED');
    assert.equal(
      steps.get('Script')?.message,
      'bash-script is off on this agent: HEADGATE_AGENT_SCRIPTS of the agent is off',
    );
  });
});
