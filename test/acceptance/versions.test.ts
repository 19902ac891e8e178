/** Versions are promoted from environment to environment, and disabled while they run. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { ApiClient } from './harness/client.ts';
import { Project, steps } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

/** Takes seconds, not minutes, on any machine. */
const slowSql = 'select count(*) from range(30000) a, range(50000) b';

describe('a version', () => {
  let client: ApiClient;
  let project: Project;
  before(async () => {
    client = (await sharedInstallation()).client();
    project = await Project.create(client, ['dev', 'prod']);
    await project.publish({
      'load.orch.yaml': steps(
        ['Script', 'sql-script', { sqlScript: slowSql }],
        ['Load', 'file-load', { source: 'towns.csv', fileType: 'CSV', targetTable: 'towns' }],
      ),
      'towns.csv': 'name\nUlm\n',
    });
  });

  const artifacts = () => `${project.path}/artifacts`;
  const enable = (enabled: boolean) =>
    client.ask('PATCH', artifacts(), { environmentName: 'dev', versionName: '1', enabled });

  it('runs in the environment to which it was promoted', async () => {
    const promotion = { versionName: '1', sourceEnvironmentName: 'dev', targetEnvironmentName: 'prod' };
    await client.ask('POST', `${artifacts()}/promotions`, promotion);
    const run = await project.ended(await project.start('load', 'prod'));
    assert.equal(run.status, 'SUCCESS', run.message);
  });

  it('that is disabled during an execution stays usable for that execution', async () => {
    const id = await project.start('load');
    await project.stepBegun(id, 'Script');
    await enable(false);
    const run = await project.ended(id);
    assert.equal(run.status, 'SUCCESS', run.message);
    const loaded = (await project.steps(id)).find((step) => step.name === 'Load');
    assert.equal(loaded?.result.rowCount, 1);
    await assert.rejects(project.start('load'), /artifact-not-found|has no enabled artifact version/);
    await enable(true);
    await project.start('load');
  });
});
