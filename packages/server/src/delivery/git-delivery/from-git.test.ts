/** Versions that are published from a branch or a commit, by a request. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { host as hostHere, loopbackAllowed } from '../../../testing/associated-project.ts';
import { requireProblem } from '../../../testing/client.ts';
import { commitByApi, createDeliveryScene, listVersions } from '../../../testing/git-delivery.ts';
import { commitFiles, runGit, startGitHost } from '../../../testing/git-host.ts';
import { smallPipeline, type TestProject, type Uploaded } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { ...loopbackAllowed, HEADGATE_UPLOAD_PART_MB: '1' } });
const account = await server.account();
const { admin } = account;
const gitHost = await startGitHost();
after(() => gitHost.close());

const { arrange } = createDeliveryScene(account, gitHost);

const publish = (project: TestProject, body: object, query = '', headers: Record<string, string> = {}) =>
  admin.post<Uploaded & { warningsTotal: number }>(
    `${project.path}/artifacts/from-git${query}`,
    { environmentName: 'dev', ...body },
    { headers },
  );

test('a branch is published with its commit, as a repository of another host and hosted here', async () => {
  const { project, repository } = await arrange();
  const commit = commitFiles(repository.folder, {
    files: { 'main.orch.yaml': smallPipeline, 'README.md': '# Weather' },
  });
  const answer = await publish(project, { branch: 'main' });
  assert.equal(answer.status, 201, answer.text);
  const versionName = `${commit.slice(0, 12)}-main`;
  assert.equal(answer.body.versionName, versionName);
  assert.deepEqual(answer.body.ignoredResources, []);
  const [version] = await listVersions(admin, project);
  const { provider, branch, commitHash } = version ?? {};
  assert.deepEqual({ provider, branch, commitHash }, { provider: 'git', branch: 'main', commitHash: commit });
  const details = await admin.get<{ assets: string[] }>(
    `${project.path}/artifacts/details?environmentName=dev`,
  );
  assert.deepEqual(details.body.assets, ['README.md', 'main.orch.yaml']);

  const here = await account.project();
  await hostHere(admin, here);
  const head = await commitByApi(admin, here);
  assert.equal((await publish(here, { branch: 'main', versionName: '1.0' })).status, 201);
  const [hosted] = await listVersions(admin, here);
  assert.deepEqual([hosted?.provider, hosted?.commitHash, hosted?.versionName], ['headgate', head, '1.0']);
});

test('a push of a moment ago is published, and an older commit by its first digits', async () => {
  const { project, repository } = await arrange();
  const first = commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  assert.equal((await publish(project, { branch: 'main' })).status, 201);
  const second = commitFiles(repository.folder, { files: { 'b.orch.yaml': smallPipeline } });
  server.clock.advance(1);
  assert.equal((await publish(project, { branch: 'main' })).status, 201);
  assert.equal((await listVersions(admin, project))[0]?.commitHash, second);
  server.clock.advance(1);
  const again = await publish(project, { commit: first.slice(0, 9).toUpperCase() });
  assert.equal(again.status, 201, again.text);
  assert.equal(again.body.versionName, first.slice(0, 12));
  const [newest] = await listVersions(admin, project);
  assert.deepEqual([newest?.commitHash, newest?.branch], [first, undefined]);
});

test('a commit that a forced push has removed is not published; a tag brings it back', async () => {
  const { project, repository } = await arrange();
  const first = commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  const second = commitFiles(repository.folder, { files: { 'b.orch.yaml': smallPipeline } });
  assert.equal((await publish(project, { branch: 'main' })).status, 201);
  runGit(repository.folder, ['update-ref', 'refs/heads/main', first]);
  const removed = await publish(project, { commit: second, versionName: 'removed' });
  assert.deepEqual([removed.status, removed.problem.code], [422, 'unknown-revision']);
  assert.match(removed.problem.detail, /No branch or tag .*contains/);
  assert.match((await publish(project, { tag: 'v1' })).problem.detail, /no branch, tag or commit "v1"/);
  runGit(repository.folder, ['tag', 'v1', second]);
  const retained = await publish(project, { commit: second, versionName: 'kept' });
  assert.equal(retained.status, 201, retained.text);
  server.clock.advance(1);
  const tagged = await publish(project, { tag: 'v1' });
  assert.equal(tagged.status, 201, tagged.text);
  const [version] = await listVersions(admin, project);
  assert.deepEqual(
    [version?.versionName, version?.commitHash, version?.branch],
    [`${second.slice(0, 12)}-v1`, second, undefined],
  );
});

test('links, submodules and pointers of Git LFS are listed, and not published', async () => {
  const { project, repository } = await arrange();
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 5\n`;
  const inline = (mode: string, path: string, text: string) =>
    `M ${mode} inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}\n`;
  const stream =
    'commit refs/heads/main\ncommitter Ada <ada@example.com> 1700000000 +0000\ndata 1\nx\n' +
    inline('100644', 'main.orch.yaml', smallPipeline) +
    inline('100755', 'load.sh', '#!/bin/sh\n') +
    inline('120000', 'link', 'main.orch.yaml') +
    inline('100644', 'large.csv', pointer) +
    inline('100644', 'image.png', '\u0000') +
    `M 160000 ${'b'.repeat(40)} vendor\n`;
  runGit(repository.folder, ['fast-import', '--quiet'], stream);
  const answer = await publish(project, { branch: 'main' });
  assert.equal(answer.status, 201, answer.text);
  const reasons = Object.fromEntries(answer.body.ignoredResources.map(({ name, reason }) => [name, reason]));
  assert.deepEqual(Object.keys(reasons).sort(), ['image.png', 'large.csv', 'link', 'vendor']);
  assert.match(reasons.link ?? '', /symbolic link/);
  assert.match(reasons.vendor ?? '', /submodule/);
  assert.match(reasons['large.csv'] ?? '', /Git LFS/);
});

test('findings are answered; errors refuse a strict publication', async () => {
  const { project, repository } = await arrange();
  const broken = smallPipeline.replace('type: "orchestration"', 'type: "orchestratio"');
  commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline, 'bad.orch.yaml': broken } });
  const strict = await publish(project, { branch: 'main' }, '?strict=true');
  assert.deepEqual([strict.status, strict.problem.code], [422, 'strict-upload-refused']);
  const answer = await publish(project, { branch: 'main' });
  assert.equal(answer.status, 201);
  assert.ok(answer.body.warningsTotal > 0);
});

test('what cannot be published is refused, and says what to change', async () => {
  const { project, repository } = await arrange();
  const code = async (body: object) => {
    const answer = await publish(project, body);
    return [answer.status, answer.status < 300 ? undefined : answer.problem.code];
  };
  assert.deepEqual(await code({ branch: 'main' }), [422, 'unknown-revision']);
  assert.deepEqual(await code({}), [422, 'branch-or-commit']);
  assert.deepEqual(await code({ branch: 'main', commit: 'abcd' }), [422, 'branch-or-commit']);
  assert.deepEqual(await code({ branch: 'main', tag: 'v1' }), [422, 'branch-or-commit']);
  assert.deepEqual(await code({ branch: 'main', environmentName: 'uat' }), [404, 'environment-not-found']);
  for (const branch of [
    '--upload-pack=x',
    'a..b',
    '',
    'refs/heads/main',
    'main\u0000',
    'main:README.md',
    '@{-1}',
  ])
    assert.ok([400, 422].includes((await publish(project, { branch })).status), branch);
  for (const commit of ['HEAD', 'main', '-1', '0'.repeat(40), 'f'.repeat(65)])
    assert.ok([400, 422].includes((await publish(project, { commit })).status), commit);
  commitFiles(repository.folder, { branch: 'large', files: { 'a.txt': 'x'.repeat(1_048_577) } });
  const large = await publish(project, { branch: 'large' });
  assert.deepEqual([large.status, large.problem.code], [422, 'git-tree-refused']);
  assert.match(large.problem.detail, /"a\.txt" has 1048577 bytes/);
  commitFiles(repository.folder, { branch: 'binary', files: { 'a.bin': '\u0000' } });
  assert.deepEqual(await code({ branch: 'binary' }), [422, 'empty-upload']);
  commitFiles(repository.folder, { branch: 'main', files: { 'a.orch.yaml': smallPipeline } });
  const near = await publish(project, { branch: 'mian' });
  assert.match(near.problem.detail, /did you mean/i);
  for (const branch of ['origin/main', 'refs/heads/main'])
    assert.match((await publish(project, { branch })).problem.detail, /Did you mean main\?/);
  assert.deepEqual(await code({ branch: 'main' }), [201, undefined]);
  const twice = (await publish(project, { branch: 'main' })).problem;
  assert.deepEqual([twice.status, twice.code], [409, 'version-exists']);
  assert.match(twice.detail, /send another `versionName`/);
  const none = await account.project();
  const missing = await publish(none, { branch: 'main' });
  assert.deepEqual([missing.status, missing.problem.code], [422, 'repository-missing']);
});

test('a name that is no valid path refuses the commit', async () => {
  const { project, repository } = await arrange();
  commitFiles(repository.folder, { files: { 'a\\b.txt': 'x' } });
  const answer = await publish(project, { branch: 'main' });
  assert.deepEqual([answer.status, answer.problem.code], [422, 'git-tree-refused']);
  assert.match(answer.problem.detail, /backslash/);
});

test('a request with the same key gets the same answer after the branch moved', async () => {
  const { project, repository } = await arrange();
  commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  const headers = { 'idempotency-key': 'deploy-1' };
  const first = await publish(project, { branch: 'main' }, '', headers);
  commitFiles(repository.folder, { files: { 'b.orch.yaml': smallPipeline } });
  const second = await publish(project, { branch: 'main' }, '', headers);
  assert.equal(second.text, first.text);
  assert.equal(second.headers['idempotency-replayed'], 'true');
  assert.equal((await listVersions(admin, project)).length, 1);
});

test('a role in the environment and one that reads the repository are needed; others are refused before it is read', async () => {
  const { project, repository } = await arrange();
  commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  const { projectId } = project;
  const of = { projectId, environmentName: 'dev', role: 'CONTRIBUTOR' } as const;
  const contributor = await account.actor('MEMBER', of, { projectId, role: 'VIEWER' });
  const ofEnvironmentOnly = await account.actor('MEMBER', of);
  const viewer = await account.actor('MEMBER', { projectId, role: 'VIEWER' });
  const stranger = await (await server.account()).actor('SUPER_ADMIN');
  const path = `${project.path}/artifacts/from-git`;
  const body = { environmentName: 'dev', branch: 'main' };
  const before = gitHost.requests.length;
  assert.equal((await viewer.post(path, body)).status, 403);
  assert.equal((await contributor.post(path, { ...body, environmentName: 'prod' })).status, 403);
  assert.equal((await stranger.post(path, body)).status, 404);
  const unread = requireProblem(await ofEnvironmentOnly.post(path, body), 403, 'forbidden');
  assert.match(unread.detail, /project:read/);
  assert.equal(gitHost.requests.length, before);
  assert.equal((await contributor.post(path, body)).status, 201);
});
