/** With whose rights a delivery rule publishes: those of the pusher of a hosted branch, else of the rule's writer. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AccountEventItem, Page } from '@headgate/contract';
import {
  commitByApi,
  createDeliveryScene,
  deliver,
  listVersions,
  readRules,
  short,
  writeRules,
} from '../../../testing/git-delivery.ts';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { createMigrationScene, loopbackHosts } from '../../../testing/migration-scene.ts';
import { smallPipeline, type TestProject } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { doDueWork } from '../../../testing/server-work.ts';
import { createPlaces } from '../../kernel/work/places.ts';
import { createServerWorker } from '../../kernel/work/server-worker.ts';
import type { RefChange } from '../hosted-repositories/index.ts';
import { recordWrite } from '../hosted-repositories/recorded-write.ts';
import { createRepositoryWriteWork } from '../hosted-repositories/repository-write.work.ts';
import type { RepositoryUse } from '../repositories/index.ts';
import { createDeliveryWork } from './git-delivery.work.ts';

const server = await startTestServer(loopbackHosts);
const account = await server.account();
const { admin } = account;
const gitHost = await startGitHost();
after(() => gitHost.close());

const { arrange, arrangeHosted, names, readEvents } = createDeliveryScene(account, gitHost);

/** A write that has moved the refs, and is not recorded. Returns its id. */
async function leaveWrite(
  { projectId }: TestProject,
  moves: readonly RefChange[],
  leaseSeconds = 120,
): Promise<string> {
  const rows = await server.database.query(
    `insert into repository_write (account_id, project_id, write_id, moves, actor_id, actor_kind, begun_at, lease_until)
     values ($1, $2, gen_random_uuid(), $3, $4, 'credential', $5, $5::timestamptz + make_interval(secs => $6)) returning write_id`,
    [
      ...[account.accountId, projectId, JSON.stringify(moves), admin.actorId],
      ...[server.clock.now(), leaseSeconds],
    ],
  );
  return (rows[0] as { write_id: string }).write_id;
}

async function readPushers({ projectId }: TestProject): Promise<unknown[]> {
  const rows = await server.database.query('select pushers from delivery_rule where project_id = $1', [
    projectId,
  ]);
  return rows.map((row) => (row as { pushers: unknown }).pushers);
}

/** A rule has published the head of `main`; a contributor may push the next commit. */
async function arrangePublished() {
  const project = await arrangeHosted();
  const head = await commitByApi(admin, project);
  await writeRules(admin, project, ['main', 'prod']);
  await deliver(server);
  const pusher = await account.actor('MEMBER', { projectId: project.projectId, role: 'CONTRIBUTOR' });
  return { project, head, pusher };
}

test('a hosted branch is published with the rights that the pusher has at that moment', async () => {
  const { project, head, pusher } = await arrangePublished();
  server.clock.advance(1);
  const second = await commitByApi(pusher, project, {
    expectedHead: head,
    files: { 'b.orch.yaml': smallPipeline },
  });
  await admin.delete(`/credentials/${pusher.actorId}`);
  await deliver(server);
  assert.deepEqual(await names(project, 'prod'), [`${short(head)}-main`]);
  const [rule] = await readRules(admin, project);
  assert.equal(rule?.commitHash, second);
  assert.match(rule?.problem ?? '', /deleted, deactivated or has expired/);
  const [event] = await readEvents(project, 'branch-not-published');
  assert.equal(event?.eventSubjectName, 'main');
  assert.match(JSON.stringify(event?.additionalInfo), new RegExp(`"publishedFor":"${pusher.actorId}"`));
  // The refused commit is tried again when somebody with rights writes the rules.
  await writeRules(admin, project, ['main', 'prod']);
  await deliver(server);
  assert.equal((await names(project, 'prod'))[0], `${short(second)}-main`);
});

