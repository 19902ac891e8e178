/** Retries and time-outs of components: what runs again, what a time-out ends, and what the steps say. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from './engine-fixture.ts';
import { print, renderOrchestration, renderTransformation, start, text, update } from './pipeline-fixture.ts';

const sql = (sqlScript: string, more: object = {}) => ({
  type: 'sql-script',
  parameters: { sqlScript },
  ...more,
});
/** Takes hours, and can be interrupted. */
const endless = 'SELECT count(*) FROM range(10000000000) a, range(1000) b';

describe('attempts of a component', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await createFixture();
  });
  afterEach(() => fixture.dispose());

  const listSteps = () =>
    [...fixture.steps.values()].map(({ name, status, attempt, message }) => ({
      name,
      status,
      attempt,
      message: message?.split('\n'),
    }));
  /** Lets the time of the running timers pass while this many loads run, again and again until the run has ended. */
  async function passTime(run: Promise<unknown>, loads = 1): Promise<void> {
    const passing = setInterval(() => {
      const running = listSteps().filter(({ name, status }) => name === 'Load' && status === 'RUNNING');
      if (running.length === loads) fixture.runTimers();
    }, 20);
    await run.finally(() => clearInterval(passing));
  }

  it('is run again until it succeeds, after the delay', async () => {
    await fixture.connection.run('CREATE SEQUENCE tries');
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Load'),
        Load: sql("SELECT CASE WHEN nextval('tries') < 3 THEN error('not yet') END", {
          retries: 4,
          retryDelay: 7,
          transitions: { success: ['Say'] },
        }),
        Say: sql('SELECT 1'),
      }),
    });
    const outcome = await fixture.run('main');
    assert.equal(outcome.status, 'SUCCESS');
    assert.deepEqual(fixture.waits, [7_000, 7_000]);
    const tried = listSteps().filter(({ name }) => name === 'Load');
    assert.deepEqual(
      tried.map(({ status, attempt, message }) => [status, attempt, message?.[0]]),
      [
        ['FAILED', 1, 'attempt 1 of 5'],
        ['FAILED', 2, 'attempt 2 of 5'],
        ['SUCCESS', 3, 'attempt 3 of 5'],
      ],
    );
    assert.match(tried[0]?.message?.[1] ?? '', /not yet/);
  });

  it('fails after its last attempt, and says how many there were', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Load'),
        Load: sql('SELECT * FROM nowhere', { retries: 2 }),
      }),
    });
    const { status, message } = await fixture.run('main');
    assert.equal(status, 'FAILED');
    assert.match(message ?? '', /^main\.orch\.yaml, line 1: "Load" failed: .*nowhere.*\(3 attempts\)$/s);
    assert.deepEqual(fixture.waits, []);
  });

  it('does its post-processing once, after the last attempt', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Load'),
          Load: sql('SELECT * FROM nowhere', {
            retries: 2,
            transitions: { failure: ['Say'] },
            postProcessing: { updateScalarVariables: [['said', `\${said}x`]] },
          }),
          Say: print('said'),
        },
        { said: text('') },
      ),
    });
    assert.equal((await fixture.run('main')).status, 'SUCCESS');
    assert.deepEqual(fixture.lines, ['said = x']);
  });

  it('is cancelled during the delay', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Load'),
        Load: sql('SELECT * FROM nowhere', { retries: 9, retryDelay: 3_600 }),
      }),
    });
    fixture.onWait(fixture.cancel);
    const { status, message } = await fixture.run('main');
    assert.equal(status, 'CANCELLED');
    assert.match(message ?? '', /cancelled by "a tester"/);
    assert.equal(listSteps().length, 2);
  });

  it('is named with its iteration', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Each'),
          Each: {
            type: 'fixed-iterator',
            iterationTarget: 'Load',
            parameters: { variablesToIterate: ['x'], iterationValues: [['a']] },
          },
          Load: sql('SELECT * FROM nowhere', { retries: 1 }),
        },
        { x: text('') },
      ),
    });
    await fixture.run('main');
    const tried = listSteps().filter(({ name }) => name === 'Load');
    assert.deepEqual(
      tried.map(({ attempt, message }) => [attempt, message?.[0]]),
      [
        [1, 'iteration 1 of 1: x = a; attempt 1 of 2'],
        [2, 'iteration 1 of 1: x = a; attempt 2 of 2'],
      ],
    );
  });

  it('has its number under the component retry, too', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Again'),
        Again: { type: 'retry', iterationTarget: 'Load', parameters: { numberOfRetries: '1' } },
        Load: sql('SELECT * FROM nowhere'),
      }),
    });
    await fixture.run('main');
    const tried = listSteps().filter(({ name }) => name === 'Load');
    assert.deepEqual(
      tried.map(({ attempt }) => attempt),
      [1, 2],
    );
  });

  it('of an output of a transformation is run again', async () => {
    await fixture.connection.run('CREATE SEQUENCE tries');
    await fixture.publish({
      'main.tran.yaml': renderTransformation({
        Read: {
          type: 'sql',
          parameters: { query: "SELECT CASE WHEN nextval('tries') < 2 THEN error('not yet') END AS a" },
        },
        Out: {
          type: 'rewrite-table',
          sources: ['Read'],
          parameters: { targetTable: 'out' },
          retries: 2,
          retryDelay: 1,
        },
      }),
    });
    assert.equal((await fixture.run('main')).status, 'SUCCESS');
    assert.deepEqual(
      listSteps().map(({ status, attempt }) => [status, attempt]),
      [
        ['FAILED', 1],
        ['SUCCESS', 2],
      ],
    );
  });

  it('ends a statement whose time runs out', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Load'),
        Load: sql(endless, { timeout: 5, retries: 1, transitions: { failure: ['Count'] } }),
        Count: sql('CREATE TABLE after AS SELECT 1'),
      }),
    });
    const run = fixture.run('main');
    await passTime(run);
    assert.equal((await run).status, 'SUCCESS');
    const late =
      '"Load" ran longer than its timeout of 5 s and was ended: let it do less, or raise its "timeout"';
    assert.deepEqual(
      listSteps()
        .filter(({ name }) => name === 'Load')
        .map(({ status, message }) => [status, message]),
      [
        ['FAILED', ['attempt 1 of 2', late]],
        ['FAILED', ['attempt 2 of 2', late]],
      ],
    );
    assert.deepEqual(await fixture.rows('SELECT count(*) FROM after'), [[1]]);
  });

  it('rolls back what a transaction did before its time ran out', async () => {
    await fixture.connection.run('CREATE TABLE kept (a INTEGER)');
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Load'),
        Load: sql(`BEGIN; INSERT INTO kept VALUES (1); ${endless}; COMMIT`, { timeout: 5 }),
      }),
    });
    const run = fixture.run('main');
    await passTime(run);
    assert.match((await run).message ?? '', /"Load" failed: "Load" ran longer than its timeout of 5 s/);
    assert.deepEqual(await fixture.rows('SELECT count(*) FROM kept'), [[0]]);
  });

  it('ends everything that a called pipeline and an iterator run', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Call'),
        Call: {
          type: 'run-orchestration',
          timeout: 5,
          parameters: { orchestrationJob: 'child' },
          transitions: { failure: ['After'] },
        },
        After: sql('CREATE TABLE after AS SELECT 1'),
      }),
      'child.orch.yaml': renderOrchestration(
        {
          Start: start('Each'),
          Each: {
            type: 'fixed-iterator',
            iterationTarget: 'Load',
            parameters: {
              variablesToIterate: ['x'],
              iterationValues: [['a'], ['b']],
              concurrency: 'Concurrent',
            },
            transitions: { unconditional: ['Never'] },
          },
          Load: sql(endless, { transitions: {} }),
          Never: sql('CREATE TABLE never AS SELECT 1'),
        },
        { x: text('') },
      ),
    });
    const run = fixture.run('main');
    await passTime(run, 2);
    assert.equal((await run).status, 'SUCCESS');
    const failed = listSteps().filter(({ status }) => status === 'FAILED');
    assert.deepEqual(failed.map(({ name }) => name).sort(), ['Call', 'Each', 'Load', 'Load']);
    for (const { message } of failed)
      assert.match(message?.at(-1) ?? '', /"Call" ran longer than its timeout/);
    assert.equal(
      listSteps().some(({ name }) => name === 'Never'),
      false,
    );
    assert.deepEqual(await fixture.rows('SELECT count(*) FROM after'), [[1]]);
  });

  it('stops its timer when it ends in time', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Load'),
          Load: { ...update('x', '"1"'), timeout: 5, transitions: { success: ['After'] } },
          After: { ...print('x'), timeout: 6 },
        },
        { x: text('') },
      ),
    });
    assert.equal((await fixture.run('main')).status, 'SUCCESS');
    assert.deepEqual(fixture.runTimers(), []);
  });

  it('does not start if a member is wrong', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Load'),
        Load: sql('SELECT 1', { retries: 'x' }),
      }),
    });
    const { status, message } = await fixture.run('main');
    assert.equal(status, 'FAILED');
    assert.match(message ?? '', /component "Load": "retries" must be a whole number from 0 to 100, not "x"/);
    assert.deepEqual(listSteps(), []);
  });
});
