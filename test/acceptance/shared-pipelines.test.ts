/**
 * Shared pipelines over the public interface: published once, run by two projects, disabled during a run,
 * replaced.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { ApiClient } from './harness/client.ts';
import { exampleFiles, publishShared } from './harness/examples.ts';
import { checkout } from './harness/installation.ts';
import { Project, steps } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

const details = '/v1/shared-pipelines/artifacts/details?sharedPipelineIdPrefix=Checks';
/** Takes about a second on a fast machine. */
const slowSql = 'select count(*) from range(30000) a, range(15000) b where a.range + b.range = 7';

const call = (versionName: string): [string, string, Record<string, unknown>] => [
  'Check',
  'run-shared-pipeline',
  {
    sharedPipelineIdPrefix: 'Checks',
    versionName,
    sharedPipeline: 'Table is filled',
    setScalarVariables: [['tableName', 'things']],
  },
];
const things: [string, string, Record<string, unknown>] = [
  'Things',
  'sql-script',
  { sqlScript: 'create or replace table things as select 1 as thing' },
];

interface Example {
  environments: string[];
  variables: { name: string; type: string; behaviour: string; value: unknown }[];
  pipelineName: string;
  versionName: string;
}

describe('shared pipelines', () => {
  let client: ApiClient;
  let project: Project;

  const publish = async (versionName: string, files = exampleFiles('checks')) => {
    const answer = await publishShared(client, files, 'Checks', versionName);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
  };
  const enable = (versionName: string, enabled: boolean) =>
    client.ask('PATCH', '/v1/shared-pipelines/artifacts', {
      sharedPipelineIdPrefix: 'Checks',
      versionName,
      enabled,
    });
  const checked = async (id: string) => (await project.steps(id)).find((step) => step.name === 'Check');

  before(async () => {
    client = (await sharedInstallation()).client();
    await publish('1.0.0');
    project = await Project.create(client);
    await project.publish({
      'latest.orch.yaml': steps(things, call('[Latest]')),
      'pinned.orch.yaml': steps(things, call('1.0.0')),
      'slow.orch.yaml': steps(things, ['Wait', 'sql-script', { sqlScript: slowSql }], call('[Latest]')),
    });
  });

  for (const example of ['weather', 'flights']) {
    it(`runs for the project ${example} of the examples`, async () => {
      const file = join(checkout, 'examples', example, 'project.json');
      const about: Example = JSON.parse(readFileSync(file, 'utf8'));
      const made = await Project.create(client);
      for (const { name, type, behaviour, value } of about.variables) {
        await client.ask('POST', `${made.path}/variables`, { name, type, behaviour, value });
      }
      const { ignoredResources } = await made.publish(exampleFiles(example), 'dev', about.versionName);
      assert.deepEqual(ignoredResources, []);
      const run = await made.run(about.pipelineName, 'dev');
      assert.equal(run.status, 'SUCCESS', run.message);
      const found = await made.steps(run.pipelineExecutionId);
      const check = found.find((step) => step.childPipeline?.name === 'Checks/Table is filled.orch.yaml');
      assert.equal(check?.result.message, 'version "1.0.0" of the shared pipelines "Checks"');
      const inner = await made.steps(check?.childPipeline?.id ?? '');
      assert.ok(
        inner.some((step) => step.childPipeline?.name === 'Checks/Inner/Write down a check.orch.yaml'),
      );
    });
  }

  it('finishes a run when its version is disabled; the next run names the missing version', async () => {
    const id = await project.start('slow');
    await project.stepBegun(id, 'Wait');
    assert.deepEqual(await enable('1.0.0', false), { enabled: false, versionName: '1.0.0' });
    const run = await project.ended(id);
    assert.equal(run.status, 'SUCCESS', run.message);
    assert.match((await checked(id))?.result.message ?? '', /version "1\.0\.0"/);

    assert.equal((await client.call('GET', details)).status, 404);
    for (const [pipeline, message] of [
      ['latest', /component "Check": .*"Checks" had no enabled version: enable or publish one/],
      ['pinned', /component "Check": .*version "1\.0\.0" .* was disabled: enable it/],
    ] as const) {
      const failed = await project.run(pipeline);
      assert.equal(failed.status, 'FAILED');
      assert.match(failed.message ?? '', message);
      assert.deepEqual(await project.steps(failed.pipelineExecutionId), []);
    }
  });

  it('runs again when the version is enabled, and takes a new version as the latest', async () => {
    await enable('1.0.0', true);
    assert.equal((await project.run('latest')).status, 'SUCCESS');
    await publish('2.0.0', {
      'Table is filled.orch.yaml': steps(['Nothing', 'sql-script', { sqlScript: '-' }]),
    });
    assert.equal((await client.ask('GET', details)).artifactDetails.versionName, '2.0.0');
    const latest = await project.run('latest');
    assert.equal(latest.status, 'FAILED');
    assert.match(latest.message ?? '', /the variable "tableName"|no variable "tableName"/);
    const pinned = await project.run('pinned');
    assert.equal(pinned.status, 'SUCCESS', pinned.message);
    const again = await publishShared(client, exampleFiles('checks'), 'Checks', '2.0.0');
    assert.deepEqual([again.status, again.body.code], [409, 'shared-version-exists']);
  });
});
