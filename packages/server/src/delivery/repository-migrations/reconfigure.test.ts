/** RECONFIGURE points a project at a repository that has its branches already. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { MigrationPreflight } from '@headgate/contract';
import { commitFiles, runGit, startGitHost } from '../../../testing/git-host.ts';
import {
  createMigrationScene,
  fillRepository,
  listRefs,
  loopbackHosts,
  type MigrationScene,
} from '../../../testing/migration-scene.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
after(() => host.close());

const reconfigure = { body: { mode: 'RECONFIGURE' } };

function copy({ source, target }: MigrationScene): void {
  runGit(target.folder, ['fetch', '--quiet', source.folder, '+refs/*:refs/*']);
}

test('a target with every branch is taken, and nothing is copied', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  copy(scene);
  scene.target.git('tag', '-d', 'v1');
  commitFiles(scene.target.folder, { branch: 'dev', files: { more: 'more' } });
  const { status, detail } = await scene.migrate(reconfigure);
  assert.deepEqual([status, detail], ['COMPLETED', undefined]);
  assert.ok(!listRefs(scene.target).some((ref) => ref.endsWith('refs/tags/v1')));
  assert.equal(await scene.readCloneUrl(), scene.target.cloneUrl);
});

test('a missing branch fails it by name', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  copy(scene);
  scene.target.git('branch', '-D', 'dev');
  const { status, code, detail } = await scene.migrate(reconfigure);
  assert.deepEqual([status, code], ['FAILED', 'missing-branches']);
  assert.match(detail ?? '', /The target lacks the branch dev\. RECONFIGURE copies nothing/);
  assert.equal(await scene.readCloneUrl(), scene.source.cloneUrl);
});

test('a branch that lacks commits of the source is told', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  copy(scene);
  commitFiles(scene.source.folder, { branch: 'dev', files: { newer: 'newer' } });
  const { status, detail } = await scene.migrate(reconfigure);
  assert.equal(status, 'COMPLETED');
  assert.equal(detail, 'In the target these branches lack commits of the source: dev. They were not copied.');
});

test('a dry run finds the same, and changes nothing', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const answer = await scene.account.admin.post<MigrationPreflight>(`${scene.path}?dryRun=true`, {
    mode: 'RECONFIGURE',
    targetCloneUrl: scene.target.cloneUrl,
    targetProvider: 'github',
    targetName: 'acme/target',
  });
  assert.equal(answer.status, 200);
  const { canMigrate, findings, sourceBranches, sourceTags, targetBranches } = answer.body;
  assert.deepEqual([canMigrate, sourceBranches, sourceTags, targetBranches], [false, 2, 2, 0]);
  assert.deepEqual(
    findings.map(({ level, code }) => [level, code]),
    [['error', 'missing-branches']],
  );
  const rows = await server.database.query('select 1 from repository_migration where project_id = $1', [
    scene.project.projectId,
  ]);
  assert.deepEqual(rows, []);
});
