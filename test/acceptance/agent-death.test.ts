/** The agent dies or freezes during a run: the execution ends in time, and the next one runs. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/src/testing/waiting.ts';
import { graceSeconds, impatientInstallation, leaseSeconds } from './harness/impatient-installation.ts';
import type { Installation } from './harness/installation.ts';
import { isAlive, signal } from './harness/processes.ts';
import { endlessSql, Project, sqlScript } from './harness/project.ts';

/** The sweep runs every second; the rest is for a busy machine. */
const marginSeconds = 4;

describe('an agent that is lost during a run', { timeout: 120_000 }, () => {
  let headgate: Installation;
  let project: Project;
  before(async () => {
    headgate = await impatientInstallation();
    project = await Project.create(headgate.client());
    await project.publish({
      'endless.orch.yaml': sqlScript(endlessSql),
      'short.orch.yaml': sqlScript('select 1'),
    });
  });

  async function lostInMidRun(how: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
    const id = await project.start('endless');
    await project.stepRunning(id, 'Script');
    const agent = await headgate.process('agent');
    const children = headgate.processes('run', 'warehouse').map(({ pid }) => pid);
    assert.ok(children.length >= 2);
    signal(agent.pid, how);
    const lostAt = performance.now();
    const seen = new Set<string>();
    const ending = project
      .ended(id, 30, seen)
      .then((run) => ({ run, seconds: (performance.now() - lostAt) / 1_000 }));
    if (how === 'SIGKILL') {
      await waitUntil('the end of the agent’s children', 10, () => !children.some(isAlive));
      // In the same environment, so on the same database file.
      const next = await project.run('short');
      assert.equal(next.status, 'SUCCESS', next.message);
    }
    const { run, seconds } = await ending;
    assert.ok(seconds < leaseSeconds + graceSeconds + marginSeconds, `${seconds} s`);
    assert.deepEqual([...seen].at(-1), 'FAILED');
    assert.ok(seen.has('UNKNOWN'), [...seen].join());
    assert.match(run.message ?? '', /agent "local" stopped responding/);
    if (how === 'SIGSTOP') {
      signal(agent.pid, 'SIGCONT');
      await waitUntil('the end of the fenced run', 10, () => children.some((pid) => !isAlive(pid)));
      assert.equal((await project.execution(id)).status, 'FAILED');
      const next = await project.run('short');
      assert.equal(next.status, 'SUCCESS', next.message);
    }
  }

  it('by kill -9: UNKNOWN, then FAILED naming the agent; its children end with it', () =>
    lostInMidRun('SIGKILL'));

  it('when frozen: FAILED in the same time; when it continues, it ends the run and takes new work', () =>
    lostInMidRun('SIGSTOP'));

  it('while nothing runs: the next execution succeeds', async () => {
    await headgate.kill((await headgate.process('agent')).pid);
    const run = await project.run('short');
    assert.equal(run.status, 'SUCCESS', run.message);
  });
});
