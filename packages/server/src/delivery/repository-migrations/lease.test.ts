/** Servers that fall silent: the status is UNKNOWN, another one takes over, and none is held up forever. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startGitFront } from '../../../testing/git-front.ts';
import { startGitHost } from '../../../testing/git-host.ts';
import {
  createMigrationScene,
  createMigrator,
  fillRepository,
  listRefs,
  loopbackHosts,
} from '../../../testing/migration-scene.ts';
import { startTestServer } from '../../../testing/server.ts';
import { claimDue, silentLeases } from '../../../testing/server-work.ts';
import { releaseWork } from '../../kernel/work/server-work.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
const front = await startGitFront(() => host.port);
after(() => Promise.all([host.close(), front.close()]));

const leaseSeconds = 20;
const kind = { kind: 'repository-migration', leaseSeconds, interruptedAtOnce: 8 };

test('another server takes over after the lease, and the first one changes nothing more', async () => {
  const scene = await createMigrationScene(server, host, { leases: silentLeases });
  fillRepository(scene.source);
  const targetCloneUrl = scene.target.cloneUrl.replace(host.url, front.url);
  const pushing = front.holdNext(/^POST .*git-receive-pack/);
  const { migrationId } = (await scene.start({ body: { targetCloneUrl } })).body;
  await scene.migrator.look();
  const { release } = await pushing;
  assert.deepEqual(
    [(await scene.read(migrationId)).status, (await scene.read(migrationId)).progress?.phase],
    ['IN_PROGRESS', 'PUSHING'],
  );
  server.clock.advance(leaseSeconds + 1);
  assert.equal((await scene.read(migrationId)).status, 'UNKNOWN');
  const second = createMigrator(server.deps, { retryMilliseconds: [] });
  await second.look();
  await second.wait();
  const end = await scene.read(migrationId);
  assert.equal(end.status, 'COMPLETED', end.detail);
  release();
  await scene.migrator.wait();
  assert.deepEqual(await scene.read(migrationId), end);
  assert.deepEqual(listRefs(scene.target), listRefs(scene.source));
  const events = await server.database.query(
    "select 1 from event where name = 'repository-migrated' and project_id = $1",
    [scene.project.projectId],
  );
  assert.equal(events.length, 1);
});

test('a migration that servers never finish ends as given up', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const { migrationId } = (await scene.start()).body;
  await server.database.query('update server_work set attempts = 5, lease_until = $2 where work_id = $1', [
    migrationId,
    server.clock.now(),
  ]);
  server.clock.advance(1);
  await scene.migrator.look();
  await scene.migrator.wait();
  const { status, code, detail } = await scene.read(migrationId);
  assert.deepEqual([status, code], ['FAILED', 'given-up']);
  assert.match(detail ?? '', /5 began it, and none ended it/);
  assert.equal(await scene.readCloneUrl(), scene.source.cloneUrl);
  assert.equal((await scene.migrate()).status, 'COMPLETED', 'the lock is free');
});

test('a migration that servers have given back is not given up', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const { migrationId } = (await scene.start()).body;
  const { read } = server.deps.database;
  for (let claims = 0; claims < 6; claims += 1) {
    const [held] = await claimDue(server.deps, kind);
    assert.ok(held);
    assert.equal(held.work_id, migrationId);
    const now = server.clock.now();
    await releaseWork(read, held, { outcome: 'unfinished', dueAt: now, now });
  }
  await scene.migrator.look();
  await scene.migrator.wait();
  const { status, detail } = await scene.read(migrationId);
  assert.equal(status, 'COMPLETED', detail);
});

test('a migration that no server claims is given up after a quarter of an hour', async () => {
  const scene = await createMigrationScene(server, host);
  const { migrationId } = (await scene.start()).body;
  const without = { ...server.deps.git, check: async () => ({ fault: 'git is gone' }) };
  const helpless = createMigrator(server.deps, { git: without });
  await helpless.look();
  assert.equal((await scene.read(migrationId)).status, 'IN_PROGRESS');
  server.clock.advance(16 * 60);
  await helpless.look();
  await helpless.wait();
  assert.equal((await scene.read(migrationId)).code, 'given-up');
});
