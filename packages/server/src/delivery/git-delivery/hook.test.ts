/** Webhooks of Git providers: which are taken, which are refused, and that a refused one does nothing. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Secret } from '@headgate/contract';
import { associate, loopbackAllowed } from '../../../testing/associated-project.ts';
import { deliver, listVersions, readRules, writeRules } from '../../../testing/git-delivery.ts';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { fakeAzureDevOps } from '../../../testing/git-providers/fake-azure-devops.ts';
import { fakeGithub } from '../../../testing/git-providers/fake-github.ts';
import { fakeGitlab } from '../../../testing/git-providers/fake-gitlab.ts';
import type { Dialect, FakeHook } from '../../../testing/git-providers/fake-provider.ts';
import { smallPipeline, type TestProject } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { ...loopbackAllowed, HEADGATE_GIT_POLL_SECONDS: '0' } });
const account = await server.account();
const { admin } = account;
const gitHost = await startGitHost();
after(() => gitHost.close());

let repositories = 0;
async function arrange(provider: string) {
  const project = await account.project();
  repositories += 1;
  const name = provider === 'azure-devops' ? `org/p/_git/r${repositories}` : `acme/r${repositories}.git`;
  const repository = gitHost.addRepository(name, { writers: ['t0ken'] });
  commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  const body = { provider, repositoryName: 'pipelines', cloneUrl: repository.cloneUrl };
  const headers = { 'Git-Provider-Access-Token': 't0ken' };
  const made = await admin.post(`${project.path}/repositories`, body, { headers });
  assert.equal(made.status, 201, made.text);
  return { project, repository };
}

async function makeSecret(project: TestProject): Promise<{ secret: Secret; url: string }> {
  const answer = await admin.post<{ secret: string; url: string }>(
    `${project.path}/repositories/hook-secret`,
    {},
  );
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.headers['cache-control'], 'no-store');
  return { secret: new Secret(answer.body.secret), url: new URL(answer.body.url).pathname };
}

interface Sent {
  status: number;
  code: string | undefined;
  text: string;
}

async function send(
  url: string,
  hook: { headers: Record<string, string>; body: string | Buffer },
): Promise<Sent> {
  const answer = await server.transport({ method: 'POST', url, headers: hook.headers, body: hook.body });
  const { code } = JSON.parse(answer.text) as { code?: string };
  return { status: answer.status, code, text: answer.text };
}

for (const dialect of [fakeGithub, fakeGitlab, fakeAzureDevOps])
  describe(`webhooks of ${dialect.name}`, () => walkHooks(dialect));

test('a push of several branches to Azure DevOps wakes the rules of all', async () => {
  const { project, repository } = await arrange('azure-devops');
  const { url, secret } = await makeSecret(project);
  commitFiles(repository.folder, { branch: 'work', files: { 'w.orch.yaml': smallPipeline } });
  await writeRules(admin, project, ['main', 'dev'], ['work', 'prod']);
  await deliver(server);
  commitFiles(repository.folder, { files: { 'b.orch.yaml': smallPipeline } });
  commitFiles(repository.folder, { branch: 'work', files: { 'b.orch.yaml': smallPipeline } });
  server.clock.advance(3);
  const about = { secret, event: 'push', branch: 'main', deliveryId: randomUUID() } as const;
  const hook = fakeAzureDevOps.buildHook({ ...about, commit: 'c'.repeat(40), at: server.clock.now() });
  const content = JSON.parse(hook.body) as { resource: { refUpdates: { name: string }[] } };
  content.resource.refUpdates = ['refs/tags/v1', 'refs/heads/main', 'refs/heads/work'].map((name) => ({
    name,
  }));
  const sent = await send(url, { ...hook, body: JSON.stringify(content) });
  assert.equal(sent.status, 202, sent.text);
  await deliver(server);
  assert.equal((await listVersions(admin, project, 'dev')).length, 2);
  assert.equal((await listVersions(admin, project, 'prod')).length, 2);
});

function walkHooks(dialect: Dialect): void {
  let project: TestProject;
  let folder: string;
  let url: string;
  let secret: Secret;
  before(async () => {
    const arranged = await arrange(dialect.name);
    project = arranged.project;
    folder = arranged.repository.folder;
    ({ url, secret } = await makeSecret(project));
    await writeRules(admin, project, ['main', 'dev']);
    await deliver(server);
  });

  const build = (change: Partial<FakeHook> = {}) =>
    dialect.buildHook({
      secret,
      event: 'push',
      branch: 'main',
      commit: 'c'.repeat(40),
      deliveryId: randomUUID(),
      at: server.clock.now(),
      ...change,
    });
  const countVersions = async () => (await listVersions(admin, project)).length;

  /** Commits, sends something that must be refused, and sees that nobody looked. */
  async function refuses(sending: () => Promise<Sent>, status: number, code: string | undefined) {
    const [versions, requests] = [await countVersions(), gitHost.requests.length];
    const sent = await sending();
    assert.deepEqual([sent.status, sent.code], [status, code], sent.text);
    await deliver(server);
    assert.deepEqual([await countVersions(), gitHost.requests.length], [versions, requests]);
  }

  test('a push is published, and a repeated hook is refused', async () => {
    const versions = await countVersions();
    commitFiles(folder, { files: { [`${randomUUID()}.orch.yaml`]: smallPipeline } });
    server.clock.advance(3);
    const hook = build();
    assert.equal((await send(url, hook)).status, 202);
    await deliver(server);
    assert.equal(await countVersions(), versions + 1);
    server.clock.advance(3);
    await refuses(() => send(url, hook), 409, 'hook-repeated');
    server.clock.advance(6 * 86_400);
    const isTimed = dialect.name !== 'gitlab';
    await refuses(() => send(url, hook), isTimed ? 400 : 409, isTimed ? 'hook-invalid' : 'hook-repeated');
  });

  test('hooks that come often make the server look every two seconds', async () => {
    server.clock.advance(3);
    for (let count = 0; count < 5; count += 1) {
      await send(url, build({ branch: 'main', commit: `${count}`.repeat(40) }));
      await deliver(server);
    }
    const looks = gitHost.requests.length;
    await deliver(server);
    assert.equal(gitHost.requests.length, looks);
    server.clock.advance(2);
    await deliver(server);
    assert.ok(gitHost.requests.length > looks);
  });

  test('who does not know the secret learns nothing', async () => {
    const other = await arrange(dialect.name);
    const foreign = await makeSecret(other.project);
    const without = await arrange(dialect.name);
    const bare = await account.project();
    const none = {
      'x-hub-signature-256': '',
      'x-gitlab-token': '',
      authorization: '',
    };
    const unsigned = () => {
      const { headers, body } = build();
      return { headers: { ...headers, ...none }, body };
    };
    const at = (projectId: string) => `/hooks/git/${projectId}`;
    const tries: [string, () => Promise<Sent>][] = [
      ['unsigned', () => send(url, unsigned())],
      ['wrong secret', () => send(url, build({ secret: new Secret('whsec_d3Jvbmc=') }))],
      ['secret of another project', () => send(url, build({ secret: foreign.secret }))],
      ['project without a secret', () => send(at(without.project.projectId), build())],
      ['project without a repository', () => send(at(bare.projectId), build())],
      ['unknown project', () => send(at(randomUUID()), build())],
      ['no project', () => send(at('x'), build())],
      ['odd project', () => send(at("'%20or%201=1"), build())],
    ];
    const texts = new Set<string>();
    for (const [what, sending] of tries) {
      let text = '';
      await refuses(
        async () => {
          const sent = await sending();
          const { detail } = JSON.parse(sent.text) as { detail: string };
          text = detail;
          return sent;
        },
        404,
        'hook-not-found',
      ).catch((failure) => {
        throw new Error(what, { cause: failure });
      });
      texts.add(text);
    }
    assert.equal(texts.size, 1);
  });

  test('what is no webhook is refused', async () => {
    const form = { ...build(), headers: { ...build().headers, 'content-type': 'text/plain' } };
    await refuses(() => send(url, form), 415, 'unsupported-media-type');
    const huge = { ...build(), body: Buffer.alloc(4 * 1_048_576 + 1, 0x20) };
    await refuses(() => send(url, huge), 413, 'body-too-large');
    const isSigned = dialect.name === 'github';
    for (const body of ['', '[]', '{"a":', 'null', '\u0000'])
      await refuses(
        () => send(url, { ...build(), body }),
        isSigned ? 404 : 400,
        isSigned ? 'hook-not-found' : 'hook-invalid',
      );
    const old = build({ event: 'review', at: new Date(server.clock.now().getTime() - 4 * 86_400_000) });
    await refuses(() => send(url, old), 400, 'hook-invalid');
    const answer = await server.transport({ method: 'GET', url, headers: {}, body: undefined });
    assert.equal(answer.status, 405);
  });

  test('events without an effect are taken, and nothing happens', async () => {
    for (const event of ['tag', 'other', 'fork'] as const)
      await refuses(() => send(url, build({ event })), 200, undefined);
    await refuses(() => send(url, build({ branch: 'elsewhere' })), 200, undefined);
    for (const branch of ['../x', 'a'.repeat(300), '--x'])
      await refuses(() => send(url, build({ branch })), 200, undefined);
  });

  test('another secret replaces the first at once', async () => {
    const next = await makeSecret(project);
    await refuses(() => send(url, build()), 404, 'hook-not-found');
    server.clock.advance(3);
    assert.equal((await send(next.url, build({ secret: next.secret }))).status, 202);
    secret = next.secret;
    const [rule] = await readRules(admin, project);
    assert.equal(rule?.writtenBy, admin.actorId);
  });

  test('a hook during a migration names it', async () => {
    const place = [account.accountId, project.projectId];
    await server.database.query(
      `insert into repository_migration (account_id, project_id, migration_id, mode, status, phase, target_provider, target_name,
         target_clone_url, provider_parameters, overwrite, requested_by, created_at)
       values ($1, $2, gen_random_uuid(), 'RECONFIGURE', 'IN_PROGRESS', 'QUEUED', 'github', 'x', 'https://x', '{}', false, $1, now())`,
      place,
    );
    const hook = build({ commit: 'd'.repeat(40) });
    const sent = await send(url, hook);
    assert.deepEqual([sent.status, sent.code], [409, 'migration-in-progress']);
    await server.database.query(
      'delete from repository_migration where account_id = $1 and project_id = $2',
      place,
    );
    server.clock.advance(3);
    assert.equal((await send(url, hook)).status, 202);
  });
}

test('repositories without webhooks have no secret', async () => {
  const path = (project: TestProject) => `${project.path}/repositories/hook-secret`;
  const none = await account.project();
  assert.equal((await admin.post(path(none), {})).problem.code, 'repository-not-found');
  const repository = gitHost.addRepository('acme/plain.git');
  await associate(admin, none, { cloneUrl: repository.cloneUrl });
  assert.equal((await admin.post(path(none), {})).problem.code, 'hook-not-supported');
  const { project } = await arrange('github');
  const of = { projectId: project.projectId, role: 'CONTRIBUTOR' } as const;
  const contributor = await account.actor('MEMBER', of);
  assert.equal((await contributor.post(path(project), {})).status, 403);
});
