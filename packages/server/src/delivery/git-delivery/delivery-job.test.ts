/** The job that delivers what is due. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { associate, host as hostHere, loopbackAllowed } from '../../../testing/associated-project.ts';
import { commitByApi, deliver, listVersions, writeRules } from '../../../testing/git-delivery.ts';
import { startGitHost } from '../../../testing/git-host.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { problem } from '../../kernel/http/problems.ts';
import { createWorkerJob } from '../../kernel/work/server-worker.ts';
import type { RepositoryUse } from '../repositories/index.ts';
import { createGitWork } from './index.ts';

const server = await startTestServer({ settings: loopbackAllowed });

test('a host that does not answer does not stop the deliveries of others', async () => {
  const [slow, other] = [await server.account(), await server.account()];
  const gitHost = await startGitHost();
  const hanging = gitHost.addRepository('acme/slow.git');
  hanging.behaviour.hangs = true;
  const waiting = await slow.project();
  await associate(slow.admin, waiting, { cloneUrl: hanging.cloneUrl });
  await writeRules(slow.admin, waiting, ['main', 'dev']);
  await server.database.query(
    `with review as (
       insert into git_review (account_id, project_id, branch_name, touched_at) values ($1, $2, 'work', $3) returning work_id)
     insert into server_work (account_id, work_id, kind, due_at) select $1, work_id, 'git-review', $3 from review`,
    [slow.accountId, waiting.projectId, server.clock.now()],
  );

  const stopping = new AbortController();
  const services = { ...server.deps, stopping: stopping.signal };
  const jobs = createGitWork(services).map((kind) => createWorkerJob(services, kind));
  const running = Promise.all(jobs.map((job) => job.run(async () => undefined)));
  try {
    await waitUntil('a request of the hanging host', 120, () => gitHost.requests.length > 0);
    const project = await other.project();
    await hostHere(other.admin, project);
    await commitByApi(other.admin, project);
    await writeRules(other.admin, project, ['main', 'dev']);
    await waitUntil(
      'the version of the other account',
      120,
      async () => (await listVersions(other.admin, project)).length === 1,
    );
    assert.equal((await listVersions(slow.admin, waiting)).length, 0);

    // A fetch that lasts longer than the lease keeps it, so no other server begins the same.
    const readLeases = async (): Promise<[number, Date][]> => {
      const rows = await server.database.query(
        `select w.epoch, w.lease_until from server_work w where w.work_id in (
           select work_id from delivery_rule where project_id = $1
           union all select work_id from git_review where project_id = $1)`,
        [waiting.projectId],
      );
      return rows.map((row) => [Number(row.epoch), row.lease_until as Date]);
    };
    for (let time = 0; time < 2; time += 1) {
      server.clock.advance(100);
      const now = server.clock.now();
      await waitUntil('renewed leases', 120, async () =>
        (await readLeases()).every(([, until]) => until.getTime() - now.getTime() > 100_000),
      );
    }
    await deliver(server);
    assert.deepEqual(
      (await readLeases()).map(([epoch]) => epoch),
      [1, 1],
    );
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
  await deliver({ deps: { ...server.deps, repositories: ending } });
  server.clock.advance(31);
  await deliver(server);
  assert.equal((await listVersions(account.admin, project)).length, 1);
});
