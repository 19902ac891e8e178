/**
 * After `kill -9` of any process at any moment, the next `npm start` works without help, and the data is
 * there.
 *
 * Every third round kills a process during the first start on an empty data directory. The others kill during
 * a later start or during a run.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { roundsOr, testSeed as seed } from '@headgate/contract/testing/rounds';
import { seededRandom } from '../../packages/server/testing/seeded-random.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { ended, hasEnded, Installation, pidOf } from './harness/installation.ts';
import { type ProcessKind, signal } from './harness/processes.ts';
import { endlessSql, Project, sqlScript } from './harness/project.ts';

const rounds = roundsOr(1);
/** When one of these is killed, all processes end. */
const chain: readonly ProcessKind[] = ['npm', 'bootstrap', 'server'];
const kinds: readonly ProcessKind[] = [
  ...chain,
  'supervisor',
  'postmaster',
  'backend',
  'agent',
  'run',
  'warehouse',
];

describe(`kill -9 at any moment (TEST_SEED=${seed})`, () => {
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const environment = {
    // Longer than a busy machine lets an agent wait.
    HEADGATE_LEASE_SECONDS: '5',
    HEADGATE_HEARTBEAT_SECONDS: '1',
    HEADGATE_GRACE_SECONDS: '3',
  };
  let lasting: Installation;
  let project: Project;
  let written = 0;
  /** Duration of each start of a round, in milliseconds. */
  const starts: number[] = [];
  before(async () => {
    lasting = await Installation.create({ environment });
    const start = await lasting.start('npm');
    project = await Project.create(lasting.client());
    await project.publish({
      'endless.orch.yaml': sqlScript(endlessSql),
      'short.orch.yaml': sqlScript('select 1'),
    });
    await killChain(lasting, start);
  });
  after(() => lasting.remove());

  /** Kills the processes of the start, even if they are still starting. The next start finds the others. */
  async function killChain(headgate: Installation, start: ChildProcess): Promise<void> {
    signal(pidOf(start), 'SIGKILL');
    await ended(start);
    await waitUntil('the end of the start chain', 120, () => {
      const left = headgate.processes(...chain, 'npm shell');
      for (const { pid } of left) signal(pid, 'SIGKILL');
      return left.length === 0;
    });
  }

  /**
   * Kills a running process of a kind that the seed chooses. Run processes are killed together, because those
   * that wait for a run look like the one that has it.
   */
  async function killOne(headgate: Installation): Promise<ProcessKind | undefined> {
    const there = headgate.processes(...kinds);
    const kind = pick(kinds.filter((each) => there.some((found) => found.kind === each)));
    const ofKind = there.filter((found) => found.kind === kind);
    const victim = pick(ofKind);
    const victims = kind === 'run' ? ofKind : victim === undefined ? [] : [victim];
    await Promise.all(victims.map(({ pid }) => headgate.kill(pid)));
    return kind;
  }

  /** Starts again at once, and remembers how long it took. */
  async function startAgain(headgate: Installation): Promise<ChildProcess> {
    const startedAt = performance.now();
    const start = await headgate.start('npm');
    assert.equal(hasEnded(start), false);
    starts.push(Math.round(performance.now() - startedAt));
    return start;
  }

  async function duringFirstStart(): Promise<string> {
    const fresh = await Installation.create({ environment, fromEmpty: true });
    try {
      const start = fresh.launch('npm');
      const milliseconds = Math.round(random() * 2_500);
      await delay(milliseconds);
      const kind = await killOne(fresh);
      await killChain(fresh, start);
      await startAgain(fresh);
      await Project.create(fresh.client());
      return `${kind}, ${milliseconds} ms into the first start`;
    } finally {
      await fresh.remove();
    }
  }

  async function duringStart(): Promise<string> {
    const start = lasting.launch('npm');
    const milliseconds = Math.round(random() * 2_000);
    await delay(milliseconds);
    const kind = await killOne(lasting);
    await killChain(lasting, start);
    return `${kind}, ${milliseconds} ms into a start`;
  }

  async function duringRun(): Promise<string> {
    const start = await startAgain(lasting);
    const id = await project.start('endless');
    await project.stepRunning(id, 'Script');
    await delay(random() * 300);
    const kind = await killOne(lasting);
    if (kind !== undefined && !chain.includes(kind)) {
      // The server is alive and recovers.
      await lasting.ready(start);
      if (['agent', 'run'].includes(kind)) assert.equal((await project.ended(id)).status, 'FAILED');
    }
    await killChain(lasting, start);
    return `${kind} during a run`;
  }

  const name = (number: number) => `kept_${number}`;

  async function dataIsThere(): Promise<void> {
    const start = await startAgain(lasting);
    const client = lasting.client();
    await client.ask('POST', `${project.path}/variables`, {
      name: name(written),
      type: 'TEXT',
      behaviour: 'SHARED',
    });
    written += 1;
    const { total, results } = await client.ask('GET', `${project.path}/variables?size=100`);
    assert.equal(total, written);
    assert.deepEqual(
      results.map((row: { name: string }) => row.name).toSorted(),
      Array.from({ length: written }, (_, number) => name(number)).toSorted(),
    );
    await killChain(lasting, start);
  }

  for (let round = 0; round < rounds; round++) {
    it(`round ${round + 1}`, async (context) => {
      const kinds = [duringFirstStart, duringStart, duringRun];
      const what = await (kinds[round % 3] ?? duringRun)();
      if (round % 3 !== 0) await dataIsThere();
      context.diagnostic(`${what}; ready after ${starts.splice(0).join(' and ')} ms`);
    });
  }

  it('afterwards a run is a SUCCESS, and everything stops in order', async () => {
    const start = await startAgain(lasting);
    const run = await project.run('short', 'dev');
    assert.equal(run.status, 'SUCCESS', run.message);
    const { results } = await lasting
      .client()
      .ask('GET', '/v1/pipeline-executions?status=RUNNING&status=UNKNOWN');
    await waitUntil('the end of what ran when it was killed', 120, async () => {
      const statuses = await Promise.all(
        results.map((each: { pipelineExecutionId: string }) => project.status(each.pipelineExecutionId)),
      );
      return statuses.every((status) => status === 'FAILED');
    });
    assert.equal(await lasting.interrupt(start), 0);
    await lasting.gone();
  });
});
