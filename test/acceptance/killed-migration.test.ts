/**
 * A server is killed in the middle of a repository migration, at each of its requests to the two hosts, and
 * while it waits for the last transaction. The project points at the old repository until the switch, and the
 * migration ends after the next start.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { isInTurn, testSeed } from '@headgate/contract/testing/rounds';
import { type GitFront, startGitFront } from '../../packages/server/testing/git-front.ts';
import {
  commitFiles,
  type GitHost,
  type HostedOnHost,
  startGitHost,
} from '../../packages/server/testing/git-host.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { onDatabaseOf } from './harness/database.ts';
import { ended, Installation, pidOf } from './harness/installation.ts';
import { signal } from './harness/processes.ts';
import { Project } from './harness/project.ts';

/**
 * The requests of a migration are, in their order: the lists of both, a dry push, fetch, push, and both lists
 * again. A negative number counts from the end. Each run tries some, and others the next time.
 */
const killedAt = [0, 2, 5, 8, 10, -1].filter((_, index, all) => isInTurn(index, all.length, 1));

describe(`a server killed during a repository migration (TEST_SEED=${testSeed})`, () => {
  let headgate: Installation;
  let running: ChildProcess;
  let client: ApiClient;
  let host: GitHost;
  let front: GitFront;

  before(async () => {
    host = await startGitHost();
    front = await startGitFront(() => host.port);
    const environment = { HEADGATE_LOCAL_AGENT: 'off', HEADGATE_EGRESS_ALLOW: '127.0.0.0/8' };
    headgate = await Installation.create({ environment });
    running = await headgate.start();
    client = headgate.client();
  });
  after(async () => {
    await headgate.remove();
    await front.close();
    await host.close();
  });

  let repositories = 0;
  interface Scene {
    path: string;
    source: HostedOnHost;
    target: HostedOnHost;
    start(): Promise<string>;
    readCloneUrl(): Promise<string>;
    read(id: string): Promise<{ status: string; code?: string; detail?: string }>;
  }

  async function createScene(): Promise<Scene> {
    repositories += 1;
    const [source, target] = ['source', 'target'].map((name) =>
      host.addRepository(`acme/${name}-${repositories}.git`),
    ) as [HostedOnHost, HostedOnHost];
    commitFiles(source.folder, { files: { 'a.txt': 'a' } });
    commitFiles(source.folder, { branch: 'dev', files: { 'b.txt': 'b' } });
    const { path } = await Project.create(client);
    const at = (name: string) => `${front.url}/acme/${name}-${repositories}.git`;
    const [from, to] = [at('source'), at('target')];
    await client.ask('POST', `${path}/repositories`, {
      provider: 'git',
      repositoryName: 'acme/source',
      cloneUrl: from,
    });
    const body = {
      mode: 'MIRROR_PUSH',
      targetCloneUrl: to,
      targetProvider: 'github',
      targetName: 'acme/target',
    };
    return {
      path,
      source,
      target,
      start: async () => (await client.ask('POST', `${path}/repository-migration`, body)).migrationId,
      readCloneUrl: async () => (await client.ask('GET', `${path}/repositories`)).results[0].cloneUrl,
      read: (id) => client.ask('GET', `${path}/repository-migration/${id}`),
    };
  }

  async function killAndRestart(): Promise<void> {
    signal(pidOf(running), 'SIGKILL');
    await ended(running);
    running = await headgate.start();
  }

  /** As if the time of the lease had passed. */
  async function endLease(id: string): Promise<void> {
    await onDatabaseOf(headgate, (query) =>
      query("update server_work set lease_until = now() - interval '1 s' where work_id = $1", [id]),
    );
  }

  async function requireEnd({ read, readCloneUrl, source, target }: Scene, id: string): Promise<void> {
    const end = await waitUntil('the end of the migration', 300, async () => {
      const found = await read(id);
      return found.status !== 'IN_PROGRESS' && found.status !== 'UNKNOWN' ? found : undefined;
    });
    assert.equal(end.status, 'COMPLETED', end.detail);
    const refs = ['for-each-ref', '--format=%(objectname) %(refname)'];
    assert.equal(target.git(...refs), source.git(...refs));
    assert.match(await readCloneUrl(), /target-/);
  }

  let total = 0;
  it('is not disturbed at first', async () => {
    const scene = await createScene();
    await requireEnd(scene, await scene.start());
    total = front.requests.length;
    assert.ok(total > 10);
  });

  for (const at of killedAt)
    it(`is completed after a kill at request ${at}`, async () => {
      const scene = await createScene();
      const held = front.holdNext(/./, at < 0 ? total + at : at);
      const id = await scene.start();
      const { url } = await held;
      await killAndRestart();
      assert.match(await scene.readCloneUrl(), /source-/, `killed at ${url}`);
      assert.ok(['IN_PROGRESS', 'UNKNOWN'].includes((await scene.read(id)).status));
      await endLease(id);
      await requireEnd(scene, id);
    });

  it('is completed after a kill in the last transaction', async () => {
    const scene = await createScene();
    const id = await onDatabaseOf(headgate, async (query) => {
      const held = front.holdNext(/receive-pack/);
      const started = await scene.start();
      const { release } = await held;
      await query('begin');
      await query('lock table repository in share mode');
      release();
      await waitUntil('the last transaction', 300, async () => {
        // A transaction sees the same activity until it asks for a new view.
        await query('select pg_stat_clear_snapshot()');
        const [row] = await query<{ waiting: boolean }>(
          "select exists (select from pg_stat_activity where wait_event_type = 'Lock' and query like '%update repository set%') as waiting",
        );
        return row?.waiting;
      });
      signal(pidOf(running), 'SIGKILL');
      await ended(running);
      return started;
    });
    running = await headgate.start();
    assert.match(await scene.readCloneUrl(), /source-/);
    await endLease(id);
    await requireEnd(scene, id);
  });
});
