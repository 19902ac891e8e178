/** MIRROR_PUSH between two Git hosts on loopback. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { roundsOr } from '@headgate/contract/testing/rounds';
import { commitFiles, runGit, startGitHost } from '../../../testing/git-host.ts';
import {
  createMigrationScene,
  fillRepository,
  listRefs,
  loopbackHosts,
} from '../../../testing/migration-scene.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
after(() => host.close());
/** The time that git takes for a push grows with the square of the refs. */
const manyTags = Math.min(5_000, 1_000 * roundsOr(1));

test('all branches and tags arrive, each is verified, and the project points at the target', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const migration = await scene.migrate();
  assert.deepEqual([migration.status, migration.detail], ['COMPLETED', undefined]);
  assert.deepEqual(listRefs(scene.target), listRefs(scene.source));
  assert.equal(await scene.readCloneUrl(), scene.target.cloneUrl);
  const { branches, tags, verifiedRefs, pushedAtomically, objects, bytes } =
    migration.report ?? assert.fail();
  assert.deepEqual([branches, tags, verifiedRefs, pushedAtomically], [2, 2, 4, true]);
  assert.ok(objects >= 9 && bytes > 500);
});

test(`odd and non-ASCII names, submodules and ${manyTags} tags arrive`, async () => {
  const scene = await createMigrationScene(server, host);
  const { source, target } = scene;
  for (const each of [source, target]) each.git('config', 'core.fsync', 'none');
  const first = commitFiles(source.folder, { files: { a: 'a' } });
  const names = ['größe/日本', "it's;rm", 'a"b', 'HEAD2', '-dash', 'x%20y', 'refs/heads/x', '$(id)', 'a+b@c'];
  for (const name of names) source.git('update-ref', `refs/heads/${name}`, first);
  const tags = Array.from({ length: manyTags }, (_, number) => `create refs/tags/t${number} ${first}\n`);
  runGit(source.folder, ['update-ref', '--stdin'], tags.join(''));
  const tree = runGit(source.folder, ['mktree'], `160000 commit ${first}\tvendor\n`).trim();
  const commit = runGit(source.folder, ['commit-tree', '-m', 'module', '-p', first, tree]).trim();
  source.git('update-ref', 'refs/heads/module', commit);
  const migration = await scene.migrate();
  assert.deepEqual([migration.status, migration.detail], ['COMPLETED', undefined]);
  assert.deepEqual(listRefs(target), listRefs(source));
  assert.equal(migration.report?.tags, manyTags);
});

test('refs that are neither branches nor tags are told, not copied', async () => {
  const scene = await createMigrationScene(server, host);
  scene.source.git('config', 'core.fsync', 'none');
  const first = commitFiles(scene.source.folder, { files: { a: 'a' } });
  const pulls = Array.from({ length: 3_000 }, (_, number) => `create refs/pull/${number}/head ${first}\n`);
  runGit(scene.source.folder, ['update-ref', '--stdin'], pulls.join(''));
  const { status, report } = await scene.migrate();
  assert.equal(status, 'COMPLETED');
  assert.deepEqual(listRefs(scene.target, 'refs'), [`${first} refs/heads/main`]);
  assert.equal(report?.skippedTotal, 3_000);
  assert.match(report?.skippedRefs[0]?.name ?? '', /^refs\/pull\//);
});

test('an empty repository moves, and a detached HEAD is told', async () => {
  const empty = await createMigrationScene(server, host);
  const moved = await empty.migrate();
  assert.equal(moved.status, 'COMPLETED', moved.detail);
  assert.match(moved.detail ?? '', /no branches and tags/);
  assert.equal(await empty.readCloneUrl(), empty.target.cloneUrl);

  const detached = await createMigrationScene(server, host);
  const commit = commitFiles(detached.source.folder, { files: { a: 'a' } });
  detached.source.git('update-ref', '--no-deref', 'HEAD', commit);
  const { status, detail } = await detached.migrate();
  assert.equal(status, 'COMPLETED', detail);
  assert.match(detail ?? '', /HEAD of the source names no branch/);
});

test('a target with refs is left alone, unless it may be overwritten; its other refs stay', async () => {
  const scene = await createMigrationScene(server, host);
  const { source, target } = scene;
  fillRepository(source);
  commitFiles(target.folder, { files: { x: 'x' } });
  commitFiles(target.folder, { branch: 'other', files: { y: 'y' } });
  const before = listRefs(target);
  const refused = await scene.migrate();
  assert.deepEqual([refused.status, refused.code], ['FAILED', 'target-not-empty']);
  assert.match(
    refused.detail ?? '',
    /it has main, other\. Use an empty repository, or start with \?overwrite=true/,
  );
  assert.deepEqual(listRefs(target), before);
  assert.equal(await scene.readCloneUrl(), source.cloneUrl);

  const forced = await scene.migrate({ query: '?overwrite=true' });
  assert.equal(forced.status, 'COMPLETED', forced.detail);
  assert.match(forced.detail ?? '', /Overwritten in the target: main/);
  const there = listRefs(target);
  for (const ref of listRefs(source)) assert.ok(there.includes(ref), ref);
  assert.ok(there.some((ref) => ref.endsWith('refs/heads/other')));
});

test('the first commit that a host made is replaced', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  commitFiles(scene.target.folder, {
    message: 'Initial commit',
    files: { 'README.md': '#', '.gitignore': '' },
  });
  const { status, detail } = await scene.migrate();
  assert.equal(status, 'COMPLETED', detail);
  assert.deepEqual(listRefs(scene.target), listRefs(scene.source));
  const other = await createMigrationScene(server, host);
  fillRepository(other.source);
  commitFiles(other.target.folder, { message: 'Initial commit', files: { 'README.md': '#', '.env': 'x' } });
  assert.equal((await other.migrate()).code, 'target-not-empty');
});

test('a repository that is hosted here moves, and its folder is kept as dropped', async () => {
  const scene = await createMigrationScene(server, host, { provider: 'headgate' });
  const place = { accountId: scene.account.accountId, projectId: scene.project.projectId };
  const { folder } = await server.deps.hosted.open(place, 'main');
  commitFiles(folder, { files: { a: 'a' } });
  const migration = await scene.migrate();
  assert.equal(migration.status, 'COMPLETED', migration.detail);
  assert.equal(listRefs(scene.target).length, 1);
  assert.equal(await scene.readCloneUrl(), scene.target.cloneUrl);
  const dropped = await server.database.query('select 1 from dropped_repository where project_id = $1', [
    place.projectId,
  ]);
  assert.equal(dropped.length, 1);
});

test('a repository that is hosted here and has a damaged branch or list of branches is not moved', async () => {
  const scene = await createMigrationScene(server, host, { provider: 'headgate' });
  const place = { accountId: scene.account.accountId, projectId: scene.project.projectId };
  const { folder } = await server.deps.hosted.open(place, 'main');
  commitFiles(folder, { files: { a: 'a' } });
  for (const [name, content] of [
    ['refs/heads/cut', ''],
    ['packed-refs', 'damaged\n'],
  ] as const) {
    await writeFile(join(folder, name), content);
    const { status, code, detail } = await scene.migrate();
    assert.deepEqual([status, code], ['FAILED', 'source-damaged'], detail);
    assert.match(detail ?? '', name === 'packed-refs' ? /packed-refs/ : /refs\/heads\/cut/);
  }
  assert.deepEqual(listRefs(scene.target), ['']);
});
