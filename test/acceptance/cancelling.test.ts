/** Cancelling a running execution, gracefully and by force. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { impatientInstallation } from './harness/impatient-installation.ts';
import type { Installation } from './harness/installation.ts';
import { isAlive } from './harness/processes.ts';
import { endlessSql, Project, steps } from './harness/project.ts';

const afterwards: [string, string, Record<string, unknown>] = [
  'Afterwards',
  'sql-script',
  { sqlScript: 'create table afterwards (a int)' },
];
/** Still runs when it is cancelled, and takes seconds, not minutes, on any machine. */
const slowSql = 'select count(*) from range(30000) a, range(150000) b';

describe('a running execution', () => {
  let headgate: Installation;
  let project: Project;
  before(async () => {
    headgate = await impatientInstallation();
    project = await Project.create(headgate.client());
    await project.publish({
      'endless.orch.yaml': steps(['Script', 'sql-script', { sqlScript: endlessSql }], afterwards),
      'slow.orch.yaml': steps(['Script', 'sql-script', { sqlScript: slowSql }], afterwards),
    });
  });

  async function running(pipelineName: string): Promise<string> {
    const id = await project.start(pipelineName);
    await project.stepRunning(id, 'Script');
    return id;
  }

  /** Whether a process of runs has ended that was there before. The others are spare. */
  function noteRunProcesses(): () => boolean {
    const before = headgate.processes('run').map(({ pid }) => pid);
    return () => before.some((pid) => !isAlive(pid));
  }

  it('that is cancelled by force ends at once: its process is killed', async () => {
    const id = await running('endless');
    const hasKilled = noteRunProcesses();
    assert.equal((await project.cancel(id, true)).status, 200);
    const run = await project.ended(id);
    assert.equal(run.status, 'CANCELLED', run.message);
    assert.match(run.message ?? '', /with force/);
    assert.doesNotMatch(run.message ?? '', /did not confirm/, 'its time limit');
    await waitUntil('the end of its process', 120, hasKilled);
    const again = await project.cancel(id, true);
    assert.deepEqual([again.status, again.body.code], [409, 'execution-ended']);
  });

  it('that is cancelled gracefully finishes its running step and starts no other', async () => {
    const id = await running('slow');
    assert.equal((await project.cancel(id, false)).status, 200);
    assert.equal(await project.status(id), 'CANCELLING');
    const run = await project.ended(id);
    assert.equal(run.status, 'CANCELLED', run.message);
    const found = (await project.steps(id)).map((step): [string, string] => [step.name, step.result.status]);
    assert.equal(new Map(found).get('Script'), 'SUCCESS');
    assert.ok(['SKIPPED', undefined].includes(new Map(found).get('Afterwards')));
  });

  it('that continues after a graceful cancel is ended by a forced one', async () => {
    const id = await running('endless');
    assert.equal((await project.cancel(id, false)).status, 200);
    assert.equal((await project.cancel(id, true)).status, 200);
    assert.equal((await project.ended(id)).status, 'CANCELLED');
  });

  it('that is cancelled while its agent is frozen is CANCELLED at its time limit', async () => {
    const id = await running('endless');
    const hasKilled = noteRunProcesses();
    const agent = await headgate.process('agent');
    process.kill(agent.pid, 'SIGSTOP');
    try {
      assert.equal((await project.cancel(id, true)).status, 200);
      const run = await project.ended(id);
      assert.equal(run.status, 'CANCELLED');
      assert.match(run.message ?? '', /agent "local" did not confirm/);
    } finally {
      process.kill(agent.pid, 'SIGCONT');
    }
    await waitUntil('the end of its process', 120, hasKilled);
  });
});
