/** Checks of pull requests, and the commit statuses that tell of them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { type AccountEventItem, type GitReview, type Page, Secret } from '@headgate/contract';
import { loopbackAllowed } from '../../../testing/associated-project.ts';
import { deliver } from '../../../testing/git-delivery.ts';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { fakeGithub } from '../../../testing/git-providers/fake-github.ts';
import { startFakeProvider } from '../../../testing/git-providers/fake-provider.ts';
import { smallPipeline } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { claimDue } from '../../../testing/server-work.ts';

const gitHost = await startGitHost();
const fake = await startFakeProvider(fakeGithub);
after(() => Promise.all([gitHost.close(), fake.close()]));
const server = await startTestServer({
  settings: { ...loopbackAllowed, HEADGATE_GITHUB_URL: gitHost.url, HEADGATE_GITHUB_API_URL: fake.url },
});
const account = await server.account();
const { admin } = account;
const token = fake.addToken('write');
const reader = fake.addToken('read');
const repository = gitHost.addRepository('acme/pipelines.git', {
  writers: [token.reveal()],
  readers: [reader.reveal()],
});

async function arrange(shown = token) {
  const project = await account.project();
  const body = { provider: 'github', repositoryName: 'pipelines', providerParameters: { ownerName: 'acme' } };
  const headers = { 'Git-Provider-Access-Token': shown.reveal() };
  const made = await admin.post(`${project.path}/repositories`, body, { headers });
  assert.equal(made.status, 201, made.text);
  const secret = await admin.post<{ secret: string; url: string }>(
    `${project.path}/repositories/hook-secret`,
    {},
  );
  const url = new URL(secret.body.url).pathname;

  return {
    project,
    async open(branch: string): Promise<void> {
      const hook = fakeGithub.buildHook({
        secret: new Secret(secret.body.secret),
        event: 'review',
        branch,
        commit: 'c'.repeat(40),
        deliveryId: randomUUID(),
        at: server.clock.now(),
      });
      const answer = await server.transport({ method: 'POST', url, ...hook });
      assert.equal(answer.status, 202, answer.text);
      await deliver(server);
    },
    async read(branch: string): Promise<GitReview | undefined> {
      const path = `${project.path}/repositories/reviews?branchName=${encodeURIComponent(branch)}`;
      return (await admin.get<Page<GitReview>>(path)).body.results[0];
    },
  };
}

test('a pull request gets the findings of an upload as a commit status', async () => {
  const { project, open, read } = await arrange();
  const broken = smallPipeline.replace('type: "orchestration"', 'type: "orchestratio"');
  const bad = commitFiles(repository.folder, {
    branch: 'feature/load',
    files: { 'main.orch.yaml': smallPipeline, 'bad.orch.yaml': broken },
  });
  await open('feature/load');
  const [failed] = fake.repository.statuses.slice(-1);
  assert.equal(failed?.commit, bad);
  assert.equal(failed?.state, 'failure');
  assert.match(failed?.description ?? '', /^1 error, no warnings: bad\.orch\.yaml:1 /);
  assert.equal(
    failed?.targetUrl,
    `${server.deps.config.publicUrl}/dpc/v1/projects/${project.projectId}/repositories/reviews?branchName=feature%2Fload`,
  );
  const review = await read('feature/load');
  assert.deepEqual([review?.outcome, review?.errors, review?.commitHash], ['failure', 1, bad]);
  assert.equal(review?.findings[0]?.path, 'bad.orch.yaml');

  const good = commitFiles(repository.folder, {
    branch: 'feature/load',
    files: { 'bad.orch.yaml': smallPipeline },
  });
  server.clock.advance(3);
  await open('feature/load');
  const [passed] = fake.repository.statuses.slice(-1);
  assert.deepEqual([passed?.commit, passed?.state], [good, 'success']);
  // Nothing is published.
  const versions = await admin.get<Page<object>>(`${project.path}/artifacts?environmentName=dev`);
  assert.equal(versions.body.total, 0);
});

test('a tree that cannot be published fails the check', async () => {
  const { open, read } = await arrange();
  commitFiles(repository.folder, { branch: 'odd', files: { 'a\\b': 'x' } });
  await open('odd');
  const [status] = fake.repository.statuses.slice(-1);
  assert.equal(status?.state, 'failure');
  assert.match(status?.description ?? '', /cannot be published/);
  const [finding] = (await read('odd'))?.findings ?? [];
  assert.equal(finding?.code, 'git-tree-refused');
  assert.match(finding?.message ?? '', /backslash/);
});

test('a status that cannot be set is tried again, then an event tells', async () => {
  const { project, open, read } = await arrange(reader);
  commitFiles(repository.folder, { branch: 'quiet', files: { 'main.orch.yaml': smallPipeline } });
  await open('quiet');
  const review = await read('quiet');
  assert.equal(review?.isPending, true);
  assert.match(review?.problem ?? '', /Commit statuses: read and write/);
  for (let count = 0; count < 8; count += 1) {
    server.clock.advance(7_201);
    await deliver(server);
  }
  assert.equal((await read('quiet'))?.isPending, false);
  const path = `/events?after=oldest&eventName=commit-status-not-set&projectId=${project.projectId}`;
  const events = (await admin.get<Page<AccountEventItem>>(path)).body.results;
  assert.equal(events.length, 1);
  assert.equal(events[0]?.eventSubjectName, 'quiet');
});

test('a limit of the provider is respected', async () => {
  const { open, read } = await arrange();
  commitFiles(repository.folder, { branch: 'many', files: { 'main.orch.yaml': smallPipeline } });
  fake.limitNext = 1;
  await open('many');
  assert.match((await read('many'))?.problem ?? '', /limits how often/);
  const sent = fake.repository.statuses.length;
  server.clock.advance(41);
  await deliver(server);
  assert.equal(fake.repository.statuses.length, sent);
  server.clock.advance(2);
  await deliver(server);
  assert.equal(fake.repository.statuses.length, sent + 1);
  const review = await read('many');
  assert.deepEqual([review?.isPending, review?.problem], [false, undefined]);
});

test('a check that took two servers down is set aside, with an event', async () => {
  const { project, open, read } = await arrange();
  commitFiles(repository.folder, { branch: 'deadly', files: { 'main.orch.yaml': smallPipeline } });
  await open('deadly');
  await server.database.query(
    'update server_work set due_at = $2 where work_id in (select work_id from git_review where project_id = $1)',
    [project.projectId, server.clock.now()],
  );
  for (let death = 0; death < 2; death += 1) {
    assert.equal((await claimDue(server.deps, { kind: 'git-review', leaseSeconds: 120 })).length, 1);
    server.clock.advance(121);
  }
  await deliver(server);
  const review = await read('deadly');
  assert.equal(review?.isPending, false);
  assert.match(review?.problem ?? '', /was set aside/);
  const path = `/events?after=oldest&eventName=commit-status-not-set&projectId=${project.projectId}`;
  assert.equal((await admin.get<Page<AccountEventItem>>(path)).body.results.length, 1);
});

test('a branch that is gone ends the check', async () => {
  const { open, read } = await arrange();
  const sent = fake.repository.statuses.length;
  await open('gone');
  assert.equal(fake.repository.statuses.length, sent);
  assert.equal((await read('gone'))?.isPending, false);
});

test('the checks are kept for 30 days', async () => {
  const { open, read } = await arrange();
  await open('old');
  server.clock.advance(31 * 86_400);
  const { removeOldReviews } = await import('./review.store.ts');
  assert.ok((await removeOldReviews(server.deps.database.read, server.clock.now())) > 0);
  assert.equal(await read('old'), undefined);
});

test('a branch with a rules file gets the findings of the rules, too', async () => {
  const { open, read } = await arrange();
  const update = smallPipeline.replace(
    /components:\n/,
    (line) => `${line}    Close: {type: sql-script, parameters: {sqlScript: update a set b = 1}}\n`,
  );
  const rules = 'rules: [{id: maximum-components, enforcementLevel: error, config: {maxComponents: 1}}]';
  commitFiles(repository.folder, {
    branch: 'feature/rules',
    files: { 'main.orch.yaml': update, 'headgate-rules.yaml': rules },
  });
  await open('feature/rules');
  const found = await read('feature/rules');
  assert.equal(found?.outcome, 'failure');
  assert.ok(found.findings.some(({ code, level }) => code === 'maximum-components' && level === 'error'));
});
