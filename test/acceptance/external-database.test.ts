/** DATABASE_URL instead of the embedded PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createEmptyDatabase, type TestDatabase } from '../../packages/server/testing/database.ts';
import { Installation } from './harness/installation.ts';
import { Project, sqlScript } from './harness/project.ts';

describe('a server with DATABASE_URL', () => {
  let database: TestDatabase;
  let headgate: Installation;
  before(async () => {
    // Only its folders are used; only PostgreSQL starts there.
    database = await createEmptyDatabase();
    headgate = await Installation.create({ environment: { DATABASE_URL: database.url } });
  });
  after(async () => {
    await headgate.remove();
    await database.drop();
  });

  it('starts no PostgreSQL, runs a pipeline, and has its data at the next start', async () => {
    const first = await headgate.start('node');
    assert.deepEqual(headgate.processes('postmaster', 'supervisor'), []);
    const client = headgate.client();
    const project = await Project.create(client);
    await project.publish({ 'main.orch.yaml': sqlScript('select 1') });
    const run = await project.run('main');
    assert.equal(run.status, 'SUCCESS', run.message);
    assert.equal(await headgate.interrupt(first), 0);
    await headgate.gone();

    headgate.set({ HEADGATE_LOCAL_AGENT: 'off' });
    const second = await headgate.start('node');
    assert.equal((await project.execution(run.pipelineExecutionId)).status, 'SUCCESS');
    assert.equal(await headgate.interrupt(second), 0);
  });
});
