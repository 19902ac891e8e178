/** Files in Git LFS: moved with the repository, and verified by SHA-256 and size. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { startGitFront } from '../../../testing/git-front.ts';
import { commitFiles, gitEnvironment, startGitHost } from '../../../testing/git-host.ts';
import { type LfsHost, startLfsHost } from '../../../testing/lfs-host.ts';
import { createMigrationScene, createMigrator, loopbackHosts } from '../../../testing/migration-scene.ts';
import { startTestServer } from '../../../testing/server.ts';
import { openGitRepository } from '../git/index.ts';
import { createMigrationSettings } from './index.ts';
import { findPointers, keepReachable } from './lfs/lfs-copy.ts';
import { parsePointer } from './lfs/lfs-pointer.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
after(() => host.close());

const isLfs = (path: string) => /\/info\/lfs\/|^\/lfs-objects\//.test(path);

async function createScene() {
  const [from, to] = [await startLfsHost(), await startLfsHost()];
  const front = (lfs: LfsHost) => startGitFront((path) => (isLfs(path) ? lfs.port : host.port));
  const [sourceFront, targetFront] = [await front(from), await front(to)];
  after(() => Promise.all([from.close(), to.close(), sourceFront.close(), targetFront.close()]));
  const scene = await createMigrationScene(server, host);
  const replace = (url: string, by: string) => url.replace(host.url, by);
  await server.database.query('update repository set clone_url = $2 where project_id = $1', [
    scene.project.projectId,
    replace(scene.source.cloneUrl, sourceFront.url),
  ]);
  const targetCloneUrl = replace(scene.target.cloneUrl, targetFront.url);
  return { from, to, sourceFront, targetFront, scene, given: { body: { targetCloneUrl } } };
}

function pointer(content: Buffer): string {
  const oid = createHash('sha256').update(content).digest('hex');
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${content.length}\n`;
}

const digest = (content: Buffer) => createHash('sha256').update(content).digest('hex');

test('objects of all commits are moved, once each, and those that are there stay', async () => {
  const { from, to, scene, given } = await createScene();
  const contents = Array.from({ length: 120 }, (_, number) => Buffer.from(`model ${number} `.repeat(50)));
  const files = Object.fromEntries(contents.map((content, at) => [`m/${at}.bin`, pointer(content)]));
  commitFiles(scene.source.folder, { files });
  commitFiles(scene.source.folder, { files: { 'm/0.bin': pointer(Buffer.from('replaced later')) } });
  for (const content of [...contents, Buffer.from('replaced later')])
    from.objects.set(digest(content), content);
  const [there] = contents;
  assert.ok(there);
  to.objects.set(digest(there), there);
  const { status, detail, report } = await scene.migrate(given);
  assert.equal(status, 'COMPLETED', detail);
  assert.deepEqual([...to.objects.keys()].sort(), [...from.objects.keys()].sort());
  assert.equal(report?.lfsObjects, 121);
  assert.equal(to.requests.filter(({ method }) => method === 'PUT').length, 120);
  assert.equal(
    report?.lfsBytes,
    [...from.objects.values()].reduce((sum, each) => sum + each.length, -there.length),
  );
});

test('of two files that name one object, the one that a branch reaches counts', async () => {
  const { scene } = await createScene();
  const one = pointer(Buffer.from('content'));
  commitFiles(scene.source.folder, { files: { a: one, b: `${one}x-note 1\n` } });
  const scratch = await server.deps.git.makeScratch();
  const { git } = server.deps;
  const { accountId } = scene.account;
  const place = {
    git,
    accountId,
    folder: scratch.folder,
    signal: AbortSignal.timeout(240_000),
    isBackground: false,
  };
  await git.run(['clone', '--quiet', '--bare', scene.source.folder, 'copy.git'], { ...place, local: true });
  const copy = { ...place, folder: join(scratch.folder, 'copy.git') };
  const found = await findPointers(copy, openGitRepository(git, copy), 10);
  assert.equal(found.length, 2);
  assert.equal((await keepReachable(copy, found)).length, 1);
});

test('more objects than the server takes fail the migration', async () => {
  const { from, to, scene, given } = await createScene();
  const content = Buffer.from('content');
  commitFiles(scene.source.folder, {
    files: { 'x.bin': pointer(content), 'y.bin': pointer(randomBytes(9)) },
  });
  from.objects.set(digest(content), content);
  const settings = createMigrationSettings(server.deps.config.git.mostBytes);
  for (const [own, expected, words] of [
    [{ mostObjects: 3 }, 'too-many-objects', /has 4 objects; at most 3/],
    [{ mostLfsObjects: 1 }, 'too-large', /more than 1 files in Git LFS/],
    [{ mostLfsBytes: 15 }, 'too-large', /with 16 bytes in all; at most 15/],
  ] as const) {
    const { migrationId } = (await scene.start(given)).body;
    const migrator = createMigrator(server.deps, { limits: { ...settings.limits, ...own } });
    await migrator.look();
    await migrator.wait();
    const { code, detail } = await scene.read(migrationId);
    assert.equal(code, expected, detail);
    assert.match(detail ?? '', words);
  }
  assert.equal(to.requests.length, 0);
});

test('a missing object fails the migration by path and SHA-256, and nothing is pushed', async () => {
  const { from, scene, given } = await createScene();
  const [retained, lost] = [Buffer.from('kept'), Buffer.from('lost')];
  commitFiles(scene.source.folder, {
    files: { 'a/kept.bin': pointer(retained), 'a/lost.bin': pointer(lost) },
  });
  from.objects.set(digest(retained), retained);
  const { status, code, detail } = await scene.migrate(given);
  assert.deepEqual([status, code], ['FAILED', 'lfs-objects-missing']);
  assert.match(detail ?? '', new RegExp(`1 of 2 LFS objects .*a/lost\\.bin \\(sha256 ${digest(lost)}`));
  assert.equal(scene.target.git('for-each-ref'), '');
});

test('other content than the pointer names is not passed on', async () => {
  const { from, to, scene, given } = await createScene();
  const content = randomBytes(5_000);
  commitFiles(scene.source.folder, { files: { 'x.bin': pointer(content) } });
  from.objects.set(digest(content), randomBytes(5_000));
  const wrong = await scene.migrate(given);
  assert.equal(wrong.code, 'lfs-objects-missing');
  assert.match(wrong.detail ?? '', /other content \(its SHA-256 differs\)/);
  assert.equal(to.objects.size, 0);
});

test('a target without LFS, and one that lies, fail it', async () => {
  const { from, to, scene, given } = await createScene();
  const content = Buffer.from('content');
  commitFiles(scene.source.folder, { files: { 'x.bin': pointer(content) } });
  from.objects.set(digest(content), content);
  to.isOff = true;
  const off = await scene.migrate(given);
  assert.equal(off.code, 'lfs-refused', off.detail);
  assert.match(off.detail ?? '', /Turn on Git LFS/);
  to.isOff = false;
  // It says that it has the object, and does not give it.
  to.alter = (answer, operation) =>
    operation === 'upload' ? { oid: answer.oid, size: answer.size } : answer;
  const lies = await scene.migrate(given);
  assert.equal(lies.code, 'lfs-objects-missing', lies.detail);
  assert.match(lies.detail ?? '', /the target does not have it after the upload/);
});

test('the addresses that a host names pass the egress guard, and get no credential', async () => {
  const { from, scene, given } = await createScene();
  const content = Buffer.from('content');
  commitFiles(scene.source.folder, { files: { 'x.bin': pointer(content) } });
  from.objects.set(digest(content), content);
  from.objectsUrl = () => 'http://169.254.169.254/latest';
  const refused = await scene.migrate(given);
  assert.equal(refused.code, 'address-refused', refused.detail);
});

test('what git-lfs pushed to the source, git-lfs reads from the target', async (t) => {
  if (spawnSync('git-lfs', ['version']).status !== 0) {
    t.skip('git-lfs is not installed (Debian package git-lfs): its program was not tested as a client');
    return;
  }
  const { scene, given, sourceFront } = await createScene();
  const folder = mkdtempSync(join(tmpdir(), 'lfs-client-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const content = randomBytes(300_000);
  const work = join(folder, 'work');
  const sourceUrl = scene.source.cloneUrl.replace(host.url, sourceFront.url);
  const environment = { ...gitEnvironment, HOME: folder, GIT_CONFIG_GLOBAL: join(folder, 'gitconfig') };
  const git = (cwd: string, ...args: string[]) =>
    promisify(execFile)('git', args, { cwd, env: environment, timeout: 240_000 });
  await git(folder, 'lfs', 'install', '--skip-repo');
  await git(folder, 'clone', '--quiet', sourceUrl, work);
  await git(work, 'lfs', 'track', '*.bin');
  writeFileSync(join(work, 'model.bin'), content);
  await git(work, 'add', '.');
  await git(work, 'commit', '--quiet', '-m', 'model');
  await git(work, 'push', '--quiet', 'origin', 'HEAD:main');
  const { status, detail } = await scene.migrate(given);
  assert.equal(status, 'COMPLETED', detail);
  await git(folder, 'clone', '--quiet', '--branch', 'main', given.body.targetCloneUrl, join(folder, 'moved'));
  assert.ok(readFileSync(join(folder, 'moved', 'model.bin')).equals(content));
});

test('pointers are read as the specification says', () => {
  const good = pointer(Buffer.from('x'));
  assert.equal(parsePointer(Buffer.from(good))?.size, 1);
  for (const bad of [
    '',
    'version https://git-lfs.github.com/spec/v1\n',
    good.replace('sha256', 'sha1'),
    ` ${good}`,
  ])
    assert.equal(parsePointer(Buffer.from(bad)), undefined, JSON.stringify(bad));
});
