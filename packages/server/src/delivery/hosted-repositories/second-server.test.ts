/** What a second server sees, and what a server finds that another one left when it was killed. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { associate, host as hostHere, loopbackAllowed } from '../../../testing/associated-project.ts';
import { commitByApi } from '../../../testing/git-delivery.ts';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { startTestServer } from '../../../testing/server.ts';
import { doDueWork } from '../../../testing/server-work.ts';
import { createRepositoryWriteWork } from './repository-write.work.ts';

const shared = await mkdtemp(join(tmpdir(), 'headgate-shared-'));
after(() => rm(shared, { recursive: true, force: true }));
const settings = { ...loopbackAllowed, HEADGATE_REPOSITORIES_DIR: shared };
const server = await startTestServer({ settings });
const second = await startTestServer({ settings, database: server.database });
const account = await server.account();
const { admin } = account;
const gitHost = await startGitHost();
after(() => gitHost.close());

/** A lease that ended has such a time. */
const passed = () => new Date(second.clock.now().getTime() - 10_000);

test('each server has mirrors of its own, as only one may fetch into a folder at a time', async () => {
  const project = await account.project();
  const repository = gitHost.addRepository('acme/r.git');
  commitFiles(repository.folder, { files: { a: 'a' } });
  await associate(admin, project, { cloneUrl: repository.cloneUrl });
  const answer = await admin.get(`${project.path}/repositories/branches`);
  assert.equal(answer.status, 200, answer.text);
  assert.equal((await server.deps.mirrors.list()).length, 1);
  assert.deepEqual(await second.deps.mirrors.list(), []);
});

test('a branch that a killed server left locked can be pushed to again', async () => {
  const project = await account.project();
  await hostHere(admin, project);
  const head = await commitByApi(admin, project);
  const folder = join(shared, `${project.projectId}.git`);
  const lock = join(folder, 'refs/heads/main.lock');
  await writeFile(lock, '');
  const killedAt = Date.now() / 1_000 - 130;
  await utimes(lock, killedAt, killedAt);
  const moves = [{ name: 'refs/heads/main', from: head, to: 'a'.repeat(40) }];
  await server.database.query(
    `insert into repository_write (account_id, project_id, write_id, moves, actor_id, actor_kind, begun_at, lease_until)
     values ($1, $2, gen_random_uuid(), $3, $4, 'credential', $5, $5)`,
    [account.accountId, project.projectId, JSON.stringify(moves), admin.actorId, passed()],
  );
  await doDueWork(second.deps, createRepositoryWriteWork(second.deps));
  const next = await commitByApi(admin, project, { expectedHead: head, files: { b: 'b' } });
  assert.notEqual(next, head);
});

test('a repository that cannot be read does not keep the writes of others', async () => {
  const [broken, fine] = [await account.project(), await account.project()];
  for (const project of [broken, fine]) {
    await hostHere(admin, project);
    await commitByApi(admin, project);
    await server.database.query(
      `insert into repository_write (account_id, project_id, write_id, moves, actor_id, actor_kind, begun_at, lease_until)
       values ($1, $2, gen_random_uuid(), '[{"name": "refs/heads/x", "from": null, "to": null}]', $3, 'credential', $4, $4)`,
      [account.accountId, project.projectId, admin.actorId, passed()],
    );
  }
  await rm(join(shared, `${broken.projectId}.git`), { recursive: true });
  await doDueWork(second.deps, createRepositoryWriteWork(second.deps));
  const left = await server.database.query('select project_id from repository_write where account_id = $1', [
    account.accountId,
  ]);
  assert.deepEqual(
    left.map((row) => (row as { project_id: string }).project_id),
    [broken.projectId],
  );
});

test('a branch that another server has protected meanwhile is not deleted', async () => {
  const project = await account.project();
  await hostHere(admin, project);
  const head = await commitByApi(admin, project);
  const { accountId } = account;
  const { projectId } = project;
  const repository = await server.deps.hosted.open({ accountId, projectId }, 'main');
  const by = {
    scope: { accountId, actorId: admin.actorId },
    projectId,
    requestId: crypto.randomUUID(),
    // As they were when the push began.
    rules: { defaultBranch: 'main', protectedBranches: [] },
  };
  const change = { name: 'refs/heads/main', from: head, to: null };
  await assert.rejects(server.deps.hosted.move(repository, by, [change]), { code: 'ref-refused' });
  assert.equal(await repository.findCommitId('refs/heads/main'), head);
});
