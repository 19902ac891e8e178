/** Delivery rules of a project whose repository moves to another host. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AccountEventItem, Page } from '@headgate/contract';
import { commitByApi, deliver, listVersions, writeRules } from '../../testing/git-delivery.ts';
import { commitFiles, startGitHost } from '../../testing/git-host.ts';
import { createMigrationScene, loopbackHosts } from '../../testing/migration-scene.ts';
import { smallPipeline } from '../../testing/project.ts';
import { startTestServer } from '../../testing/server.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
after(() => host.close());

test('after a migration a rule is polled, and publishes with the rights of its writer', async () => {
  const { account, project, target, migrate } = await createMigrationScene(server, host, {
    provider: 'headgate',
  });
  const { admin } = account;
  const pusher = await account.actor('MEMBER', { projectId: project.projectId, role: 'CONTRIBUTOR' });
  await writeRules(admin, project, ['main', 'dev']);
  await commitByApi(pusher, project);
  await deliver(server);
  const moved = await migrate();
  assert.equal(moved.status, 'COMPLETED', moved.detail);
  await deliver(server);
  const before = await listVersions(admin, project);

  const commit = commitFiles(target.folder, { files: { 'b.orch.yaml': smallPipeline } });
  server.clock.advance(61);
  await deliver(server);
  const [newest] = await listVersions(admin, project);
  assert.equal(newest?.commitHash, commit);
  assert.equal((await listVersions(admin, project)).length, before.length + 1);
  const events = await admin.get<Page<AccountEventItem>>(
    `/events?after=oldest&eventName=branch-published&projectId=${project.projectId}`,
  );
  assert.match(JSON.stringify(events.body.results), new RegExp(`"publishedFor":"${admin.actorId}"`));
});