test('a push that waits is not published with the rights of a caller who writes the rules meanwhile', async () => {
  const { project, head, pusher } = await arrangePublished();
  await commitByApi(pusher, project, { expectedHead: head, files: { 'b.orch.yaml': smallPipeline } });
  await admin.delete(`/credentials/${pusher.actorId}`);
  await writeRules(admin, project, ['main', 'prod']);
  await deliver(server);
  assert.deepEqual(await names(project, 'prod'), [`${short(head)}-main`]);
});

test('a hosted branch is not published with the rights of an earlier pusher', async () => {
  const project = await arrangeHosted();
  const first = await commitByApi(admin, project);
  await writeRules(admin, project, ['main', 'prod']);
  const of = { projectId: project.projectId, role: 'CONTRIBUTOR' } as const;
  const contributor = await account.actor('MEMBER', of);
  // Pushed between the claim of the rule and the reading of the branch.
  const { repositories } = server.deps;
  const files = { 'b.orch.yaml': smallPipeline };
  let second: string | undefined;
  const pushing: RepositoryUse = {
    ...repositories,
    async withRepository(...about) {
      if (second === undefined) {
        server.clock.advance(1);
        second = await commitByApi(contributor, project, { expectedHead: first, files });
        await admin.delete(`/credentials/${contributor.actorId}`);
      }
      return repositories.withRepository(...about);
    },
  };
  const work = createDeliveryWork({ ...server.deps, repositories: pushing }, createPlaces(1, 1));
  const worker = createServerWorker(server.deps, work);
  await worker.look();
  await worker.wait();
  assert.ok(second);
  assert.deepEqual(await names(project, 'prod'), []);
  await deliver(server);
  assert.deepEqual(await names(project, 'prod'), []);
  const [event] = await readEvents(project, 'branch-not-published');
  assert.match(JSON.stringify(event?.additionalInfo), new RegExp(`"publishedFor":"${contributor.actorId}"`));
  assert.equal((await readRules(admin, project))[0]?.commitHash, second);
});

test('a hosted branch is published with the rights of the pusher of its commit, in whatever order pushes are recorded', async () => {
  const project = await arrangeHosted();
  const first = await commitByApi(admin, project);
  await writeRules(admin, project, ['main', 'prod']);
  await deliver(server);
  server.clock.advance(1);
  const files = { 'b.orch.yaml': smallPipeline };
  const second = await commitByApi(admin, project, { expectedHead: first, files });
  const of = { projectId: project.projectId, role: 'CONTRIBUTOR' } as const;
  const contributor = await account.actor('MEMBER', of);
  const more = { 'c.orch.yaml': smallPipeline };
  const third = await commitByApi(contributor, project, { expectedHead: second, files: more });
  await admin.delete(`/credentials/${contributor.actorId}`);
  // The push before is recorded now.
  const changes = [{ name: 'refs/heads/main', from: first, to: second }];
  const writeId = await leaveWrite(project, changes);
  const { accountId } = account;
  const source = { accountId, actorId: admin.actorId, actorKind: 'credential', requestId: null } as const;
  const at = { accountId, projectId: project.projectId, writeId };
  await recordWrite(server.deps, at, { source, changes });
  await deliver(server);
  assert.deepEqual(await names(project, 'prod'), [`${short(first)}-main`]);
  const [rule] = await readRules(admin, project);
  assert.equal(rule?.commitHash, third);
  assert.match(rule?.problem ?? '', /deleted, deactivated or has expired/);
  // A server that ends the write of another one wakes only branches that are where the write put them.
  await leaveWrite(project, changes, -10);
  await doDueWork(server.deps, createRepositoryWriteWork(server.deps));
  assert.deepEqual(await readPushers(project), [null]);
});

test('a hosted branch is not published with the rights of those that pushed other commits', async () => {
  const project = await arrangeHosted();
  await commitByApi(admin, project);
  await writeRules(admin, project, ['main', 'prod']);
  await server.database.query('update delivery_rule set pushers = $1 where project_id = $2', [
    JSON.stringify({ ['a'.repeat(40)]: admin.actorId }),
    project.projectId,
  ]);
  await deliver(server);
  assert.deepEqual(await names(project, 'prod'), []);
  assert.match((await readRules(admin, project))[0]?.problem ?? '', /not known which caller/);
  await writeRules(admin, project, ['main', 'prod']);
  await deliver(server);
  assert.equal((await names(project, 'prod')).length, 1);
});

