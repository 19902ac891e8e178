/** Changes of AI tasks that were committed, beside those that were not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChangedTask, files, noteOf, readMain } from '../../../testing/changed-task.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const prepare = (hosted: boolean, task?: object) => createChangedTask(server, hosted, task);

test('a conflict of changes without a branch names no branch', async () => {
  const scene = await prepare(true);
  await scene.write('write_file', noteOf('new\n'));
  await scene.commitAsPerson([noteOf('by a person\n')]);
  const { detail } = requireProblem(await scene.merge(), 409, 'ai-task-merge-conflict');
  assert.match(detail, /Nothing was merged. Discard the changes and send the task a message/);
});

test('commits on the source branch are merged already, also when others have gone on from there', async () => {
  const scene = await prepare(true, { generateBranch: false });
  await scene.write('write_file', noteOf('new\n'));
  const { text } = await scene.call('commit', { message: 'New note' });
  assert.match(text, /to the branch "main". It is the source branch, so there is nothing to merge.$/);
  await scene.commitAsPerson([noteOf('by a person\n')]);
  assert.equal((await scene.merge()).status, 200);
  assert.equal(await readMain(scene, 'notes.md'), 'by a person\n');
});

test('a merge from a branch of others brings what was shown, and not their commits', async () => {
  const scene = await prepare(true, { generateBranch: false, targetBranchName: 'of-ann' });
  const { account, project } = scene;
  await account.admin.post(`${project.path}/repositories/branches`, { name: 'of-ann' });
  await scene.commitAsPerson([{ path: 'secret-plan.txt', content: 'by Ann\n' }], 'of-ann');
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  assert.deepEqual(
    (await scene.changes()).files.map(({ path }) => path),
    ['notes.md'],
  );
  const merged = await scene.merge();
  assert.equal(merged.status, 200, merged.text);
  assert.equal(await readMain(scene, 'notes.md'), 'new\n');
  const other = `${project.path}/repositories/files/content?branch=main&path=secret-plan.txt`;
  requireProblem(await account.admin.get(other), 404, 'repository-file-not-found');
});

test('a merge from a branch of others stops at a file that they changed too', async () => {
  const scene = await prepare(true, { generateBranch: false, targetBranchName: 'of-ann' });
  await scene.account.admin.post(`${scene.project.path}/repositories/branches`, { name: 'of-ann' });
  await scene.commitAsPerson([noteOf('by Ann\n')], 'of-ann');
  await scene.write('write_file', noteOf('by Ann\nand more\n'));
  await scene.write('commit', { message: 'New note' });
  requireProblem(await scene.merge(), 409, 'ai-task-merge-conflict');
  assert.equal(await readMain(scene, 'notes.md'), files['notes.md']);
  requireProblem(await scene.discard(), 409, 'ai-task-changes-committed');
});

test('commits on the source branch cannot be discarded; edits can', async () => {
  const scene = await prepare(true, { generateBranch: false });
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  const refused = requireProblem(await scene.discard(), 409, 'ai-task-changes-committed');
  assert.match(refused.detail, /"main"/);
  assert.equal((await scene.changes()).state, 'OPEN');
  const other = await prepare(true, { generateBranch: false });
  await other.write('write_file', noteOf('new\n'));
  assert.equal((await other.discard()).status, 200);
  assert.equal(await readMain(other, 'notes.md'), files['notes.md']);
});

test('protected branches move forward by a merge, and are neither rewritten nor deleted', async () => {
  const scene = await prepare(true, { targetBranchName: 'of-task' });
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  const protect = (...branches: string[]) =>
    server.database.query('update repository set protected_branches = $2 where project_id = $1', [
      scene.project.projectId,
      branches,
    ]);
  await protect('main', 'of-task');
  requireProblem(await scene.discard(), 422, 'branch-is-protected');
  assert.deepEqual([(await scene.changes()).state, (await scene.changes()).filesTotal], ['OPEN', 1]);
  assert.equal((await scene.merge()).status, 200);
  assert.equal(await readMain(scene, 'notes.md'), 'new\n');
});

test('a merge leaves out what was committed and then taken back in the edits', async () => {
  const scene = await prepare(true);
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('write_file', { path: 'old.txt', content: 'unwanted\n' });
  await scene.write('commit', { message: 'Both' });
  await scene.write('write_file', { path: 'old.txt', content: files['old.txt'] });
  assert.deepEqual(
    (await scene.changes()).files.map(({ path }) => path),
    ['notes.md'],
  );
  assert.equal((await scene.merge()).status, 200);
  assert.equal(await readMain(scene, 'notes.md'), 'new\n');
  assert.equal(await readMain(scene, 'old.txt'), files['old.txt']);
});

test('edits after a commit to the source branch itself are no conflict with that commit', async () => {
  const scene = await prepare(true, { generateBranch: false });
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  await scene.write('write_file', noteOf('newer\n'));
  const merged = await scene.merge();
  assert.equal(merged.status, 200, merged.text);
  assert.equal(await readMain(scene, 'notes.md'), 'newer\n');
});

test('edits that take back a commit to the source branch itself are shown and merged', async () => {
  const scene = await prepare(true, { generateBranch: false });
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  await scene.write('write_file', noteOf(files['notes.md']));
  assert.match((await scene.changes()).patch, /-new\n\+one\n/);
  assert.equal((await scene.merge()).status, 200);
  assert.equal(await readMain(scene, 'notes.md'), files['notes.md']);
});
