/** The process of a run, as supervised by the agent. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { print, renderOrchestration, start, text, update } from '../engine/run/pipeline-fixture.ts';
import { createPoolFixture } from './pool-fixture.ts';

/**
 * A search of steps without number, all in one built-in function: QuickJS asks for its bound only between
 * functions.
 */
const oneLongBuiltIn = "'x'.repeat(6e6).indexOf('x'.repeat(3e6) + 'y')";

async function open(t: TestContext, settings: Parameters<typeof createPoolFixture>[0] = {}) {
  const fixture = await createPoolFixture(settings);
  t.after(() => fixture.close());
  return fixture;
}

test('a run that is blocked in a built-in function is killed with a message', async (t) => {
  const components = { Start: start('Search'), Search: update('x', oneLongBuiltIn) };
  const { run } = await open(t, { bounds: { silenceMilliseconds: 4_000 } });
  const outcome = await run(renderOrchestration(components, { x: text('') }));
  assert.equal(outcome.status, 'FAILED');
  assert.match(outcome.message ?? '', /blocked the run’s process for more than 4 s in a built-in function/);
});

test('a run goes on after the agent itself was stopped for longer than a process may be silent', async (t) => {
  const { run } = await open(t, { bounds: { silenceMilliseconds: 5_000 } });
  const components = {
    Start: start('Sql'),
    Sql: { type: 'sql-script', parameters: { sqlScript: 'select 1' } },
  };
  const warehouse = {
    async execute() {
      // As if its container were paused.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000);
      await delay(1_500);
      return { rowCount: 1 };
    },
    queryText: () => assert.fail('not asked for'),
  };
  const outcome = await run(renderOrchestration(components), { warehouse });
  assert.equal(outcome.status, 'SUCCESS', outcome.message);
});

test('a run waits for longer than a timer can run', async (t) => {
  const hours = { retryDelay: 'Custom', retryInterval: '1000', retryTimeUnit: 'Hour' };
  const again = { type: 'retry', iterationTarget: 'Fail', parameters: { numberOfRetries: '1', ...hours } };
  const components = { Start: start('Again'), Again: again, Fail: update('x', 'nix()') };
  const { run } = await open(t);
  const cancel = new AbortController();
  const outcome = await run(renderOrchestration(components, { x: text('') }), {
    cancel: cancel.signal,
    onStep({ name, status }) {
      if (name === 'Fail' && status === 'FAILED') setTimeout(() => cancel.abort(), 300);
    },
  });
  assert.equal(outcome.status, 'CANCELLED', outcome.message);
});

test('a run whose process exceeds its memory limit fails and names the setting; the next run succeeds', async (t) => {
  // Far above the limit, so that the run does not end before it is measured.
  const count = 300;
  const names = Array.from({ length: count }, (_, index) => `v${index}`);
  const large = "'x'.repeat(2e6)";
  const steps = names.map((name, index) => [
    `Fill ${name}`,
    { ...update(name, large), transitions: { success: index + 1 < count ? [`Fill v${index + 1}`] : [] } },
  ]);
  const components = { Start: start('Fill v0'), ...Object.fromEntries(steps) };
  const variables = Object.fromEntries(names.map((name) => [name, text('')]));
  const pipeline = renderOrchestration(components, variables);
  const { run } = await open(t, { memoryMegabytes: 2_048, processMegabytes: 140 });
  const outcome = await run(pipeline);
  assert.equal(outcome.status, 'FAILED');
  assert.match(outcome.message ?? '', /exceeded its limit of 140 MB.*HEADGATE_AGENT_RUN_PROCESS_MEMORY_MB/);
  const next = await run(renderOrchestration({ Start: start() }, {}));
  assert.equal(next.status, 'SUCCESS', next.message);
});

test('a run lists the files folder through the agent, and waits', async (t) => {
  const files = { inputDataUrl1: '.', filterRegex: '.*[.]csv', variables: [['x', 'Filename']] };
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
  const { run, filesFolder } = await open(t);
  for (const name of ['a.csv', 'b.txt', 'c.csv']) writeFileSync(join(filesFolder, name), '');
  const outcome = await run(renderOrchestration(components, { x: text('') }), {
    onLine: (line) => lines.push(line),
  });
  assert.match(outcome.message ?? '', /"Again" failed: failed after 2 attempts: /);
  assert.deepEqual(lines, ['x = a.csv', 'x = c.csv']);
});
