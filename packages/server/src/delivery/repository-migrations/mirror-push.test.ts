/** MIRROR_PUSH between two Git hosts on loopback. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startGitHost } from '../../testing/git-host.ts';
import {
  createMigrationScene,
  fillRepository,
  listRefs,
  loopbackHosts,
} from '../../testing/migration-scene.ts';
import { startTestServer } from '../../testing/server.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
after(() => host.close());

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
