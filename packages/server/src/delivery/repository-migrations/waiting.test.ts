/** Migrations that wait for a server. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startGitFront } from '../../../testing/git-front.ts';
import { startGitHost } from '../../../testing/git-host.ts';
import {
  createMigrationScene,
  createMigrator,
  fillRepository,
  loopbackHosts,
} from '../../../testing/migration-scene.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { createMigrationSettings } from './index.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
after(() => host.close());

test('a migration that waits for its turn, or for the start of a server, is worked on', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const { body } = await scene.start();
  server.clock.advance(3_600);
  await scene.migrator.look();
  await scene.migrator.wait();
  const { status, detail } = await scene.read(body.migrationId);
  assert.equal(status, 'COMPLETED', detail);
});

test('a push to another host that is under way is waited for, and copied', async () => {
  const front = await startGitFront(() => host.port);
  after(() => front.close());
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const cloneUrl = scene.source.cloneUrl.replace(host.url, front.url);
  await server.database.query(
    'update repository set clone_url = $2, credential_origin = $3 where project_id = $1',
    [scene.project.projectId, cloneUrl, front.url],
  );
  const pushing = front.holdNext(/^POST .*git-receive-pack/);
  const { admin } = scene.account;
  const files = [{ path: 'late.txt', content: 'late' }];
  const commits = `${scene.project.path}/repositories/commits`;
  const committed = admin.post<{ commitId: string }>(commits, { branch: 'main', message: 'late', files });
  const { release } = await pushing;
  const { migrationId } = (await scene.start()).body;
  let wait = () => {};
  const waiting = new Promise<void>((resolve) => {
    wait = resolve;
  });
  const hosted: typeof server.deps.hosted = {
    ...server.deps.hosted,
    async waitForWrites(at, signal) {
      wait();
      await server.deps.hosted.waitForWrites(at, signal);
    },
  };
  const migrator = createMigrator(server.deps, { hosted });
  await migrator.look();
  const first = await Promise.race([waiting.then(() => 'waits'), migrator.wait().then(() => 'has ended')]);
  release();
  const { commitId } = (await committed).body;
  await migrator.wait();
  assert.equal(first, 'waits');
  assert.equal((await scene.read(migrationId)).status, 'COMPLETED');
  assert.equal(scene.target.git('rev-parse', 'main').trim(), commitId);
});

test('a renewal of the token that is under way is waited for', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const until = new Date(server.clock.now().getTime() + 60_000);
  const { projectId } = scene.project;
  await server.database.query('update repository set renewal_until = $2 where project_id = $1', [
    projectId,
    until,
  ]);
  const { migrationId } = (await scene.start()).body;
  const work = async () => {
    await scene.migrator.look();
    await scene.migrator.wait();
    return (await scene.read(migrationId)).status;
  };
  assert.equal(await work(), 'IN_PROGRESS');
  server.clock.advance(61);
  assert.equal(await work(), 'COMPLETED');
});

test('a push that no server can end fails the migration, with its own code', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const { account, project } = scene;
  const { migrationId } = (await scene.start()).body;
  await server.database.query(
    `insert into repository_write (account_id, project_id, write_id, moves, actor_id, actor_kind, begun_at, lease_until)
     values ($1, $2, gen_random_uuid(), '[]', $3, 'credential', now(), 'infinity')`,
    [account.accountId, project.projectId, account.admin.actorId],
  );
  const settings = createMigrationSettings(server.deps.config.git.mostBytes);
  const limits = { ...settings.limits, writesMilliseconds: 100 };
  const migrator = createMigrator(server.deps, { limits });
  await migrator.look();
  await migrator.wait();
  const { status, code, detail } = await scene.read(migrationId);
  assert.deepEqual([status, code], ['FAILED', 'push-unfinished'], detail);
});

test('a push to an address that the repository had before is refused', async () => {
  const scene = await createMigrationScene(server, host);
  const { actorId } = scene.account.admin;
  const by = {
    scope: { accountId: scene.account.accountId, actorId },
    projectId: scene.project.projectId,
    requestId: crypto.randomUUID(),
    cloneUrl: scene.target.cloneUrl,
  };
  const write = () => Promise.reject(new Error('it was written'));
  await assert.rejects(server.deps.hosted.writeElsewhere(by, write), { code: 'concurrent-change' });
});

test('a migration that no server can work on fails after 15 minutes', async () => {
  const scene = await createMigrationScene(server, host);
  const { body } = await scene.start();
  const git = { ...server.deps.git, check: async () => ({ fault: 'there is no git' }) };
  const migrator = createMigrator(server.deps, { git });
  server.clock.advance(890);
  await migrator.look();
  assert.equal((await scene.read(body.migrationId)).status, 'IN_PROGRESS');
  server.clock.advance(20);
  await migrator.look();
  await migrator.wait();
  const { status, code } = await scene.read(body.migrationId);
  assert.deepEqual([status, code], ['FAILED', 'given-up']);
});

test('an account whose hosts do not answer leaves turns to others', async () => {
  const slowHost = await startGitHost();
  const hanging = slowHost.addRepository('acme/slow.git');
  hanging.behaviour.hangs = true;
  const slow = await server.account();
  for (let count = 0; count < 5; count += 1) {
    const project = await slow.project();
    const associated = { provider: 'git', repositoryName: 'slow', cloneUrl: hanging.cloneUrl };
    assert.equal((await slow.admin.post(`${project.path}/repositories`, associated)).status, 201);
    const target = {
      mode: 'MIRROR_PUSH',
      targetCloneUrl: `${slowHost.url}/acme/other.git`,
      targetProvider: 'github',
      targetName: 'other',
    };
    assert.equal((await slow.admin.post(`${project.path}/repository-migration`, target)).status, 202);
  }
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const { migrationId } = (await scene.start()).body;
  const stopping = new AbortController();
  const migrator = createMigrator({ ...server.deps, stopping: stopping.signal });
  try {
    await migrator.look();
    const begun = await server.database.query(
      'select from server_work where account_id = $1 and attempts > 0',
      [slow.accountId],
    );
    assert.equal(begun.length, 4);
    await waitUntil(
      'the migration of the other account',
      120,
      async () => (await scene.read(migrationId)).status === 'COMPLETED',
    );
  } finally {
    stopping.abort();
    await slowHost.close();
    await migrator.wait();
  }
});
