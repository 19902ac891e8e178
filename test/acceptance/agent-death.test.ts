/** The agent dies or freezes during a run: the execution ends in time, and the next one runs. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { impatientInstallation } from './harness/impatient-installation.ts';
import type { Installation } from './harness/installation.ts';
import { isAlive, signal } from './harness/processes.ts';
import { endlessSql, Project, sqlScript, steps } from './harness/project.ts';

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

  it('while it loads a file: the table is as it was, and the next load works', async () => {
    let isWhole = false;
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const server = createServer((_request, response) => {
      response.write('id\n2\n3\n', () => resolve());
      if (isWhole) response.end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const source = `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders.csv`;
    const count = (rows: number) =>
      sqlScript(
        `select case when count(*) = ${rows} then 1 else error(count(*)::varchar || ' rows') end from orders`,
      );
    try {
      await project.publish(
        {
          'first.orch.yaml': sqlScript('create or replace table orders as select 1 as id'),
          'load.orch.yaml': steps(['Load', 'file-load', { source, fileType: 'CSV', targetTable: 'orders' }]),
          ...{
            'one.orch.yaml': count(1),
            'two.orch.yaml': count(2),
            'short.orch.yaml': sqlScript('select 1'),
          },
        },
        'dev',
        '2',
      );
      assert.equal((await project.run('first')).status, 'SUCCESS');
      const id = await project.start('load');
      await begun;
      const connections = headgate.countLines('"msg":"connected"');
      signal((await headgate.process('agent')).pid, 'SIGKILL');
      await headgate.lines('"msg":"connected"', connections + 1);
      assert.equal((await project.ended(id)).status, 'FAILED');
      isWhole = true;
      for (const name of ['one', 'load', 'two']) {
        const next = await project.run(name);
        assert.equal(next.status, 'SUCCESS', `${name}: ${next.message}`);
      }
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('while nothing runs: the next execution succeeds', async () => {
    const connections = headgate.countLines('"msg":"connected"');
    await headgate.kill((await headgate.process('agent')).pid);
    // An execution that is queued now could go to the dead process, and would wait for the end of its lease.
    await headgate.lines('"msg":"connected"', connections + 1);
    const run = await project.run('short');
    assert.equal(run.status, 'SUCCESS', run.message);
  });
});
