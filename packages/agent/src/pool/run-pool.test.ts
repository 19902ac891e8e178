/** When processes of runs are replaced, and that the next run works and knows nothing of the one before. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openConfinement } from '../confinement/confinement.ts';
import { print, renderOrchestration, start, text, update } from '../engine/run/pipeline-fixture.ts';
import { createLog } from '../log.ts';
import { bundleRunCode } from './bundle.ts';
import { createPoolFixture, request } from './pool-fixture.ts';
import { prepareRunCode } from './run-code.ts';
import type { RunOptions } from './run-options.ts';
import type { RunPoolSettings } from './run-pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-faulty-'));
const faulty = join(folder, 'run-code-faulty.mjs');
await bundleRunCode(faulty, new URL('./faulty-process-fixture.ts', import.meta.url));
after(() => rmSync(folder, { recursive: true }));
const code = await prepareRunCode(folder);
/** Of all pools: to find out what the operating system offers takes longer than most tests here. */
const confinement = await openConfinement(createLog({ level: 'error', write: (line) => console.log(line) }));
after(() => confinement.close());

const empty = renderOrchestration({ Start: start('Show'), Show: print('x') }, { x: text('clean') });

async function withPool(
  settings: Partial<RunPoolSettings>,
  use: (fixture: Awaited<ReturnType<typeof createPoolFixture>>) => Promise<void>,
): Promise<void> {
  const bounds = { spares: 1, ...settings.bounds };
  const fixture = await createPoolFixture({ code, confinement, ...settings, bounds });
  try {
    await use(fixture);
  } finally {
    await fixture.close();
  }
}

async function assertClean(run: Awaited<ReturnType<typeof createPoolFixture>>['run']): Promise<void> {
  const lines: string[] = [];
  const { status } = await run(empty, { onLine: (line) => lines.push(line) });
  // What the process before sends late would come now.
  await delay(200);
  assert.deepEqual([status, lines], ['SUCCESS', ['x = clean']]);
}

const withFault = (fault: string): Partial<RunOptions> => ({
  request: {
    ...request,
    variables: [{ name: 'fault', type: 'TEXT', behaviour: 'SHARED', value: fault }],
  },
  warehouse: {
    execute: async () => ({ rowCount: 0 }),
    queryText: async () => '{"columns":[],"rows":[]}',
  },
});

describe('a process of runs is replaced', () => {
  const closing: (() => Promise<void>)[] = [];
  after(async () => {
    for (const close of closing) await close();
  });
  /** A pool for several tests, started by the first one. */
  function shared(bounds: NonNullable<RunPoolSettings['bounds']>) {
    let started: ReturnType<typeof createPoolFixture> | undefined;
    return () => {
      if (started === undefined) {
        started = createPoolFixture({ code: faulty, confinement, bounds });
        closing.push(async () => (await started)?.close());
      }
      return started;
    };
  }
  const small = shared({ spares: 1, megabytes: 160 });
  const ordinary = shared({ spares: 1 });

  for (const [fault, reason] of [
    ['leaveTimer', /timers/],
    ['leaveInterval', /timers/],
    ['leaveHandle', /open resources/],
    ['changeGlobal', /changed global/],
    ['sendLate', /timers/],
    ['sendOfEarlierRun', /a message of a run that has ended/],
    ['grow', /memory/],
  ] as const) {
    it(`after a run with the fault ${fault}, and the next run knows nothing of it`, async () => {
      const { run, retired } = await small();
      const outcome = await run(empty, withFault(fault));
      assert.equal(outcome.status, 'SUCCESS', outcome.message);
      assert.match(retired.at(-1) ?? '', reason);
      await assertClean(run);
    });
  }

  it('after an error of the engine: its run fails, the next one knows nothing of it', async () => {
    await withPool({ code: faulty }, async ({ run, retired }) => {
      const outcome = await run(empty, withFault('breakEngine'));
      assert.equal(outcome.status, 'FAILED');
      assert.deepEqual(retired, ['an error of the engine']);
      await assertClean(run);
    });
  });

  it('after an expression that broke the instance of QuickJS, also if the run goes on', async () => {
    const breaking = renderOrchestration(
      {
        Start: start('Break'),
        Break: {
          ...update('x', 'JSON.parse("[".repeat(60000))'),
          transitions: { failure: ['Next'], success: ['Next'] },
        },
        Next: { ...update('x', '6 * 7'), transitions: { success: ['Show'] } },
        Show: print('x'),
      },
      { x: text('before') },
    );
    await withPool({}, async ({ run, retired }) => {
      const lines: string[] = [];
      const outcome = await run(breaking, { onLine: (line) => lines.push(line) });
      assert.deepEqual([outcome.status, lines], ['SUCCESS', ['x = 42']], outcome.message);
      assert.deepEqual(retired, ['a broken instance of QuickJS']);
      await assertClean(run);
    });
  });

  for (const [fault, message] of [
    ['askTwice', /sent a message out of order and was killed/],
    ['answerNoScript', /sent a message out of order and was killed/],
    ['sendNothing', /sent a message out of order and was killed/],
    ['sendUnprintable', /sent a message out of order and was killed/],
    ['finishWithNothing', /sent a message out of order and was killed/],
    ['finishOddly', /sent a message out of order and was killed/],
    ['sendNoMessage', /the run’s process was killed by SIGKILL/],
    ['die', /the run’s process ended with code 3/],
  ] as const) {
    it(`at once if it does this: ${fault}. The run fails, the next one works`, async () => {
      const { run } = await ordinary();
      const outcome = await run(empty, withFault(fault));
      assert.equal(outcome.status, 'FAILED');
      assert.match(outcome.message ?? '', message);
      assert.equal((await run(empty)).status, 'SUCCESS');
    });
  }

  for (const fault of [
    'addGlobal',
    'changePrototype',
    'changeBuiltIn',
    'evaluateText',
    'readFile',
    'readItsCode',
    'sendOwnOfNode',
  ])
    it(`never because of this, which is impossible: ${fault}`, async () => {
      const { run, retired } = await ordinary();
      const before = retired.length;
      const outcome = await run(empty, withFault(fault));
      assert.equal(outcome.status, 'SUCCESS', outcome.message);
      assert.deepEqual(retired.slice(before), []);
    });

  it('after its number of runs, and after its time', async () => {
    await withPool({ bounds: { runs: 3 } }, async ({ run, retired }) => {
      for (let turn = 0; turn < 7; turn += 1) assert.equal((await run(empty)).status, 'SUCCESS');
      assert.deepEqual(retired, ['3 runs', '3 runs']);
    });
    await withPool({ bounds: { milliseconds: 0 } }, async ({ run, retired }) => {
      for (let turn = 0; turn < 2; turn += 1) assert.equal((await run(empty)).status, 'SUCCESS');
      assert.deepEqual(retired, ['0 ms', '0 ms']);
    });
  });

  it('by a forced cancel: its process is gone before the run ends', async () => {
    await withPool({ bounds: { spares: 1 } }, async ({ run, pool }) => {
      const kill = new AbortController();
      const slow = renderOrchestration({
        Start: start('Sql'),
        Sql: { type: 'sql-script', parameters: { sqlScript: 'select 1' } },
      });
      const query = Promise.withResolvers<void>();
      const warehouse = {
        execute: () => {
          query.resolve();
          return new Promise<never>(() => undefined);
        },
        queryText: () => new Promise<never>(() => undefined),
      };
      const running = run(slow, { kill: kill.signal, warehouse });
      await query.promise;
      const before = pool.listProcesses();
      kill.abort(new Error('cancelled by force'));
      await assert.rejects(running, /cancelled by force/);
      assert.equal(before.filter(isGone).length, 1);
      assert.equal((await run(empty)).status, 'SUCCESS');
    });
  });

  it('if it is killed while it waits, and between runs', async () => {
    await withPool({}, async ({ run, pool }) => {
      for (let turn = 0; turn < 3; turn += 1) {
        assert.equal((await run(empty)).status, 'SUCCESS');
        for (const pid of pool.listProcesses()) process.kill(pid, 'SIGKILL');
        while (pool.listProcesses().some(isGone)) await delay(10);
      }
      assert.equal((await run(empty)).status, 'SUCCESS');
    });
  });
});

