/** The job that delivers what is due. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problem } from '../../kernel/http/problems.ts';
import { associate, host as hostHere, loopbackAllowed } from '../../testing/associated-project.ts';
import { commitByApi, deliver, listVersions, writeRules } from '../../testing/git-delivery.ts';
import { startGitHost } from '../../testing/git-host.ts';
import { startTestServer } from '../../testing/server.ts';
import { waitUntil } from '../../testing/waiting.ts';
import type { RepositoryUse } from '../repositories/index.ts';
import { createDeliveryJob, deliverDue } from './delivery-job.ts';

const server = await startTestServer({ settings: loopbackAllowed });

test('a host that does not answer does not stop the deliveries of others', async () => {
  const [slow, other] = [await server.account(), await server.account()];
  const gitHost = await startGitHost();
  const hanging = gitHost.addRepository('acme/slow.git');
  hanging.behaviour.hangs = true;
  const waiting = await slow.project();
  await associate(slow.admin, waiting, { cloneUrl: hanging.cloneUrl });
  await writeRules(slow.admin, waiting, ['main', 'dev']);

  const stopping = new AbortController();
  const job = createDeliveryJob({ ...server.deps, stopping: stopping.signal });
  const running = job.run(async () => undefined);
  try {
    await waitUntil('a request of the hanging host', 30, () => gitHost.requests.length > 0);
    const project = await other.project();
    await hostHere(other.admin, project);
    await commitByApi(other.admin, project);
    await writeRules(other.admin, project, ['main', 'dev']);
    await waitUntil(
      'the version of the other account',
      40,
      async () => (await listVersions(other.admin, project)).length === 1,
    );
    assert.equal((await listVersions(slow.admin, waiting)).length, 0);
  } finally {
    stopping.abort();
    await gitHost.close();
    await running;
  }
});

test('a delivery that the end of a server cuts is made by the next one', async () => {
  const account = await server.account();
  const project = await account.project();
  await hostHere(account.admin, project);
  await commitByApi(account.admin, project);
  await writeRules(account.admin, project, ['main', 'dev']);
  const { repositories } = server.deps;
  const listTree = () => Promise.reject(problem('shutting-down'));
  const ending: RepositoryUse = {
    ...repositories,
    withRepository: (place, use, freshness) =>
      repositories.withRepository(
        place,
        (opened) => use({ ...opened, content: { ...opened.content, listTree } }),
        freshness,
      ),
  };
  await deliverDue({ ...server.deps, repositories: ending });
  server.clock.advance(31);
  await deliver(server);
  assert.equal((await listVersions(account.admin, project)).length, 1);
});
