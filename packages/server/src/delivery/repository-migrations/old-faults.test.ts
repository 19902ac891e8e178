/** Public repositories have faults that old programs made. They are pushed, fetched and moved all the same. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Page, RepositoryBranch, RepositoryCommit, RepositoryFile } from '@headgate/contract';
import { associate, loopbackAllowed } from '../../../testing/associated-project.ts';
import { gitEnvironment, type HostedOnHost, runGit, startGitHost } from '../../../testing/git-host.ts';
import { makeHostedProject, makeUserGit } from '../../../testing/hosted-project.ts';
import { createMigrationScene, listRefs } from '../../../testing/migration-scene.ts';
import { oldFaults } from '../../../testing/old-faults.ts';
import {
  makeCommands,
  makeCommitObject,
  makePack,
  makeTreeObject,
  type RawObject,
} from '../../../testing/raw-push.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: loopbackAllowed });
const base = await server.listen();
const host = await startGitHost();
after(() => host.close());

const idOf = (objects: readonly RawObject[]) => objects.at(-1)?.id ?? '';
const expected = oldFaults.map(([fault, objects]) => `${idOf(objects)} refs/heads/${fault}`).toSorted();

/** As an old git, which checked nothing. */
function put({ folder, git }: HostedOnHost, name: string, objects: readonly RawObject[]): void {
  runGit(folder, ['index-pack', '--stdin'], makePack(objects));
  git('update-ref', `refs/heads/${name}`, idOf(objects));
}

function fillWithFaults(repository: HostedOnHost): void {
  for (const [fault, objects] of oldFaults) put(repository, fault, objects);
}

test('each fault is the one that git names', async () => {
  const { folder } = host.addRepository('acme/names.git');
  for (const [fault, objects] of oldFaults) {
    const { status, stderr } = spawnSync('git', ['index-pack', '--stdin', '--strict'], {
      cwd: folder,
      env: gitEnvironment,
      input: makePack(objects),
      encoding: 'utf8',
    });
    assert.notEqual(status, 0, fault);
    assert.match(stderr, new RegExp(`: ${fault}: `), fault);
  }
});

test('they are pushed to a hosted repository, cloned and read', async () => {
  const { account, project, url } = await makeHostedProject(server, base);
  const path = `${project.path}/repositories`;
  for (const [fault, objects] of oldFaults) {
    const name = `refs/heads/${fault}`;
    const response = await fetch(`${base}/git/${project.projectId}.git/git-receive-pack`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await account.admin.token()}`,
        'content-type': 'application/x-git-receive-pack-request',
      },
      body: new Uint8Array(Buffer.concat([makeCommands([{ to: idOf(objects), name }]), makePack(objects)])),
    });
    assert.match(await response.text(), new RegExp(`ok ${name}`));
    const { results } = (await account.admin.get<Page<RepositoryCommit>>(`${path}/commits?branch=${fault}`))
      .body;
    assert.equal(results[0]?.commitId, idOf(objects), fault);
    const files = await account.admin.get<Page<RepositoryFile>>(
      `${path}/files?branch=${fault}&recursive=true`,
    );
    assert.ok(
      files.body.results.some((each) => each.path.endsWith('main.orch.yaml')),
      fault,
    );
  }
  const git = await makeUserGit();
  await git.ok(['clone', '-q', '--mirror', url, 'copy']);
  const cloned = await git.ok(['for-each-ref', '--format=%(objectname) %(refname)'], {
    cwd: join(git.folder, 'copy'),
  });
  assert.deepEqual(cloned.split('\n').toSorted(), expected);
});

test('they are read from another host', async () => {
  const { admin, ...account } = await server.account();
  const project = await account.project();
  const repository = host.addRepository('acme/read.git');
  fillWithFaults(repository);
  await associate(admin, project, { cloneUrl: repository.cloneUrl });
  const { body } = await admin.get<Page<RepositoryBranch>>(`${project.path}/repositories/branches`);
  assert.deepEqual(
    body.results.map(({ name, commitId }) => `${commitId} refs/heads/${name}`).toSorted(),
    expected,
  );
});

test('they are moved', async () => {
  const scene = await createMigrationScene(server, host);
  fillWithFaults(scene.source);
  const { status, detail } = await scene.migrate();
  assert.equal(status, 'COMPLETED', detail);
  assert.deepEqual(listRefs(scene.target).toSorted(), expected);
});

test('what endangers a checkout stays refused', async () => {
  const [[, [blob] = []] = []] = oldFaults;
  const entry = (name: string) => ({ mode: '100644', name, id: blob?.id ?? '' });
  const trees: [string, RawObject][] = [
    ['hasDotgit', makeTreeObject([entry('.git')])],
    ['hasDotdot', makeTreeObject([{ ...entry('..'), mode: '40000', id: makeTreeObject([]).id }])],
    ['duplicateEntries', makeTreeObject([entry('a'), entry('a')])],
    ['fullPathname', makeTreeObject([entry('a/b')])],
  ];
  for (const [fault, tree] of trees) {
    const scene = await createMigrationScene(server, host);
    const objects = [
      makeTreeObject([]),
      ...(blob === undefined ? [] : [blob]),
      tree,
      makeCommitObject(tree.id),
    ];
    put(scene.source, 'main', objects);
    const { status, code, detail } = await scene.migrate();
    assert.deepEqual([status, code], ['FAILED', 'source-damaged'], detail);
    assert.match(detail ?? '', new RegExp(fault), detail);
  }
});