describe('idle processes of runs', () => {
  it('are bounded in number, and in time: the least recently used end first', async () => {
    await withPool({ bounds: { idle: 2, spares: 1 } }, async ({ run, pool }) => {
      for (const environmentName of ['one', 'two', 'three', 'four'])
        assert.equal((await run(empty, { request: { ...request, environmentName } })).status, 'SUCCESS');
      while (pool.listProcesses().length > 3) await delay(10);
      const left = pool.listProcesses();
      await run(empty, { request: { ...request, environmentName: 'four' } });
      assert.deepEqual(pool.listProcesses(), left, 'the process of the last environment is still there');
    });
  });

  it('serve more runs than there are processes, one at a time each', async () => {
    await withPool({}, async ({ run, pool }) => {
      const outcomes = await Promise.all(Array.from({ length: 40 }, () => run(empty)));
      assert.ok(outcomes.every(({ status }) => status === 'SUCCESS'));
      assert.ok(pool.listProcesses().length < 20);
    });
  });

  it('get company while none of them ends a run: all slow runs are under way at the same time', async () => {
    await withPool({}, async ({ run, pool }) => {
      const query = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      let waiting = 0;
      const warehouse = {
        async execute() {
          waiting += 1;
          if (waiting === 12) query.resolve();
          await release.promise;
          return { rowCount: 0 };
        },
        queryText: () => assert.fail('not asked for'),
      };
      const slow = renderOrchestration({
        Start: start('Sql'),
        Sql: { type: 'sql-script', parameters: { sqlScript: 'select 1' } },
      });
      const running = Array.from({ length: 12 }, () => run(slow, { warehouse }));
      await query.promise;
      assert.ok(pool.listProcesses().length >= 12);
      release.resolve();
      for (const { status } of await Promise.all(running)) assert.equal(status, 'SUCCESS');
    });
  });

  it('end with the pool; a run that waits for one is refused', async () => {
    const fixture = await createPoolFixture({ code, confinement });
    await fixture.run(empty);
    const processes = fixture.pool.listProcesses();
    const kill = new AbortController();
    const refused = assert.rejects(
      Promise.all(Array.from({ length: 20 }, () => fixture.run(empty, { kill: kill.signal }))),
    );
    await fixture.close();
    await refused;
    assert.ok(processes.every(isGone));
  });
});

function isGone(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return true;
  }
}