test('a hosted branch is not published before it is known whose push moved it', async () => {
  const project = await arrangeHosted();
  const head = await commitByApi(admin, project);
  await writeRules(admin, project, ['main', 'dev']);
  const place = [account.accountId, project.projectId];
  await leaveWrite(project, [{ name: 'refs/heads/main', from: null, to: head }]);
  await deliver(server);
  assert.deepEqual(await names(project), []);
  await server.database.query(
    'delete from repository_write where account_id = $1 and project_id = $2',
    place,
  );
  server.clock.advance(6);
  await deliver(server);
  assert.deepEqual(await names(project), [`${short(head)}-main`]);
});

test('a branch that was hosted here before is published with the rights of the writer of the rule', async () => {
  const { project, repository } = await arrange();
  const head = commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  const owner = await account.actor('MEMBER', { projectId: project.projectId, role: 'OWNER' });
  await writeRules(owner, project, ['main', 'dev']);
  await server.database.query('update delivery_rule set pushers = $1 where project_id = $2', [
    JSON.stringify({ [head]: admin.actorId }),
    project.projectId,
  ]);
  await admin.delete(`/credentials/${owner.actorId}`);
  await deliver(server);
  assert.deepEqual(await names(project), []);
  const [event] = await readEvents(project, 'branch-not-published');
  assert.match(JSON.stringify(event?.additionalInfo), new RegExp(`"publishedFor":"${owner.actorId}"`));
});

test('after a migration a rule is polled, and publishes with the rights of its writer', async () => {
  const {
    account: own,
    project,
    target,
    migrate,
  } = await createMigrationScene(server, gitHost, {
    provider: 'headgate',
  });
  const { admin: owner } = own;
  const pusher = await own.actor('MEMBER', { projectId: project.projectId, role: 'CONTRIBUTOR' });
  await writeRules(owner, project, ['main', 'dev']);
  await commitByApi(pusher, project);
  await deliver(server);
  const moved = await migrate();
  assert.equal(moved.status, 'COMPLETED', moved.detail);
  await deliver(server);
  const before = await listVersions(owner, project);

  const commit = commitFiles(target.folder, { files: { 'b.orch.yaml': smallPipeline } });
  server.clock.advance(61);
  await deliver(server);
  const [newest] = await listVersions(owner, project);
  assert.equal(newest?.commitHash, commit);
  assert.equal((await listVersions(owner, project)).length, before.length + 1);
  const events = await owner.get<Page<AccountEventItem>>(
    `/events?after=oldest&eventName=branch-published&projectId=${project.projectId}`,
  );
  assert.match(JSON.stringify(events.body.results), new RegExp(`"publishedFor":"${owner.actorId}"`));
});

test('a pusher who may publish, and can no longer read the repository, publishes nothing', async () => {
  const { project, head } = await arrangePublished();
  const { projectId } = project;
  const role = 'CONTRIBUTOR';
  const grants = [
    { projectId, role },
    { projectId, environmentName: 'prod', role },
  ] as const;
  const pusher = await account.actor('MEMBER', ...grants);
  server.clock.advance(1);
  await commitByApi(pusher, project, { expectedHead: head, files: { 'b.orch.yaml': smallPipeline } });
  await server.database.query(
    'delete from role_grant where project_id = $1 and credential_id = $2 and environment_name is null',
    [projectId, pusher.actorId],
  );
  await deliver(server);
  assert.equal((await names(project, 'prod')).length, 1);
  const [refusal] = await readEvents(project, 'branch-not-published');
  assert.match(JSON.stringify(refusal?.additionalInfo), /project:read/);
});
