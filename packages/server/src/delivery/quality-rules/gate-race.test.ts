/** What changes while a version is reviewed is noticed by the transaction that takes the version. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from '@headgate/contract';
import pg from 'pg';
import { associate, loopbackAllowed } from '../../../testing/associated-project.ts';
import { requireProblem } from '../../../testing/client.ts';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { type TestProject, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';

const gitHost = await startGitHost();
after(() => gitHost.close());
const server = await startTestServer({ settings: loopbackAllowed });
const account = await server.account();
const { admin } = account;

const bad = {
  name: 'close.orch.yaml',
  content: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Close]}}
    Close: {type: sql-script, parameters: {sqlScript: "update orders set state = 1"}}
`,
};
const notes = { name: 'notes.txt', content: 'no pipeline' };

const countVersions = async (project: TestProject, name: string) =>
  (await admin.get<Page<unknown>>(`${project.path}/artifacts?environmentName=${name}`)).body.total;

/**
 * Holds a table from the time at which the request reads it, between the read of its gate and its transaction, and runs
 * `change` meanwhile.
 */
async function during<Result>(
  table: string,
  request: () => Promise<Result>,
  change: (client: pg.Client) => Promise<unknown>,
): Promise<Result> {
  const client = new pg.Client(server.database.connection);
  await client.connect();
  try {
    await client.query(`begin; lock table ${table} in access exclusive mode`);
    const response = request();
    await waitUntil(`a request that waits for ${table}`, 60, async () => {
      const waiting = await server.database.query(
        `select from pg_locks where not granted and relation = '${table}'::regclass`,
      );
      return waiting.length > 0;
    });
    await change(client);
    await client.query('commit');
    return await response;
  } finally {
    await client.end();
  }
}

async function gated(environmentName: string): Promise<TestProject> {
  const project = await account.project();
  await admin.patch(`${project.path}/environments/${environmentName}`, { qualityGate: 'REQUIRED' });
  return project;
}

const promote = (project: TestProject, key: string) => () =>
  admin.post(
    `${project.path}/artifacts/promotions`,
    { versionName: 'v1', sourceEnvironmentName: 'dev', targetEnvironmentName: 'prod' },
    { headers: { 'idempotency-key': key } },
  );

test('a version that comes to the source while it is promoted is not promoted without a review', async () => {
  const project = await gated('prod');
  await admin.post(`${project.path}/environments`, { name: 'build' });
  await upload(admin, project, [bad], { environmentName: 'build' });
  const answer = await during('idempotency_record', promote(project, 'late-version'), (client) =>
    client.query(
      `insert into artifact_version (account_id, project_id, environment_name, version_name, manifest_digest, provider, enabled,
         created_by, created_at, deployed_at, ignored_pipelines)
       select account_id, project_id, 'dev', version_name, manifest_digest, provider, enabled, created_by, created_at, deployed_at,
         ignored_pipelines
       from artifact_version where project_id = $1 and environment_name = 'build'`,
      [project.projectId],
    ),
  );
  requireProblem(answer, 404, 'artifact-not-found');
  assert.equal(await countVersions(project, 'prod'), 0);
  requireProblem(await promote(project, 'again')(), 422, 'quality-gate-refused');
});

test('another version of the same name is not promoted in the place of the reviewed one', async () => {
  const project = await gated('prod');
  await admin.post(`${project.path}/environments`, { name: 'build' });
  await upload(admin, project, [bad], { environmentName: 'build' });
  await upload(admin, project, [notes]);
  const answer = await during('idempotency_record', promote(project, 'other-version'), (client) =>
    client.query(
      `update artifact_version set manifest_digest = (
         select manifest_digest from artifact_version where project_id = $1 and environment_name = 'build')
       where project_id = $1 and environment_name = 'dev'`,
      [project.projectId],
    ),
  );
  requireProblem(answer, 409, 'concurrent-change');
  assert.equal(await countVersions(project, 'prod'), 0);
});

const raiseGate = (project: TestProject, name: string) => (client: pg.Client) =>
  client.query(`update environment set quality_gate = 'REQUIRED' where project_id = $1 and name = $2`, [
    project.projectId,
    name,
  ]);

test('a gate that is raised during a promotion counts', async () => {
  const project = await account.project();
  await upload(admin, project, [bad]);
  const promotion = promote(project, 'raised');
  const answer = await during('idempotency_record', promotion, raiseGate(project, 'prod'));
  requireProblem(answer, 409, 'concurrent-change');
  assert.equal(await countVersions(project, 'prod'), 0);
});

test('a gate that is raised during an upload counts', async () => {
  const project = await account.project();
  const send = () => upload(admin, project, [bad]);
  // The files are written before the transaction.
  const answer = await during('blob_object', send, raiseGate(project, 'dev'));
  requireProblem(answer, 409, 'concurrent-change');
  assert.equal(await countVersions(project, 'dev'), 0);
  requireProblem(await send(), 422, 'quality-gate-refused');
});

test('a gate that is raised during a publication from Git counts', async () => {
  const project = await account.project();
  const repository = gitHost.addRepository('acme/raced.git', { writers: ['t0ken'] });
  await associate(admin, project, { cloneUrl: repository.cloneUrl, token: 't0ken' });
  commitFiles(repository.folder, { files: { [bad.name]: bad.content } });
  const publish = () =>
    admin.post(`${project.path}/artifacts/from-git`, { environmentName: 'dev', branch: 'main' });
  const answer = await during('blob_object', publish, raiseGate(project, 'dev'));
  requireProblem(answer, 409, 'concurrent-change');
  assert.equal(await countVersions(project, 'dev'), 0);
  requireProblem(await publish(), 422, 'quality-gate-refused');
});
