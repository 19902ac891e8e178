/** Repositories of other hosts: what changes there, and what hosts refuse. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Page, RepositoryBranch, RepositoryFile } from '@headgate/contract';
import { associate, host as hostHere, loopbackAllowed } from '../../../testing/associated-project.ts';
import { commitFiles, runGit, startGitHost } from '../../../testing/git-host.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { createUnusedMirrorsJob } from './unused-mirrors.ts';

const server = await startTestServer({ settings: loopbackAllowed });
const account = await server.account();
const { admin } = account;
const host = await startGitHost();
after(() => host.close());

let names = 0;
async function makeProject() {
  names += 1;
  const project = await account.project();
  const repository = host.addRepository(`acme/remote${names}.git`, { writers: ['t'] });
  await associate(admin, project, { cloneUrl: repository.cloneUrl, token: 't' });
  const path = `${project.path}/repositories`;
  return {
    project,
    repository,
    path,
    branches: async () => (await admin.get<Page<RepositoryBranch>>(`${path}/branches`)).body.results,
    commit: (content: string, members: object = {}) => {
      const files = [{ path: 'a.txt', content }];
      return admin.post<{ commitId: string }>(`${path}/commits`, {
        branch: 'main',
        message: 'x',
        files,
        ...members,
      });
    },
  };
}

test('what is pushed elsewhere is seen, and requests of two seconds share one fetch', async () => {
  const { repository, branches } = await makeProject();
  const first = commitFiles(repository.folder, { files: { a: '1' } });
  const before = host.requests.length;
  const seen = await Promise.all([branches(), branches(), branches()]);
  assert.ok(seen.every(([branch]) => branch?.commitId === first));
  const requests = host.requests.slice(before).map(({ url }) => url.replace(/^.*\.git/, ''));
  assert.ok(requests.filter((url) => url.startsWith('/info/refs')).length <= 2, requests.join(' '));
  const second = commitFiles(repository.folder, { files: { a: '2' } });
  commitFiles(repository.folder, { branch: 'folder/one', files: { b: '1' } });
  server.clock.advance(3);
  assert.deepEqual(
    (await branches()).map(({ name, commitId }) => [name, commitId === second]),
    [
      ['folder/one', false],
      ['main', true],
    ],
  );
  // A branch that is now a folder, and a branch that is gone.
  repository.git('update-ref', '-d', 'refs/heads/folder/one');
  commitFiles(repository.folder, { branch: 'folder', files: { c: '1' } });
  server.clock.advance(3);
  assert.deepEqual(
    (await branches()).map(({ name }) => name),
    ['folder', 'main'],
  );
});

test('a commit is made again when the branch has moved on the host since it was read', async () => {
  const { repository, branches, commit } = await makeProject();
  commitFiles(repository.folder, { files: { a: '1' } });
  await branches();
  const theirs = commitFiles(repository.folder, { files: { a: '2' } });
  const mine = (await commit('mine')).body.commitId;
  assert.equal(repository.git('rev-parse', 'main').trim(), mine);
  assert.equal(repository.git('rev-parse', 'main^').trim(), theirs);
  await branches();
  const later = commitFiles(repository.folder, { files: { a: '3' } });
  const { problem } = await commit('stale', { expectedHead: mine });
  assert.deepEqual([problem.status, problem.code], [409, 'branch-has-moved']);
  assert.equal((await branches())[0]?.commitId, later, 'and read again at once');
});

test('what a host refuses is told in its words', async () => {
  const { repository, commit, path } = await makeProject();
  commitFiles(repository.folder, { files: { a: '1' } });
  const hook = join(repository.folder, 'hooks/pre-receive');
  writeFileSync(hook, '#!/bin/sh\necho "GH006: Protected branch update failed" >&2\nexit 1\n');
  chmodSync(hook, 0o755);
  const { problem } = await commit('x');
  assert.deepEqual([problem.status, problem.code], [422, 'push-refused']);
  assert.match(problem.detail, /GH006: Protected branch update failed.*pre-receive hook declined/);
  repository.behaviour = { isHidden: true };
  server.clock.advance(3);
  const hidden = (await admin.get(`${path}/branches`)).problem;
  assert.deepEqual([hidden.status, hidden.code], [502, 'git-host-failed']);
  assert.match(hidden.detail, /has no such repository, or hides it from this token \(404\)/);
  repository.behaviour = { answer: { status: 429, headers: { 'retry-after': '17' } } };
  const limited = await admin.get(`${path}/branches`);
  assert.deepEqual([limited.status, limited.headers['retry-after']], [502, '17']);
  repository.behaviour = { cutAfterBytes: 1 };
  assert.match((await admin.get(`${path}/branches`)).problem.detail, /before its answer was complete/);
});

test('odd names are listed as they are', async () => {
  const { repository, path, branches } = await makeProject();
  const commitId = commitFiles(repository.folder, { files: { a: '1' } });
  for (const name of ['ünïcode/分支', "it's$(x)&|"])
    repository.git('update-ref', `refs/heads/${name}`, commitId);
  repository.git('update-ref', 'refs/pull/1/head', commitId);
  assert.deepEqual(
    (await branches()).map(({ name }) => name),
    ["it's$(x)&|", 'main', 'ünïcode/分支'],
  );
  const list = (branch: string) =>
    admin.get<Page<RepositoryFile>>(`${path}/files?branch=${encodeURIComponent(branch)}`);
  for (const { name } of await branches()) assert.equal((await list(name)).status, 200, name);
});

test('a mirror does not grow beyond the limit, whatever the host sends again and again', async () => {
  const small = await startTestServer({ settings: { ...loopbackAllowed, HEADGATE_REPOSITORY_MB: '1' } });
  const owner = await small.account();
  const project = await owner.project();
  const repository = host.addRepository('acme/growing.git', { writers: ['t'] });
  await associate(owner.admin, project, { cloneUrl: repository.cloneUrl, token: 't' });
  const folder = join(
    small.deps.repositoriesFolder,
    '../mirrors',
    owner.accountId,
    `${project.projectId}.git`,
  );
  const read = () => owner.admin.get(`${project.path}/repositories/branches`);
  const measure = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  for (let round = 0; round < 5; round += 1) {
    const content = randomBytes(400_000).toString('base64');
    commitFiles(repository.folder, { branch: `r${round}`, files: { a: content } });
    if (round > 0) repository.git('update-ref', '-d', `refs/heads/r${round - 1}`);
    small.clock.advance(3);
    assert.equal((await read()).status, 200);
  }
  assert.ok(measure() < 2 * 1_048_576, `${measure()} bytes`);

  // Commits by the API count as pushes do.
  const hosted = await owner.project();
  await hostHere(owner.admin, hosted);
  const codes: (string | undefined)[] = [];
  for (let round = 0; round < 4; round += 1) {
    const files = [{ path: 'a', content: randomBytes(300_000).toString('base64') }];
    const body = { branch: 'main', message: 'more', files };
    const answer = await owner.admin.post(`${hosted.path}/repositories/commits`, body);
    codes.push(answer.status === 201 ? undefined : answer.problem.code);
  }
  assert.deepEqual(codes, [undefined, undefined, undefined, 'repository-too-large']);

  // A refused commit begins to free the space of deleted branches.
  const retained = join(small.deps.repositoriesFolder, `${hosted.projectId}.git`);
  const deletedAt = new Date(Date.now() - 3 * 86_400_000);
  for (const name of readdirSync(join(retained, 'objects/pack')))
    utimesSync(join(retained, 'objects/pack', name), deletedAt, deletedAt);
  runGit(retained, ['update-ref', '-d', 'refs/heads/main']);
  small.clock.advance(3_601);
  await waitUntil('there is space', 120, async () => {
    const files = [{ path: 'a', content: randomBytes(300_000).toString('base64') }];
    const body = { branch: 'main', message: 'more', files };
    return (await owner.admin.post(`${hosted.path}/repositories/commits`, body)).status === 201;
  });

  commitFiles(repository.folder, { files: { b: randomBytes(2_000_000).toString('base64') } });
  for (let round = 0; round < 3; round += 1) {
    small.clock.advance(3);
    assert.equal((await read()).problem.code, 'repository-too-large');
  }
  assert.ok(measure() < 2 * 1_048_576, `${measure()} bytes`);
});

test('the mirror is removed with the association and with the project, and when it is unused for 30 days', async () => {
  const { mirrors } = server.deps;
  // A folder that cannot be removed.
  const broken = { accountId: '\0', projectId: 'p', folder: '\0', usedAt: new Date(0) };
  const list = async () => [broken, ...(await mirrors.list())];
  const job = createUnusedMirrorsJob({ ...server.deps, mirrors: { ...mirrors, list } });
  const folderOf = (projectId: string) =>
    join(server.deps.repositoriesFolder, '../mirrors', account.accountId, `${projectId}.git`);
  const [one, two, three] = [await makeProject(), await makeProject(), await makeProject()];
  for (const { branches, project } of [one, two, three]) {
    await branches();
    assert.ok(existsSync(folderOf(project.projectId)));
  }
  await admin.delete(one.path);
  assert.ok(!existsSync(folderOf(one.project.projectId)));
  await admin.delete(two.project.path);
  await job.run(async () => undefined);
  assert.ok(!existsSync(folderOf(two.project.projectId)));
  assert.ok(existsSync(folderOf(three.project.projectId)));
  server.clock.advance(31 * 86_400);
  await job.run(async () => undefined);
  assert.ok(!existsSync(folderOf(three.project.projectId)));
  assert.equal((await three.branches()).length, 0, 'it is made again');
});
