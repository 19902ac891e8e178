/** The changes of a task: what a person sees, and what a merge or a discard does. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { AiTaskChanges } from '@headgate/contract';
import { createChangedTask, files, noteOf, readMain } from '../../../testing/changed-task.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import type { ToolContext } from '../ai-tools/tool/tool.ts';
import { openCopy, writeEdit } from '../ai-tools/working-copy.ts';

const server = await startTestServer();
const prepare = (hosted: boolean, task?: object) => createChangedTask(server, hosted, task);

test('changes are shown as files, a patch and findings, committed or not', async () => {
  const { write, changes } = await prepare(true);
  assert.deepEqual([(await changes()).state, (await changes()).files], ['NONE', []]);
  await write('write_file', noteOf('one\ntwo\n3\nfour\nfive\n'));
  await write('commit', { message: 'Change a note' });
  await write('delete_file', { path: 'old.txt' });
  await write('write_file', { path: 'bad.orch.yaml', content: 'type: "orchestration"\n' });
  const shown = await changes();
  assert.deepEqual(shown.files, [
    { path: 'bad.orch.yaml', change: 'added', isCommitted: false },
    { path: 'notes.md', change: 'modified', isCommitted: true },
    { path: 'old.txt', change: 'deleted', isCommitted: false },
  ]);
  assert.ok(
    shown.patch.includes(
      '--- a/notes.md\n+++ b/notes.md\n@@ -1,5 +1,5 @@\n one\n two\n-three\n+3\n four\n five\n',
    ),
  );
  assert.ok(shown.patch.includes('+++ /dev/null\n@@ -1,1 +0,0 @@\n-old\n'));
  assert.deepEqual([shown.state, shown.sourceBranchName, shown.message], ['OPEN', 'main', 'Change a note']);
  assert.ok(shown.findings.some(({ path, level }) => path === 'bad.orch.yaml' && level === 'error'));
});

test('a merge moves the source branch, and the changes are closed afterwards', async () => {
  const scene = await prepare(true);
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  const { commitId } = (await scene.changes()) ?? {};
  const merged = await scene.merge();
  assert.deepEqual([merged.status, merged.body.commitId], [200, commitId], 'a fast-forward');
  assert.equal(await readMain(scene, 'notes.md'), 'new\n');
  requireProblem(await scene.merge(), 409, 'ai-task-changes-closed');
  requireProblem(await scene.discard(), 409, 'ai-task-changes-closed');
});

test('a merge must name the changes that were seen, and is refused after the task has changed something', async () => {
  for (const hosted of [true, false]) {
    const { path, account, write, changes, merge } = await prepare(hosted);
    await write('write_file', noteOf('new\n'));
    const shown = await account.admin.get<AiTaskChanges>(`${path}/changes`);
    const { digest } = shown.body;
    assert.equal(shown.etag, `"${digest}"`);
    const ifMatch = (tag: string) => ({ headers: { 'if-match': tag } });
    const unnamed = requireProblem(await account.admin.post(`${path}/merge`), 428, 'precondition-required');
    assert.match(unnamed.detail, new RegExp(`GET /dpc/v1${path}/changes`));
    for (const tag of ['*', `"${digest}", *`])
      requireProblem(
        await account.admin.post(`${path}/merge`, {}, ifMatch(tag)),
        428,
        'precondition-required',
      );
    const others = [
      () => write('write_file', { path: 'more.txt', content: 'more' }),
      () => write('write_file', noteOf('newer\n')),
    ];
    if (hosted) others.push(() => write('commit', { message: 'A commit' }));
    let last = digest;
    for (const change of others) {
      await change();
      requireProblem(await merge({ digest: last }), 412, 'digest-mismatch');
      const stale = await account.admin.post(`${path}/merge`, {}, ifMatch(`"${last}"`));
      requireProblem(stale, 412, 'digest-mismatch');
      assert.notEqual((await changes()).digest, last);
      last = (await changes()).digest;
    }
    assert.equal((await changes()).state, 'OPEN', 'nothing was merged');
    const merged = await account.admin.post(`${path}/merge`, {}, ifMatch(`"${last}"`));
    assert.equal(merged.status, 200, merged.text);
  }
});

test('after a merge or a discard the task begins new changes, over what is there then and on a new branch', async () => {
  const scene = await prepare(true);
  const branch = `ai/task-${scene.taskId.slice(-12)}`;
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  assert.equal((await scene.merge()).status, 200);
  await scene.commitAsPerson([{ path: 'z.txt', content: 'z' }]);
  assert.match((await scene.call('list_files')).text, /^z.txt/m);
  assert.deepEqual([(await scene.changes()).state, (await scene.changes()).files], ['OPEN', []]);
  await scene.write('write_file', noteOf('newer\n'));
  await scene.write('commit', { message: 'Newer note' });
  const { branchName, patch } = await scene.changes();
  assert.equal(branchName, `${branch}-2`);
  assert.match(patch, /-new\n\+newer\n/);
  assert.equal((await scene.discard()).status, 200);
  await scene.write('write_file', noteOf('newest\n'));
  assert.equal((await scene.merge()).status, 200);
  assert.equal(await readMain(scene, 'notes.md'), 'newest\n');
});

test('after a merge of the branch that it made under a given name, the task makes another one', async () => {
  const scene = await prepare(true, { generateBranch: false, targetBranchName: 'mine' });
  for (const branch of ['mine', 'mine-2', 'mine-3']) {
    await scene.commitAsPerson([{ path: 'z.txt', content: branch }]);
    await scene.write('write_file', noteOf(`${branch}\n`));
    await scene.write('commit', { message: branch });
    assert.equal((await scene.changes()).branchName, branch);
    assert.equal((await scene.merge()).status, 200);
    assert.equal(await readMain(scene, 'z.txt'), branch);
  }
});

test('without a repository, the changes after a merge are over the version that it published', async () => {
  const scene = await prepare(false);
  await scene.write('write_file', noteOf('new\n'));
  server.clock.advance(1);
  assert.equal((await scene.merge({ versionName: 'v2' })).status, 200);
  assert.equal((await scene.call('read_file', { path: 'notes.md' })).text, 'new\n');
  await scene.write('write_file', noteOf('newer\n'));
  server.clock.advance(1);
  assert.match((await scene.changes()).patch, /-new\n\+newer\n/);
  assert.equal((await scene.merge({ versionName: 'v3' })).status, 200);
});

test('a merge goes on with other files of others, also with what is not committed, and stops at the same file', async () => {
  const scene = await prepare(true);
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  await scene.write('delete_file', { path: 'old.txt' });
  await scene.commitAsPerson([{ path: 'notes.md', content: 'by a person\n' }]);
  const refused = requireProblem(await scene.merge(), 409, 'ai-task-merge-conflict');
  assert.match(refused.detail, /"notes.md".* Merge the branch "ai\/task-\w+" by Git, or discard/);
  assert.equal(await readMain(scene, 'notes.md'), 'by a person\n');
  await scene.commitAsPerson([
    { path: 'notes.md', content: files['notes.md'] },
    { path: 'z.txt', content: 'z' },
  ]);
  assert.equal((await scene.merge({ message: 'All of it' })).status, 200);
  assert.equal(await readMain(scene, 'notes.md'), 'new\n');
  assert.equal(await readMain(scene, 'z.txt'), 'z');
  const gone = `${scene.project.path}/repositories/files/content?branch=main&path=old.txt`;
  requireProblem(await scene.account.admin.get(gone), 404, 'repository-file-not-found');
});

test('a discard deletes the branch of the task, unless it has commits of others', async () => {
  const scene = await prepare(true, { targetBranchName: 'of-task' });
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  await scene.commitAsPerson([{ path: 'z.txt', content: 'z' }], 'of-task');
  requireProblem(await scene.discard(), 409, 'branch-has-moved');
  const other = await prepare(true, { targetBranchName: 'of-task' });
  await other.write('write_file', noteOf('new\n'));
  await other.write('commit', { message: 'New note' });
  assert.equal((await other.discard()).status, 200);
  const branches = `${other.project.path}/repositories/branches`;
  const { results } = (await other.account.admin.get<{ results: { name: string }[] }>(branches)).body;
  assert.deepEqual(
    results.map(({ name }) => name),
    ['main'],
  );
  assert.equal((await other.changes()).state, 'DISCARDED');
});

test('without a repository a merge publishes a version over the newest one', async () => {
  const scene = await prepare(false);
  const { account, project, taskId } = scene;
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  server.clock.advance(1);
  const merged = await scene.merge();
  assert.equal(merged.body.versionName, `ai-task-${taskId.slice(-12)}`);
  const asset = `${project.path}/artifacts/assets?environmentName=dev&path=notes.md`;
  assert.equal((await account.admin.get(asset)).text, 'new\n');
});

test('without a repository a merge passes the quality gate of the environment', async () => {
  const scene = await prepare(false);
  const { account, project } = scene;
  const environment = `${project.path}/environments/dev`;
  await account.admin.patch(environment, { qualityGate: 'REQUIRED' });
  const content = `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Close]}}
    Close: {type: sql-script, parameters: {sqlScript: "update orders set state = 1"}}
`;
  await scene.write('write_file', { path: 'close.orch.yaml', content });
  server.clock.advance(1);
  requireProblem(await scene.merge(), 422, 'quality-gate-refused');
  await account.admin.patch(environment, { qualityGate: 'WARN' });
  const merged = await scene.merge();
  assert.equal(merged.status, 200, merged.text);
  assert.match(String(merged.headers['headgate-warning']), /the quality review of the version is FAILED/);
});

test('there is nothing to merge without changes, and nothing while the task runs', async () => {
  const scene = await prepare(false);
  requireProblem(await scene.merge(), 409, 'ai-task-no-changes');
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('write_file', noteOf(files['notes.md']));
  requireProblem(await scene.merge(), 409, 'ai-task-no-changes');
  await server.database.query("update ai_task set status = 'RUNNING' where task_id = $1", [scene.taskId]);
  requireProblem(await scene.merge(), 409, 'ai-task-running');
  requireProblem(await scene.discard(), 409, 'ai-task-running');
});

const claims = {
  'of this release': `insert into server_work (account_id, work_id, kind, lease_until, touched_at)
    select account_id, mark_key, 'ai-changes', $2, $2::timestamptz - interval '1 minute' from ai_working_copy where task_id = $1`,
  'of the release before':
    'update ai_working_copy set claimed_by = gen_random_uuid(), claimed_until = $2 where task_id = $1',
};

for (const [name, claim] of Object.entries(claims))
  for (const hosted of [true, false])
    test(`nothing changes while a merge ${name} is under way: no other merge, discard or tool; hosted: ${hosted}`, async () => {
      const scene = await prepare(hosted);
      await scene.write('write_file', noteOf('new\n'));
      const until = new Date(server.clock.now().getTime() + 60_000);
      await server.database.query(claim, [scene.taskId, until]);
      const ofCopy = 'select claimed_until > $2 as is_shown from ai_working_copy where task_id = $1';
      const [copy] = await server.database.query(ofCopy, [scene.taskId, server.clock.now()]);
      assert.deepEqual(copy, { is_shown: true }, 'servers of the release before see it');
      requireProblem(await scene.merge(), 409, 'ai-task-changes-busy');
      requireProblem(await scene.discard(), 409, 'ai-task-changes-busy');
      assert.match((await scene.call('write_file', noteOf('late\n'))).text, /merging or discarding/);
      assert.match((await scene.call('commit', { message: 'late' })).text, /merging or discarding/);
      // As after the death of a server.
      server.clock.advance(61);
      assert.equal((await scene.merge()).status, 200);
      const left = await server.database.query("select from server_work where kind = 'ai-changes'", []);
      assert.equal(left.length, 0);
    });

test('of a merge and a discard at the same time one wins, and no edit of a resumed task is lost', async () => {
  const scene = await prepare(true);
  await scene.write('write_file', noteOf('new\n'));
  await scene.write('commit', { message: 'New note' });
  const [merged, discarded, late] = await Promise.all([
    scene.merge(),
    scene.discard(),
    scene.call('write_file', { path: 'late.txt', content: 'late\n' }),
  ]);
  const statuses = [merged.status, discarded.status].sort();
  assert.deepEqual(statuses, [200, 409], `${merged.text} ${discarded.text}`);
  assert.equal(await readMain(scene, 'notes.md'), merged.status === 200 ? 'new\n' : files['notes.md']);
  if (late.outcome !== 'DONE') return;
  const { state, files: changed } = await scene.changes();
  if (state === 'OPEN')
    assert.deepEqual(
      changed.map(({ path }) => path),
      ['late.txt'],
      'written after the end of the other changes',
    );
  else if (state === 'MERGED') assert.equal(await readMain(scene, 'late.txt'), 'late\n');
});

test('a call that is late by a merge changes nothing of the changes after it', async () => {
  const scene = await prepare(true);
  await scene.write('write_file', noteOf('new\n'));
  const { account, project, taskId } = scene;
  const late: ToolContext = {
    task: {
      accountId: account.accountId,
      projectId: project.projectId,
      taskId,
      mode: 'ACT',
      generateBranch: true,
    } as ToolContext['task'],
    callId: randomUUID(),
    actors: {
      creator: { accountId: account.accountId, actorId: account.admin.actorId },
      behindIds: [account.admin.actorId],
    },
    signal: new AbortController().signal,
    now: server.clock.now(),
    shownDigest: undefined,
  };
  const copy = await openCopy(server.deps, late);
  assert.equal((await scene.merge()).status, 200);
  await scene.write('write_file', { path: 'next.txt', content: 'next' });
  await assert.rejects(writeEdit(server.deps, late, copy, noteOf('late\n')), /merged or discarded meanwhile/);
  assert.deepEqual(
    (await scene.changes()).files.map(({ path }) => path),
    ['next.txt'],
  );
});

test('without a repository, two merges without a name publish two versions', async () => {
  const scene = await prepare(false);
  for (const text of ['new\n', 'newer\n']) {
    await scene.write('write_file', noteOf(text));
    server.clock.advance(1);
    const merged = await scene.merge();
    assert.equal(merged.status, 200, merged.text);
  }
});
