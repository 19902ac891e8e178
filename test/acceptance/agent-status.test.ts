/** The status of a real agent as an operator sees it: connected, lost, and restarting by command. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/src/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import { isAlive, signal } from './harness/processes.ts';
import { Project, sqlScript } from './harness/project.ts';

/** The limit of the interface, and some seconds for a busy machine. */
const noticedSeconds = 15;
const marginSeconds = 10;

describe('the status of an agent', { timeout: 180_000 }, () => {
  let headgate: Installation;
  let client: ApiClient;
  before(async () => {
    headgate = await Installation.create();
    await headgate.start('node');
    client = headgate.client();
  });
  after(() => headgate.remove());

  const agent = async () => (await client.ask('GET', '/v1/agents')).results[0];
  const becomes = (status: string, seconds: number) =>
    waitUntil(`an agent that is ${status}`, seconds, async () => {
      const shown = await agent();
      return shown.agentStatus === status && shown;
    });

  it('is running, unknown while the agent is frozen with an open connection, and running again', async () => {
    assert.equal((await becomes('running', 30)).connected, true);
    const { pid } = await headgate.process('agent');
    signal(pid, 'SIGSTOP');
    const stopped = await becomes('unknown', noticedSeconds + marginSeconds).finally(() =>
      signal(pid, 'SIGCONT'),
    );
    assert.equal(stopped.connected, false);
    assert.equal((await becomes('running', 30)).connected, true);
  });

  it('after a restart command, a new process takes work', async () => {
    const { agentId } = await becomes('running', 30);
    const { pid } = await headgate.process('agent');
    await client.ask('POST', `/v1/agents/${agentId}/commands`, { command: 'RESTART' });
    await waitUntil('the end of the process', 30, () => !isAlive(pid));
    await becomes('running', 30);
    assert.notEqual((await headgate.process('agent')).pid, pid);
    const project = await Project.create(client);
    await project.publish({ 'short.orch.yaml': sqlScript('select 1') });
    const run = await project.run('short');
    assert.equal(run.status, 'SUCCESS', run.message);
  });
});
