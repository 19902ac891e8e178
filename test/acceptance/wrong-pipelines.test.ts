/**
 * Wrong pipelines end FAILED before the first step, with file, line and remedy.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { ApiClient } from './harness/client.ts';
import { Project, pipelineFile, steps } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

const effect = { type: 'sql-script', parameters: { sqlScript: 'create table effect as select 1 as n' } };
/** First a step with an effect, then `Bad`, whose failure is handled. */
const around = (bad: object) =>
  pipelineFile('orchestration', {
    Start: { type: 'start', transitions: { unconditional: ['Effect'] } },
    Effect: { ...effect, transitions: { success: ['Bad'] } },
    Bad: { type: 'and', transitions: { failure: ['Handled'] }, ...bad },
    Handled: { type: 'end-success' },
  });

describe('a wrong pipeline', () => {
  let client: ApiClient;
  let project: Project;

  before(async () => {
    client = (await sharedInstallation()).client();
    project = await Project.create(client);
    await project.publish({
      'dangling.orch.yaml': around({ type: 'or', transitions: { success: ['Handld'] } }),
      'unknown.orch.yaml': around({ type: 'sql-scrip' }),
      'calls-broken.orch.yaml': around({
        type: 'run-orchestration',
        parameters: { orchestrationJob: 'broken' },
      }),
      'broken.orch.yaml': 'type: orchestration\npipeline: [\n',
      'circle.orch.yaml': around({ type: 'or', transitions: { success: ['Effect'] } }),
      'empty.orch.yaml': 'type: orchestration\nversion: "1.0"\npipeline: {}\n',
      'no-effect.orch.yaml': steps(['Count', 'assert-table', { tableName: 'effect', exists: 'No' }]),
    });
  });

  for (const [name, message] of [
    ['dangling', /dangling\.orch\.yaml, line 1, component "Bad": .*"Handld".*did you mean "Handled"\?/],
    ['unknown', /unknown\.orch\.yaml, line 1, component "Bad": .*"sql-scrip".*did you mean "sql-script"\?/],
    [
      'calls-broken',
      /component "Bad": the called pipeline broken\.orch\.yaml cannot be read: line 2, column \d+/,
    ],
    ['circle', /circle\.orch\.yaml, line 1, .*endless cycle: Effect → Bad → Effect/],
  ] as const) {
    it(`ends FAILED before its first step: ${name}`, async () => {
      const run = await project.run(name);
      assert.equal(run.status, 'FAILED');
      assert.match(run.message ?? '', message);
      assert.deepEqual(await project.steps(run.pipelineExecutionId), []);
    });
  }

  it('has no effect; an empty pipeline succeeds', async () => {
    for (const name of ['no-effect', 'empty']) {
      const run = await project.run(name);
      assert.equal(run.status, 'SUCCESS', run.message);
    }
  });

  it('that was ignored at upload cannot be started, with the reason', async () => {
    const path = `${project.path}/pipeline-executions`;
    const answer = await client.call('POST', path, {
      body: { pipelineName: 'broken', environmentName: 'dev' },
    });
    assert.equal(answer.status, 422);
    assert.equal(answer.body.code, 'pipeline-unreadable');
    assert.match(
      answer.body.detail,
      /"broken\.orch\.yaml", because the file could not be read when it was uploaded: line 2/,
    );
  });

  it('includes one that needs an unsupported warehouse', async () => {
    const expected = { name: 'Elsewhere', warehouse: 'DATABRICKS', agentDeploymentType: 'HYBRID' };
    const { projectId } = await client.ask('POST', '/v1/projects', expected);
    const elsewhere = Project.open(client, projectId);
    await client.ask('POST', `${elsewhere.path}/environments`, { name: 'dev' });
    await elsewhere.publish({
      'sql.orch.yaml': steps(['Script', 'sql-script', { sqlScript: 'select 1' }]),
      'none.orch.yaml': steps(['Or', 'or', {}]),
    });
    const run = await elsewhere.run('sql');
    assert.equal(run.status, 'FAILED');
    assert.match(run.message ?? '', /sql\.orch\.yaml, line 1, component "Script": .*DUCKDB.*DATABRICKS/);
    assert.equal((await elsewhere.run('none')).status, 'SUCCESS');
  });
});
