/** The agent dies or freezes during a run: the execution ends in time, and the next one runs. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { impatientInstallation } from './harness/impatient-installation.ts';
import type { Installation } from './harness/installation.ts';
import { isAlive, signal } from './harness/processes.ts';
import { endlessSql, Project, sqlScript } from './harness/project.ts';

const ever = 'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z';

describe('an agent that is lost during a run', () => {
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

  /** That it takes the lease and the grace is tested with a clock, in the slice. */
  async function lostInMidRun(how: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
    const id = await project.start('endless');
    await project.stepRunning(id, 'Script');
    const agent = await headgate.process('agent');
    const children = headgate.processes('run', 'warehouse').map(({ pid }) => pid);
    assert.ok(children.length >= 2);
    const connections = headgate.countLines('"msg":"connected"');
    signal(agent.pid, how);
    if (how === 'SIGKILL') {
      await waitUntil('the end of the agent’s children', 120, () => !children.some(isAlive));
      await headgate.lines('"msg":"connected"', connections + 1);
      // In the same environment, so on the same database file.
      const next = await project.run('short');
      assert.equal(next.status, 'SUCCESS', next.message);
    }
    const run = await project.ended(id);
    assert.equal(run.status, 'FAILED');
    const events = await headgate.client().ask('GET', `/v1/events?${ever}&subjectId=${id}`);
    const names = events.results.map((event: { eventName: string }) => event.eventName);
    assert.ok(names.includes('pipeline-execution-silent'), names.join());
    assert.match(run.message ?? '', /agent "local" stopped responding/);
    if (how === 'SIGSTOP') {
      signal(agent.pid, 'SIGCONT');
      await waitUntil('the end of the fenced run', 120, () => children.some((pid) => !isAlive(pid)));
      assert.equal((await project.execution(id)).status, 'FAILED');
      const next = await project.run('short');
      assert.equal(next.status, 'SUCCESS', next.message);
    }
  }

  it('by kill -9: UNKNOWN, then FAILED naming the agent; its children end with it', () =>
    lostInMidRun('SIGKILL'));

  it('when frozen: the same; when it continues, it ends the run and takes new work', () =>
    lostInMidRun('SIGSTOP'));

  it('while nothing runs: the next execution succeeds', async () => {
    const connections = headgate.countLines('"msg":"connected"');
    await headgate.kill((await headgate.process('agent')).pid);
    // An execution that is queued now could go to the dead process, and would wait for the end of its lease.
    await headgate.lines('"msg":"connected"', connections + 1);
    const run = await project.run('short');
    assert.equal(run.status, 'SUCCESS', run.message);
  });
});
