/** Scripts as the local agent runs them, under its own user if root started the server. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { isRunning, makeMark } from '../../packages/agent/src/scripts/script-fixture.ts';
import { waitUntil } from '../../packages/server/src/testing/waiting.ts';
import { Project, pipelineFile, steps } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

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
      Show: { type: 'bash-script', parameters: { script: 'id -un; echo "found $found"; ls /' } },
    },
    {
      found: {
        metadata: { type: 'NUMBER', description: '', scope: 'COPIED', visibility: 'PUBLIC' },
        defaultValue: '0',
      },
    },
  ),
  'long.orch.yaml': steps(['Wait', 'bash-script', { script: `setsid sleep ${mark} & sleep ${mark}` }]),
};

describe('scripts of the local agent', () => {
  let project: Project;
  before(async () => {
    const headgate = await sharedInstallation();
    project = await Project.create(headgate.client());
    await project.publish(files);
  });

  it('run SQL, change variables, and see nothing of the machine', async () => {
    const run = await project.run('count', 'dev');
    const [show] = (await project.steps(run.pipelineExecutionId)).filter(({ name }) => name === 'Show');
    assert.equal(run.status, 'SUCCESS', run.message);
    const [user, found, ...seen] = show?.result.message?.split('\n') ?? [];
    assert.deepEqual([user, found], ['script', 'found 1']);
    assert.deepEqual(
      seen.filter((name) => !/^(?:bin|dev|etc|headgate|lib\w*|proc|sbin|tmp|usr)$/.test(name)),
      [],
    );
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
