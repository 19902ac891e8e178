/** Migrations that wait for a server. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startGitHost } from '../../testing/git-host.ts';
import { createMigrationScene, fillRepository, loopbackHosts } from '../../testing/migration-scene.ts';
import { startTestServer } from '../../testing/server.ts';
import { createMigrationSettings, createMigrator } from './index.ts';

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

test('a migration that no server can work on fails after 15 minutes', async () => {
  const scene = await createMigrationScene(server, host);
  const { body } = await scene.start();
  const git = { ...server.deps.git, check: async () => ({ fault: 'there is no git' }) };
  const migrator = createMigrator({
    ...server.deps,
    ...createMigrationSettings(server.deps.config.git.mostBytes),
    git,
  });
  server.clock.advance(890);
  await migrator.look();
  assert.equal((await scene.read(body.migrationId)).status, 'IN_PROGRESS');
  server.clock.advance(20);
  await migrator.look();
  const { status, code } = await scene.read(body.migrationId);
  assert.deepEqual([status, code], ['FAILED', 'given-up']);
});
