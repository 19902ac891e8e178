/** Scripts as the local agent runs them, under its own user if root started the server. */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { isRunning, makeMark } from '../../packages/agent/src/scripts/script-fixture.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { foreignFile, type Installation } from './harness/installation.ts';
import { Project, pipelineFile, steps } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

/** Empty if the process has ended. */
function listOpenFiles(pid: number): string[] {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).map((name) => readlinkSync(`${folder}/${name}`));
  } catch {
    return [];
  }
}

const mark = makeMark();
const files = {
  'count.orch.yaml': pipelineFile(
    'orchestration',
    {
      Start: { type: 'start', transitions: { unconditional: ['Fill'] } },
      Fill: {
        type: 'sql-script',
        parameters: { sqlScript: "create table city as select 'Oslo' as name" },
        transitions: { success: ['Count'] },
      },
      Count: {
        type: 'python-pushdown',
        parameters: {
          pythonScript:
            'context.updateVariable("found", session.sql("select count(*) as n from city").collect()[0].N)',
        },
        transitions: { success: ['Show'] },
      },
      Show: { type: 'bash-script', parameters: { script: 'id -un; echo "found $found"; cat <&77; ls /' } },
    },
    {
      found: {
        metadata: { type: 'NUMBER', description: '', scope: 'COPIED', visibility: 'PUBLIC' },
        defaultValue: '0',
      },
    },
  ),
  'long.orch.yaml': steps(['Wait', 'bash-script', { script: `nohup sleep ${mark} & sleep ${mark}` }]),
};

describe('scripts of the local agent', () => {
  let headgate: Installation;
  let project: Project;
  before(async () => {
    headgate = await sharedInstallation();
    project = await Project.create(headgate.client());
    await project.publish(files);
  });

  it('run SQL, change variables, and see nothing of the machine', async () => {
    const run = await project.run('count', 'dev');
    const [show] = (await project.steps(run.pipelineExecutionId)).filter(({ name }) => name === 'Show');
    assert.equal(run.status, 'SUCCESS', run.message);
    const [user, found, ...seen] = show?.result.message?.split('\n') ?? [];
    assert.deepEqual([user, found], ['script', 'found 1']);
    assert.match(seen.join('\n'), /77: Bad file descriptor/);
    assert.deepEqual(
      seen.filter((name) => !/77: Bad file|^(?:bin|dev|etc|headgate|lib\w*|proc|sbin|tmp|usr)$/.test(name)),
      [],
    );
  });

  it('get no descriptor of whoever started the server, and nor does any other process', async () => {
    const kinds = new Set<string>();
    for (const { pid, kind } of headgate.processes()) {
      if (['npm', 'npm shell', 'bootstrap'].includes(kind)) continue;
      const open = listOpenFiles(pid);
      assert.ok(!open.includes(foreignFile), `${kind} ${pid}`);
      if (open.length > 0) kinds.add(kind);
    }
    for (const kind of ['server', 'agent', 'run', 'warehouse', 'postmaster'])
      assert.ok(kinds.has(kind), kind);
  });

  it('die with a run that is cancelled by force, and the next run works', async () => {
    const id = await project.start('long');
    await waitUntil('the script', 120, () => isRunning(mark));
    await project.cancel(id, true);
    await waitUntil('the end of the script', 120, () => !isRunning(mark));
    assert.equal((await project.ended(id)).status, 'CANCELLED');
    await project.publish(
      { 'next.orch.yaml': steps(['Say', 'bash-script', { script: 'echo next' }]) },
      'dev',
      '2',
    );
    assert.equal((await project.run('next', 'dev')).status, 'SUCCESS');
  });
});
