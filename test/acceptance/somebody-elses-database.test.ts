/** DATABASE_URL in place of the embedded PostgreSQL. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../packages/server/src/main/embedded-postgres.ts';
import { decidePlaces } from '../../packages/server/src/main/places.ts';
import { checkout, Installation, isRoot } from './harness/installation.ts';
import { Project, sqlScript } from './harness/project.ts';

describe('a Headgate on somebody else’s database', { timeout: 120_000 }, () => {
  let database: EmbeddedPostgres;
  let theirs: Installation;
  let headgate: Installation;
  before(async () => {
    // Only its folders are used: nothing is started there but PostgreSQL.
    theirs = await Installation.create();
    mkdirSync(join(theirs.folder, 'state'));
    if (isRoot) chmodSync(join(theirs.folder, 'state'), 0o711);
    const { postgres } = decidePlaces({
      dataDirectory: join(theirs.folder, 'theirs'),
      stateDirectory: join(theirs.folder, 'state'),
      checkout,
      embeddedPostgres: true,
      localAgent: false,
    });
    assert.ok(postgres);
    const log = { info: () => {}, warn: console.error, error: console.error };
    database = await startEmbeddedPostgres({ ...postgres, log });
    headgate = await Installation.create({ environment: { DATABASE_URL: database.connectionUrl() } });
  });
  after(async () => {
    await headgate.remove();
    await database.stop();
    await theirs.remove();
  });

  it('starts no PostgreSQL of its own, runs a pipeline, and finds its data at the next start', async () => {
    const first = await headgate.start('npm');
    assert.deepEqual(headgate.processes('postmaster', 'supervisor'), []);
    const client = headgate.client();
    const project = await Project.create(client);
    await project.publish({ 'main.orch.yaml': sqlScript('select 1') });
    const run = await project.run('main');
    assert.equal(run.status, 'SUCCESS', run.message);
    assert.equal(await headgate.interrupt(first), 0);
    assert.deepEqual(headgate.processes(), []);

    const second = await headgate.start('npm');
    assert.equal((await project.execution(run.pipelineExecutionId)).status, 'SUCCESS');
    assert.equal(await headgate.interrupt(second), 0);
  });
});
