/** The status of a real agent as an operator sees it: connected, lost, and restarting by command. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import { isAlive, signal } from './harness/processes.ts';
import { Project, sqlScript } from './harness/project.ts';

/** For a busy machine; the tests of the slice move a clock over the limit of 15 s. */
const withinSeconds = 120;

describe('the status of an agent', () => {
  let headgate: Installation;
  let client: ApiClient;
  before(async () => {
    headgate = await Installation.create();
    await headgate.start('node');
    client = headgate.client();
  });
  after(() => headgate.remove());

  const agent = async () => (await client.ask('GET', '/v1/agents')).results[0];
  const becomes = (status: string) =>
    waitUntil(`an agent that is ${status}`, withinSeconds, async () => {
      const shown = await agent();
      return shown.agentStatus === status && shown;
    });

  it('is running, unknown while the agent is frozen with an open connection, and running again', async () => {
    assert.equal((await becomes('running')).connected, true);
    const { pid } = await headgate.process('agent');
    signal(pid, 'SIGSTOP');
    const stopped = await becomes('unknown').finally(() => signal(pid, 'SIGCONT'));
    assert.equal(stopped.connected, false);
    assert.equal((await becomes('running')).connected, true);
  });

  it('after a restart command, a new process takes work', async () => {
    const { agentId } = await becomes('running');
    const { pid } = await headgate.process('agent');
    await client.ask('POST', `/v1/agents/${agentId}/commands`, { command: 'RESTART' });
    await waitUntil('the end of the process', 120, () => !isAlive(pid));
    await becomes('running');
    assert.notEqual((await headgate.process('agent')).pid, pid);
    const project = await Project.create(client);
    await project.publish({ 'short.orch.yaml': sqlScript('select 1') });
    const run = await project.run('short');
    assert.equal(run.status, 'SUCCESS', run.message);
  });
});
