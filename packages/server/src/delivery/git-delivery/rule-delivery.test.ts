/** Delivery rules: which pushes are published, and how often. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { AccountEventItem, Page } from '@headgate/contract';
import { loopbackAllowed } from '../../../testing/associated-project.ts';
import {
  commitByApi,
  createDeliveryScene,
  deliver,
  readRules,
  short,
  writeRules,
} from '../../../testing/git-delivery.ts';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { smallPipeline } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { claimDue } from '../../../testing/server-work.ts';

const server = await startTestServer({ settings: loopbackAllowed });
const claim = () => claimDue(server.deps, { kind: 'git-delivery', leaseSeconds: 120 });
const account = await server.account();
const { admin } = account;
const gitHost = await startGitHost();
after(() => gitHost.close());

const { arrange, arrangeHosted, names, readEvents } = createDeliveryScene(account, gitHost);

describe('a repository hosted here', () => {
  test('is published when the rule is written, and at each push', async () => {
    const project = await arrangeHosted();
    const first = await commitByApi(admin, project);
    await writeRules(admin, project, ['main', 'dev']);
    await deliver(server);
    assert.deepEqual(await names(project), [`${short(first)}-main`]);
    server.clock.advance(1);
    const second = await commitByApi(admin, project, {
      expectedHead: first,
      files: { 'b.orch.yaml': smallPipeline },
    });
    await deliver(server);
    assert.deepEqual(await names(project), [`${short(second)}-main`, `${short(first)}-main`]);
    const [rule] = await readRules(admin, project);
    assert.equal(rule?.commitHash, second);
    assert.equal(rule?.versionName, `${short(second)}-main`);
    assert.equal(rule?.problem, undefined);
    assert.equal(rule?.writtenBy, admin.actorId);
    assert.equal((await readEvents(project, 'branch-published')).length, 2);
    await deliver(server);
    assert.equal((await names(project)).length, 2);
    const body = { environmentName: 'dev', branch: 'main' };
    const twice = (await admin.post(`${project.path}/artifacts/from-git`, body)).problem;
    assert.equal(twice.code, 'version-exists');
    assert.match(twice.detail, /rule of the branch "main" has published it.*send another `versionName`/);
  });

  test('publishes a commit again when the branch goes back to it', async () => {
    const project = await arrangeHosted();
    const first = await commitByApi(admin, project, { branch: 'work' });
    await writeRules(admin, project, ['work', 'dev']);
    await deliver(server);
    server.clock.advance(1);
    await commitByApi(admin, project, {
      branch: 'work',
      expectedHead: first,
      files: { 'b.orch.yaml': smallPipeline },
    });
    await deliver(server);
    server.clock.advance(1);
    const removed = await admin.delete(`${project.path}/repositories/branches?branchName=work`);
    assert.equal(removed.status, 204, removed.text);
    await deliver(server);
    assert.match((await readRules(admin, project))[0]?.problem ?? '', /no branch "work"/);
  });
});

describe('a repository on another host', () => {
  test('is polled', async () => {
    const { project, repository } = await arrange();
    const first = commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
    await writeRules(admin, project, ['main', 'dev'], ['main', 'prod']);
    await deliver(server);
    assert.deepEqual(await names(project), [`${short(first)}-main`]);
    assert.deepEqual(await names(project, 'prod'), [`${short(first)}-main`]);
    const before = gitHost.requests.length;
    await deliver(server);
    assert.equal(gitHost.requests.length, before);
    const second = commitFiles(repository.folder, { files: { 'b.orch.yaml': smallPipeline } });
    server.clock.advance(61);
    await deliver(server);
    assert.deepEqual(await names(project), [`${short(second)}-main`, `${short(first)}-main`]);
    // A forced push back: the version is immutable, so that the commit is published under another name.
    repository.git('update-ref', 'refs/heads/main', first);
    server.clock.advance(61);
    await deliver(server);
    assert.equal((await names(project))[0], `${short(first)}-main.2`);
  });

  test('that fails is tried again, and the rule says why', async () => {
    const { project, repository } = await arrange();
    commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
    repository.behaviour.isHidden = true;
    await writeRules(admin, project, ['main', 'dev']);
    await deliver(server);
    assert.match((await readRules(admin, project))[0]?.problem ?? '', /404|not found/i);
    repository.behaviour.isHidden = false;
    server.clock.advance(31);
    await deliver(server);
    assert.equal((await readRules(admin, project))[0]?.problem, undefined);
    assert.equal((await names(project)).length, 1);
    assert.deepEqual(await readEvents(project, 'branch-not-published'), []);
  });

  test('with pipelines that have errors is published, and the rule shows them until they are corrected', async () => {
    const { project, repository } = await arrange();
    const broken = smallPipeline.replace('type: "orchestration"', 'type: "orchestratio"');
    commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline, 'bad.orch.yaml': broken } });
    await writeRules(admin, project, ['main', 'dev']);
    const readProblem = async () => (await readRules(admin, project))[0]?.problem ?? '';
    await deliver(server);
    assert.equal((await names(project)).length, 1);
    assert.match(await readProblem(), /is published, but its pipelines have 1 error.*bad\.orch\.yaml/);
    await writeRules(admin, project, ['main', 'dev']);
    await deliver(server);
    assert.match(await readProblem(), /bad\.orch\.yaml/);
    commitFiles(repository.folder, { files: { 'bad.orch.yaml': smallPipeline } });
    server.clock.advance(61);
    await deliver(server);
    assert.equal((await names(project)).length, 2);
    assert.equal(await readProblem(), '');
  });

  test('with a commit that cannot be published keeps the last version, and leaves one event', async () => {
    const { project, repository } = await arrange();
    commitFiles(repository.folder, { files: { 'a.bin': '\u0000' } });
    await writeRules(admin, project, ['main', 'dev']);
    await deliver(server);
    server.clock.advance(61);
    await deliver(server);
    assert.match((await readRules(admin, project))[0]?.problem ?? '', /no part of the form can be stored/);
    assert.equal((await readEvents(project, 'branch-not-published')).length, 1);
    assert.deepEqual(await names(project), []);
  });

  test('is published with the rights of the writer of the rule', async () => {
    const { project, repository } = await arrange();
    commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
    const owner = await account.actor('MEMBER', { projectId: project.projectId, role: 'OWNER' });
    await writeRules(owner, project, ['main', 'dev']);
    await admin.delete(`/credentials/${owner.actorId}`);
    await deliver(server);
    assert.deepEqual(await names(project), []);
    assert.equal((await readEvents(project, 'branch-not-published')).length, 1);
  });
});

test('two servers publish a commit once', async () => {
  const { project, repository } = await arrange();
  const commit = commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  const other = await startTestServer({
    database: server.database,
    settings: loopbackAllowed,
    startsAt: server.clock.now(),
  });
  await writeRules(admin, project, ['main', 'dev']);
  await Promise.all([deliver(server), deliver(other)]);
  assert.deepEqual(await names(project), [`${short(commit)}-main`]);
});

test('a rule of a dead server is taken over after its lease', async () => {
  const { project, repository } = await arrange();
  const commit = commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  await writeRules(admin, project, ['main', 'dev']);
  assert.equal((await claim()).length, 1);
  await deliver(server);
  assert.deepEqual(await names(project), []);
  server.clock.advance(121);
  await deliver(server);
  assert.deepEqual(await names(project), [`${short(commit)}-main`]);
});

test('of the rules that a killed server held, one at a time is taken up, and the innocent ones are delivered', async () => {
  await server.database.query('update server_work set due_at = null, lease_until = null');
  const { project, repository } = await arrange();
  const commit = commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  await writeRules(admin, project, ['main', 'dev'], ['main', 'prod']);
  assert.equal((await claim()).length, 2);
  server.clock.advance(121);
  const [interrupted, ...others] = await claim();
  assert.deepEqual(others, []);
  const [guilty] = await server.database.query(
    'select environment_name from delivery_rule where work_id = $1',
    [interrupted?.work_id],
  );
  assert.deepEqual(await claim(), [], 'the other one waits for the end of this one');
  server.clock.advance(121);
  await deliver(server);
  await deliver(server);
  const rules = await readRules(admin, project);
  const isSetAside = rules.map(({ environmentName, problem }) => [
    environmentName,
    problem?.includes('was set aside') ?? false,
  ]);
  assert.deepEqual(
    isSetAside,
    rules.map(({ environmentName }) => [environmentName, environmentName === guilty?.environment_name]),
  );
  const innocent = guilty?.environment_name === 'dev' ? 'prod' : 'dev';
  assert.deepEqual(await names(project, innocent), [`${short(commit)}-main`]);
});

test('a rule that took two servers down is set aside until the next push, with an event', async () => {
  const { project, repository } = await arrange();
  commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  await writeRules(admin, project, ['main', 'dev']);
  await server.database.query(
    'update server_work set due_at = null where work_id not in (select work_id from delivery_rule where project_id = $1)',
    [project.projectId],
  );
  for (let death = 0; death < 2; death += 1) {
    assert.equal((await claim()).length, 1);
    server.clock.advance(121);
  }
  await deliver(server);
  assert.deepEqual(await names(project), []);
  const [rule] = await readRules(admin, project);
  assert.match(rule?.problem ?? '', /was set aside: a server stopped .* 2 times in a row/);
  const path = `/events?after=oldest&eventName=branch-not-published&projectId=${project.projectId}`;
  assert.equal((await admin.get<Page<AccountEventItem>>(path)).body.results.length, 1);
  server.clock.advance(86_400);
  await deliver(server);
  assert.deepEqual(await names(project), [], 'it is not tried again by itself');
  await writeRules(admin, project, ['main', 'dev']);
  await deliver(server);
  assert.equal((await names(project)).length, 1, 'writing the rules again makes it due');
});

test('a version that was published by hand is not published twice', async () => {
  const { project, repository } = await arrange();
  commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
  const body = { environmentName: 'dev', branch: 'main', versionName: '1.0' };
  assert.equal((await admin.post(`${project.path}/artifacts/from-git`, body)).status, 201);
  await writeRules(admin, project, ['main', 'dev']);
  await deliver(server);
  assert.deepEqual(await names(project), ['1.0']);
  assert.equal((await readRules(admin, project))[0]?.versionName, '1.0');
});

describe('rules', () => {
  test('are replaced as a whole, and refused for unknown environments and bad branches', async () => {
    const project = await arrangeHosted();
    const patch = (...deliveryRules: object[]) =>
      admin.patch(`${project.path}/repositories`, { deliveryRules });
    const code = async (...rules: object[]) => (await patch(...rules)).problem.code;
    assert.equal(await code({ branchName: 'main', environmentName: 'uat' }), 'environment-not-found');
    assert.equal(await code({ branchName: 'a..b', environmentName: 'dev' }), 'invalid-branch-name');
    const rule = { branchName: 'main', environmentName: 'dev' };
    assert.equal(await code(rule, rule), 'invalid-request');
    await writeRules(admin, project, ['main', 'dev'], ['main', 'prod'], ['work', 'dev']);
    await writeRules(admin, project, ['main', 'dev']);
    assert.deepEqual(
      (await readRules(admin, project)).map(({ branchName, environmentName }) => [
        branchName,
        environmentName,
      ]),
      [['main', 'dev']],
    );
    await writeRules(admin, project);
    assert.deepEqual(await readRules(admin, project), []);
  });

  test('do not publish while the repository is migrated', async () => {
    const { project, repository } = await arrange();
    commitFiles(repository.folder, { files: { 'main.orch.yaml': smallPipeline } });
    await writeRules(admin, project, ['main', 'dev']);
    const migration = [account.accountId, project.projectId];
    await server.database.query(
      `insert into repository_migration (account_id, project_id, migration_id, mode, status, phase, target_provider, target_name,
         target_clone_url, provider_parameters, overwrite, requested_by, created_at)
       values ($1, $2, gen_random_uuid(), 'RECONFIGURE', 'IN_PROGRESS', 'QUEUED', 'github', 'x', 'https://x', '{}', false, $1, now())`,
      migration,
    );
    await deliver(server);
    assert.match((await readRules(admin, project))[0]?.problem ?? '', /migrat/);
    await server.database.query(
      'delete from repository_migration where account_id = $1 and project_id = $2',
      migration,
    );
    server.clock.advance(6);
    await deliver(server);
    assert.equal((await names(project)).length, 1);
  });
});
