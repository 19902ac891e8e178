/** Scripts of a run in its own process: messages both ways, and no script outlives its run. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Step } from '@headgate/contract';
import { number, renderOrchestration, start } from '../engine/run/pipeline-fixture.ts';
import { createScriptsFixture, isRunning, makeMark, place, untilRunning } from '../scripts/script-fixture.ts';
import { createPoolFixture } from './pool-fixture.ts';
import type { RunOptions } from './run-options.ts';

const pool = await createPoolFixture();
const fixture = createScriptsFixture();
after(async () => {
  await fixture.close();
  await pool.close();
});

async function run(type: string, parameters: object, change: Partial<RunOptions> = {}) {
  const components = {
    Start: start('Script'),
    Script: { type, parameters, transitions: { success: ['Show'] } },
    Show: { type: 'print-variables', parameters: { variablesToPrint: ['n'] } },
  };
  const steps = new Map<string, Step>();
  const outcome = await pool.run(renderOrchestration(components, { n: number('1') }), {
    warehouse: {
      execute: () => assert.fail('not asked for'),
      queryText: async (sql) => JSON.stringify({ columns: ['SQL'], rows: [[sql]] }),
    },
    runScript: (job, events, kill) => fixture.scripts.run(job, place, events, kill),
    onStep: (step) => steps.set(step.name, step),
    ...change,
  });
  return { outcome, steps };
}

describe('a script of a run in its own process', () => {
  it('changes variables and runs SQL through the process of the run', async () => {
    const { outcome, steps } = await run('python-pushdown', {
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

  it('gets many rows that the agent neither reads nor writes', async (t) => {
    const row = '[1,"some text","2026-01-02",null]';
    const text = `{"columns":["A","B","C","D"],"rows":[${`${row},`.repeat(99_999)}${row}]}`;
    const written = t.mock.method(JSON, 'stringify');
    const read = t.mock.method(JSON, 'parse');
    const { outcome, steps } = await run(
      'python-pushdown',
      { pythonScript: 'rows = session.sql("select 1").collect()\nprint(len(rows), rows[99999].B)' },
      { warehouse: { execute: () => assert.fail('not asked for'), queryText: async () => text } },
    );
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    assert.equal(steps.get('Script')?.message, '100000 some text');
    const long = 100_000;
    assert.equal(read.mock.calls.filter(({ arguments: [one] }) => String(one).length > long).length, 0);
    assert.equal(written.mock.calls.filter(({ result }) => (result ?? '').length > long).length, 0);
  });

  it('dies with a run that is killed', async () => {
    const mark = makeMark();
    const kill = new AbortController();
    const running = run(
      'bash-script',
      { script: `setsid sleep ${mark} & sleep ${mark}` },
      { kill: kill.signal },
    );
    await untilRunning(mark);
    kill.abort(new Error('cancelled by force'));
    await assert.rejects(running, /cancelled by force/);
    assert.equal(isRunning(mark), false);
  });

  it('ends before a run that is cancelled gracefully', async () => {
    const cancel = new AbortController();
    const { outcome, steps } = await run(
      'python-pushdown',
      { pythonScript: 'session.sql("select 1").collect()\nprint("finished")' },
      {
        cancel: cancel.signal,
        warehouse: {
          execute: () => assert.fail('not asked for'),
          async queryText() {
            cancel.abort();
            return '{"columns":["A"],"rows":[[1]]}';
          },
        },
      },
    );
    assert.equal(outcome.status, 'CANCELLED');
    assert.equal(steps.get('Script')?.message, 'finished');
    assert.equal(steps.get('Show')?.status, 'SKIPPED');
  });

  it('fails its step if scripts are off, and names what the agent needs', async (t) => {
    const off = createScriptsFixture({}, { isOn: false });
    t.after(() => off.close());
    const { outcome, steps } = await run(
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
