/** What an ordinary git does with a repository hosted here. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { roundsOr } from '@headgate/contract/testing/rounds';
import { type HostedProject, makeHostedProject, makeUserGit } from '../../../testing/hosted-project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const base = await server.listen();
const git = await makeUserGit();

/** The time that git takes for a push grows with the square of the refs. */
const manyTags = Math.min(5_000, 1_000 * roundsOr(1));

let made = 0;
async function arrange(): Promise<HostedProject & { tree: string; name: string }> {
  made += 1;
  const hosted = await makeHostedProject(server, base);
  const name = `tree-${made}`;
  return { ...hosted, name, tree: await git.makeTree(name) };
}

async function commit(tree: string, name: string, content = name): Promise<string> {
  await writeFile(join(tree, name), content);
  await git.ok(['add', '-A'], { cwd: tree });
  await git.ok(['commit', '-q', '-m', name], { cwd: tree });
  return git.ok(['rev-parse', 'HEAD'], { cwd: tree });
}

describe('an ordinary git', () => {
  test('clones an empty repository, pushes to it, and clones it again', async () => {
    const { url, tree, name } = await arrange();
    const empty = await git.run(['clone', url, `${name}-empty`]);
    assert.equal(empty.code, 0, empty.text);
    assert.match(empty.text, /empty repository/);
    const pushed = await git.run(['push', url, 'main'], { cwd: tree });
    assert.equal(pushed.code, 0, pushed.text);
    assert.match(pushed.text, /\[new branch\] +main -> main/);
    for (const version of ['0', '1', '2']) {
      await git.ok(['-c', `protocol.version=${version}`, 'clone', '-q', url, `${name}-${version}`]);
      assert.equal(
        await git.ok(['rev-parse', 'HEAD'], { cwd: join(git.folder, `${name}-${version}`) }),
        await git.ok(['rev-parse', 'HEAD'], { cwd: tree }),
      );
    }
  });

  test('fetches new commits, and clones only the last ones', async () => {
    const { url, tree, name } = await arrange();
    await git.ok(['push', '-q', url, 'main'], { cwd: tree });
    await git.ok(['clone', '-q', url, `${name}-clone`]);
    for (let count = 0; count < 5; count += 1) await commit(tree, `file-${count}`);
    await git.ok(['push', '-q', url, 'main'], { cwd: tree });
    const clone = join(git.folder, `${name}-clone`);
    await git.ok(['pull', '-q', url, 'main'], { cwd: clone });
    assert.equal(await git.ok(['rev-list', '--count', 'HEAD'], { cwd: clone }), '6');
    await git.ok(['clone', '-q', '--depth', '2', url, `${name}-shallow`]);
    const shallow = join(git.folder, `${name}-shallow`);
    assert.equal(await git.ok(['rev-list', '--count', 'HEAD'], { cwd: shallow }), '2');
    await commit(shallow, 'from a shallow clone');
    await git.ok(['push', '-q', url, 'HEAD:refs/heads/shallow'], { cwd: shallow });
    await git.ok(['fetch', '-q', '--unshallow', url, 'main'], { cwd: shallow });
    await git.ok(['clone', '-q', '--filter=blob:none', url, `${name}-partial`]);
  });

  test('pushes, forces and deletes a branch and tags that are not protected', async () => {
    const { url, tree, folder } = await arrange();
    await git.ok(['push', '-q', url, 'main', 'main:refs/heads/größe/日本'], { cwd: tree });
    await git.ok(['tag', 'v1'], { cwd: tree });
    await git.ok(['tag', '-a', '-m', 'second', 'v2'], { cwd: tree });
    await git.ok(['push', '-q', '--tags', url], { cwd: tree });
    await git.ok(['commit', '-q', '--amend', '-m', 'rewritten'], { cwd: tree });
    const refused = await git.run(['push', url, 'HEAD:größe/日本'], { cwd: tree });
    assert.notEqual(refused.code, 0);
    await git.ok(['push', '-q', '--force', url, 'HEAD:größe/日本'], { cwd: tree });
    const heads = await git.ok(['for-each-ref', '--format=%(refname)'], { cwd: folder });
    assert.deepEqual(heads.split('\n'), [
      'refs/heads/größe/日本',
      'refs/heads/main',
      'refs/tags/v1',
      'refs/tags/v2',
    ]);
    await git.ok(['push', '-q', url, ':größe/日本', ':v1'], { cwd: tree });
    assert.doesNotMatch(await git.ok(['ls-remote', url]), /größe|v1/);
  });

  test('is told per branch why a push is refused', async () => {
    const { url, tree } = await arrange();
    await git.ok(['push', '-q', url, 'main'], { cwd: tree });
    await git.ok(['commit', '-q', '--amend', '-m', 'rewritten'], { cwd: tree });
    const mixed = await git.run(['push', '--force', url, 'main', 'main:other', 'main:refs/notes/x'], {
      cwd: tree,
    });
    assert.notEqual(mixed.code, 0);
    assert.match(mixed.text, /\[remote rejected\] main -> main \(protected branch: only fast-forward pushes/);
    assert.match(mixed.text, /\[new branch\] +main -> other/);
    assert.match(
      mixed.text,
      /\[remote rejected\] main -> refs\/notes\/x \(only branches and tags can be pushed\)/,
    );
    const deleted = await git.run(['push', url, ':main'], { cwd: tree });
    assert.match(deleted.text, /\[remote rejected\] main \(protected branch: it cannot be deleted\)/);
  });

  test('pushes all or nothing with --atomic', async () => {
    const { url, tree } = await arrange();
    await git.ok(['push', '-q', url, 'main'], { cwd: tree });
    await git.ok(['commit', '-q', '--amend', '-m', 'rewritten'], { cwd: tree });
    const refused = await git.run(['push', '--atomic', '--force', url, 'main', 'main:other'], { cwd: tree });
    assert.notEqual(refused.code, 0);
    assert.match(refused.text, /main -> other \(atomic push failed\)/);
    assert.doesNotMatch(await git.ok(['ls-remote', url]), /other/);
    await git.ok(['push', '-q', '--atomic', url, 'main:one', 'main:two'], { cwd: tree });
  });

  test('is told that push options are not supported', async () => {
    const { url, tree } = await arrange();
    const refused = await git.run(['push', '-o', 'ci.skip', url, 'main'], { cwd: tree });
    assert.match(refused.text, /does not support push options/);
  });

  test(`moves ${manyTags} tags in one push`, async () => {
    const { url, tree } = await arrange();
    const head = await git.ok(['rev-parse', 'HEAD'], { cwd: tree });
    const input = Array.from({ length: manyTags }, (_, index) => `create refs/tags/t${index} ${head}\n`);
    await git.ok(['update-ref', '--stdin'], { cwd: tree, input: input.join('') });
    await git.ok(['pack-refs', '--all'], { cwd: tree });
    await git.ok(['push', '-q', url, 'main', '--tags'], { cwd: tree });
    assert.equal((await git.ok(['ls-remote', '--tags', url])).split('\n').length, manyTags);
  });

  test('pushes a file of 20 MB, in chunks', async () => {
    const { url, tree, name } = await arrange();
    const { randomBytes } = await import('node:crypto');
    await writeFile(join(tree, 'large.bin'), randomBytes(20_000_000));
    await git.ok(['add', '-A'], { cwd: tree });
    await git.ok(['commit', '-q', '-m', 'large'], { cwd: tree });
    await git.ok(['push', '-q', url, 'main'], { cwd: tree });
    await git.ok(['clone', '-q', url, `${name}-large`]);
    await git.ok(['fsck', '--full'], { cwd: join(git.folder, `${name}-large`) });
  });

  test('shows a file of an earlier commit after a rejected one, and the repository stays sound', async () => {
    const { url, tree, folder } = await arrange();
    await git.ok(['push', '-q', url, 'main'], { cwd: tree });
    await commit(tree, 'second');
    await Promise.all(
      ['a', 'b', 'c', 'd'].map((branch) => git.ok(['push', '-q', url, `main:${branch}`], { cwd: tree })),
    );
    const fsck = await git.run(['fsck', '--full', '--strict'], { cwd: folder });
    assert.equal(fsck.code, 0, fsck.text);
  });

  test('gets one event for each push, with what it moved', async () => {
    const { url, tree, account, project } = await arrange();
    const { actorId } = account.admin;
    await git.ok(['push', '-q', url, 'main', 'main:other'], { cwd: tree });
    const head = await git.ok(['rev-parse', 'HEAD'], { cwd: tree });
    const events = await server.database.query<{
      actor_id: string;
      subject_name: string;
      state_after: unknown;
    }>(
      "select actor_id, subject_name, state_after from event where project_id = $1 and name = 'repository-pushed'",
      [project.projectId],
    );
    const refs = ['refs/heads/main', 'refs/heads/other'].map((name) => ({ name, from: null, to: head }));
    assert.deepEqual(
      events.map((each) => ({ ...each })),
      [{ actor_id: actorId, subject_name: 'pipelines', state_after: { refs } }],
    );
    const left = await server.database.query('select from repository_write where project_id = $1', [
      project.projectId,
    ]);
    assert.equal(left.length, 0);
  });

  test('wakes the delivery rules of the branches that it pushed', async () => {
    const { url, tree, account, project } = await arrange();
    await server.database.query(
      `with rule as (
         insert into delivery_rule (account_id, project_id, branch_name, environment_name, written_by, written_at)
         select $1, $2, name, 'dev', $3, now() from unnest(array['main', 'other']) as name returning work_id)
       insert into server_work (account_id, work_id, kind) select $1, work_id, 'git-delivery' from rule`,
      [account.accountId, project.projectId, account.admin.actorId],
    );
    await git.ok(['push', '-q', url, 'main'], { cwd: tree });
    const head = await git.ok(['rev-parse', 'main'], { cwd: tree });
    const rules = await server.database.query<{
      branch_name: string;
      pushers: Record<string, string> | null;
      is_due: boolean;
    }>(
      `select branch_name, pushers, due_at is not null as is_due
       from delivery_rule join server_work using (account_id, work_id) where project_id = $1 order by 1`,
      [project.projectId],
    );
    assert.deepEqual(
      rules.map((each) => ({ ...each })),
      [
        { branch_name: 'main', pushers: { [head]: account.admin.actorId }, is_due: true },
        { branch_name: 'other', pushers: null, is_due: false },
      ],
    );
  });
});
