/** Commits of a task: to its branch, as a proposal, and what a repeated call finds. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { createToolScene, type ToolScene } from '../../../testing/tool-scene.ts';
import type { ToolResult } from './tool/tool.ts';

const server = await startTestServer();
const files = { 'a.txt': 'one\n', 'b.txt': 'two\n' };
const done = ({ outcome, text }: ToolResult): string => {
  assert.equal(outcome, 'DONE', text);
  return text;
};
const failed = ({ outcome, text }: ToolResult): string => {
  assert.equal(outcome, 'FAILED', text);
  return text;
};

async function readBranch({ account, project }: ToolScene, branch: string) {
  const query = new URLSearchParams({ branch });
  const path = `${project.path}/repositories/commits?${query}`;
  const { results } = (await account.admin.get<{ results: { message: string; commitId: string }[] }>(path))
    .body;
  return results.map(({ message }) => message.trim());
}

async function listBranches({ account, project }: ToolScene): Promise<string[]> {
  const path = `${project.path}/repositories/branches`;
  const { results } = (await account.admin.get<{ results: { name: string }[] }>(path)).body;
  return results.map(({ name }) => name);
}

const readCopy = async ({ taskId }: ToolScene) => {
  const [row] = await server.database.query('select * from ai_working_copy where task_id = $1', [taskId]);
  return row ?? assert.fail('no copy');
};

test('edits end as a commit on a branch of the task, and later ones on the same branch', async () => {
  const scene = await createToolScene(server, { files, hosted: true });
  const { call, taskId } = scene;
  assert.match(failed(await call('commit', { message: 'nothing' })), /no edits/);
  done(await call('write_file', { path: 'c.txt', content: 'three\n' }));
  done(await call('delete_file', { path: 'b.txt' }));
  const branch = `ai/task-${taskId.slice(-12)}`;
  assert.match(done(await call('commit', { message: 'Add c' })), new RegExp(`to the branch "${branch}"`));
  assert.deepEqual(await readBranch(scene, branch), ['Add c', 'first']);
  assert.doesNotMatch(done(await call('list_files')), /b.txt|not committed/);
  done(await call('write_file', { path: 'c.txt', content: 'four\n' }));
  done(await call('commit', { message: 'Change c' }));
  assert.deepEqual(await readBranch(scene, branch), ['Change c', 'Add c', 'first']);
  assert.deepEqual(await readBranch(scene, 'main'), ['first']);
});

test('a call that is made again after a crash commits once', async () => {
  const scene = await createToolScene(server, { files, hosted: true });
  const { call, ask } = scene;
  done(await call('write_file', { path: 'c.txt', content: 'three\n' }));
  const callId = randomUUID();
  const { shownDigest } = await ask('commit', { message: 'Add c' });
  const commit = () => call('commit', { message: 'Add c' }, { callId, shownDigest });
  const first = done(await commit());
  assert.equal(done(await commit()), first);
  const [branch = ''] = (await listBranches(scene)).filter((name) => name !== 'main');
  // As if the server had died before it noted the commit, and before the answer was stored.
  const { commit_id: made } = await readCopy(scene);
  const undo = `update ai_working_copy set commit_id = null, committed_by_call = null where task_id = $1`;
  await server.database.query(undo, [scene.taskId]);
  await server.database.query('delete from idempotency_record where account_id = $1', [
    scene.account.accountId,
  ]);
  done(await call('write_file', { path: 'c.txt', content: 'three\n' }));
  assert.equal(done(await commit()), first);
  assert.equal((await readCopy(scene)).commit_id, made);
  assert.deepEqual(await readBranch(scene, branch), ['Add c', 'first']);
  assert.equal((await listBranches(scene)).length, 2);
});

test('a name that is taken gets a number; a branch that exists is continued if none is to be generated', async () => {
  const task = { targetBranchName: 'feature' };
  const scene = await createToolScene(server, { files, hosted: true, task });
  const { call, account, project } = scene;
  await account.admin.post(`${project.path}/repositories/branches`, { name: 'feature' });
  done(await call('write_file', { path: 'c.txt', content: 'three\n' }));
  assert.match(done(await call('commit', { message: 'Add c' })), /"feature-2"/);
  const other = await createToolScene(server, {
    files,
    hosted: true,
    task: { ...task, generateBranch: false },
  });
  await other.account.admin.post(`${other.project.path}/repositories/branches`, { name: 'feature' });
  done(await other.call('write_file', { path: 'c.txt', content: 'three\n' }));
  assert.match(done(await other.call('commit', { message: 'Add c' })), /"feature"/);
  assert.deepEqual(await listBranches(other), ['feature', 'main']);
});

test('a person is asked about the branch, the environment and the files, and allows exactly these', async () => {
  const scene = await createToolScene(server, { files, hosted: true });
  const { call, ask, taskId } = scene;
  await assert.rejects(ask('commit', { message: 'nothing' }), /no edits/);
  done(await call('write_file', { path: 'c.txt', content: 'three\n' }));
  done(await call('delete_file', { path: 'b.txt' }));
  const { body, shownDigest } = await ask('commit', { message: 'Add c' });
  assert.equal(
    body,
    `Commits with the message "Add c" to the new branch "ai/task-${taskId.slice(-12)}", or that name with a number if it is taken. The environment of the task is "dev".\n- deletes "b.txt"\n- adds "c.txt"`,
  );
  done(await call('write_file', { path: 'c.txt', content: 'not shown\n' }));
  assert.match(failed(await call('commit', { message: 'Add c' }, { shownDigest })), /have changed since/);
  assert.deepEqual(await listBranches(scene), ['main']);
  const again = await ask('commit', { message: 'Add c' });
  done(await call('commit', { message: 'Add c' }, { shownDigest: again.shownDigest }));
  done(await call('write_file', { path: 'a.txt', content: 'ONE\n' }));
  const { body: next } = await ask('commit', { message: 'Change a' });
  assert.match(next, /to the branch "ai\/task-.*" of this task.*- changes "a.txt"/s);
});

test('a file that was written and deleted is no part of a commit', async () => {
  for (const hosted of [true, false]) {
    const { call } = await createToolScene(server, { files, hosted });
    done(await call('write_file', { path: 'c.txt', content: 'three\n' }));
    done(await call('delete_file', { path: 'c.txt' }));
    assert.match(failed(await call('commit', { message: 'nothing' })), /no edits/);
    done(await call('write_file', { path: 'd.txt', content: 'four\n' }));
    done(await call('commit', { message: 'Add d' }));
    done(await call('delete_file', { path: 'd.txt' }));
    done(await call('commit', { message: 'Delete d' }));
    assert.doesNotMatch(done(await call('list_files')), /[cd].txt/);
  }
});

test('a person is warned about a branch that the task did not make', async () => {
  const task = { generateBranch: false };
  const scene = await createToolScene(server, { files, hosted: true, task });
  done(await scene.call('write_file', { path: 'c.txt', content: 'three\n' }));
  assert.match(
    (await scene.ask('commit', { message: 'Add c' })).body,
    /to the source branch "main", which this task did not make.*a discard cannot take it back/,
  );
  const other = await createToolScene(server, {
    files,
    hosted: true,
    task: { ...task, targetBranchName: 'of-ann' },
  });
  await other.account.admin.post(`${other.project.path}/repositories/branches`, { name: 'of-ann' });
  done(await other.call('write_file', { path: 'c.txt', content: 'three\n' }));
  assert.match((await other.ask('commit', { message: 'Add c' })).body, /to the existing branch "of-ann"/);
});

test('a branch that somebody else moved is not overwritten', async () => {
  const task = { generateBranch: false };
  const scene = await createToolScene(server, { files, hosted: true, task });
  const { call, account, project } = scene;
  done(await call('write_file', { path: 'a.txt', content: 'by the task\n' }));
  const body = { branch: 'main', message: 'other', files: [{ path: 'a.txt', content: 'by a person\n' }] };
  await account.admin.post(`${project.path}/repositories/commits`, body);
  assert.match(failed(await call('commit', { message: 'mine' })), /is not at|moved|head/i);
  assert.deepEqual(await readBranch(scene, 'main'), ['other', 'first']);
});

test('an empty repository gets its first commit', async () => {
  const scene = await createToolScene(server, { files: {}, hosted: true });
  assert.match(done(await scene.call('list_files')), /no files/);
  done(await scene.call('write_file', { path: 'a.txt', content: 'one\n' }));
  assert.match(done(await scene.call('commit', { message: 'Begin' })), /"main"/);
  assert.deepEqual(await readBranch(scene, 'main'), ['Begin']);
});

test('a project without a repository gets a proposal', async () => {
  const scene = await createToolScene(server, { files });
  const { call } = scene;
  done(await call('write_file', { path: 'c.txt', content: 'three\n' }));
  assert.match(done(await call('commit', { message: 'Add c' })), /is a proposal|are a proposal/);
  assert.doesNotMatch(done(await call('list_files')), /not committed/);
  done(await call('write_file', { path: 'c.txt', content: 'four\n' }));
  assert.equal(done(await call('read_file', { path: 'c.txt' })), 'four\n');
  const stages = await server.database.query(
    'select stage, content from ai_edit where task_id = $1 order by stage',
    [scene.taskId],
  );
  assert.deepEqual(stages, [
    { stage: 'PROPOSED', content: 'three\n' },
    { stage: 'WORKING', content: 'four\n' },
  ]);
});
