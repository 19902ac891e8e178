/** What a start is checked for in its request, and the lock. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { MigrationPreflight } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startGitHost } from '../../../testing/git-host.ts';
import { createMigrationScene, fillRepository, loopbackHosts } from '../../../testing/migration-scene.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
after(() => host.close());

test('a start answers 202 with the id, and the status tells phase and target', async () => {
  const scene = await createMigrationScene(server, host);
  const started = await scene.start();
  assert.equal(started.status, 202);
  const { migrationId } = started.body;
  assert.match(started.headers.location ?? '', new RegExp(`/repository-migration/${migrationId}$`));
  const migration = await scene.read(migrationId);
  assert.deepEqual([migration.status, migration.progress?.phase], ['IN_PROGRESS', 'QUEUED']);
  assert.equal(migration.targetCloneUrl, scene.target.cloneUrl);
  assert.equal(migration.detail, undefined);
});

test('one migration at a time; other operations of the repository name it', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const [one, other] = await Promise.all([scene.start(), scene.start()]);
  assert.deepEqual([one.status, other.status].sort(), [202, 409]);
  const winner = one.status === 202 ? one : other;
  const { migrationId } = winner.body;
  const { admin } = scene.account;
  const repositories = `${scene.project.path}/repositories`;
  for (const [method, path, body] of [
    ['POST', scene.path, startBody(scene.target.cloneUrl)],
    ['DELETE', repositories],
    ['PATCH', repositories, { defaultBranch: 'main' }],
    ['GET', `${repositories}/branches`],
    ['DELETE', scene.project.path],
  ] as const) {
    const answer = await admin.send(method, path, body === undefined ? {} : { body });
    assert.equal(answer.status, 409, `${method} ${path}: ${answer.text}`);
    assert.equal(answer.problem.code, 'migration-in-progress');
    assert.match(answer.problem.detail, new RegExp(migrationId));
  }
  await scene.migrator.look();
  await scene.migrator.wait();
  assert.equal((await scene.read(migrationId)).status, 'COMPLETED');
  assert.equal((await admin.get(`${repositories}/branches`)).status, 200);
  assert.equal((await admin.delete(scene.project.path)).status, 204);
});

const startBody = (targetCloneUrl: string) => ({
  mode: 'MIRROR_PUSH',
  targetCloneUrl,
  targetProvider: 'github',
  targetName: 'acme/target',
});

test('a repeated start with its Idempotency-Key gets the first answer, also when it has ended', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const headers = { 'idempotency-key': 'move-1' };
  const first = await scene.start({ headers });
  await scene.migrator.look();
  await scene.migrator.wait();
  const again = await scene.start({ headers });
  assert.deepEqual([again.status, again.body], [202, first.body]);
});

const mistakes: readonly (readonly [
  what: string,
  body: object,
  status: number,
  code: string,
  detail: RegExp,
])[] = [
  ['an unknown mode', { mode: 'MOVE' }, 400, 'invalid-request', /body\.mode/],
  ['a hosted target', { targetProvider: 'headgate' }, 400, 'invalid-request', /body\.targetProvider/],
  ['an SSH address', { targetCloneUrl: 'git@github.com:acme/x.git' }, 400, 'invalid-request', /SSH address/],
  [
    'a password',
    { targetCloneUrl: 'https://a:b@github.com/acme/x' },
    400,
    'invalid-request',
    /user or password/,
  ],
  ['no token for gitlab', { targetProvider: 'gitlab' }, 400, 'provider-token-required', /Maintainer/],
  [
    'no tenant',
    { targetProvider: 'azure-devops', targetCloneUrl: 'https://dev.azure.com/acme/n/_git/w' },
    422,
    'provider-parameter-missing',
    /body\.providerParameters\.tenantId is missing/,
  ],
  [
    'an unknown connection',
    { targetEnterpriseOauthId: '0198c2f4-5d1e-7c3a-9b42-6f0e8d7c1a23' },
    422,
    'unknown-enterprise-oauth',
    /0198c2f4/,
  ],
];
test('what cannot succeed is refused in the request', async (t) => {
  const scene = await createMigrationScene(server, host);
  for (const [what, body, status, code, detail] of mistakes)
    await t.test(what, async () => {
      const answer = await scene.start({ body });
      assert.deepEqual([answer.status, answer.problem.code], [status, code]);
      assert.match(JSON.stringify(answer.problem), detail);
    });
  await t.test('the present repository, spelled otherwise', async () => {
    const targetCloneUrl = scene.source.cloneUrl.replace('acme', 'ACME').replace('.git', '/');
    requireProblem(await scene.start({ body: { targetCloneUrl } }), 400, 'same-repository');
  });
  await t.test('a project without a repository', async () => {
    const bare = await scene.account.project();
    const path = `${bare.path}/repository-migration`;
    const answer = await scene.account.admin.post(path, startBody(scene.target.cloneUrl));
    requireProblem(answer, 422, 'repository-missing');
    requireProblem(await scene.account.admin.get(`${path}/${bare.projectId}`), 404, 'migration-not-found');
  });
});

test('a contributor may not migrate, and a stranger sees no project', async () => {
  const scene = await createMigrationScene(server, host);
  const { projectId } = scene.project;
  const body = startBody(scene.target.cloneUrl);
  const contributor = await scene.account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' });
  requireProblem(await contributor.post(scene.path, body), 403, 'forbidden');
  const stranger = (await server.account()).admin;
  requireProblem(await stranger.post(scene.path, body), 404, 'project-not-found');
});

test('a dry run that takes too long answers 504', async () => {
  const slow = await startTestServer({
    settings: { ...loopbackHosts.settings, HEADGATE_MIGRATION_PREFLIGHT_SECONDS: '1' },
  });
  const scene = await createMigrationScene(slow, host);
  scene.target.behaviour = { hangs: true };
  requireProblem(await scene.start({ query: '?dryRun=true' }), 504, 'preflight-timeout');
});

test('a start can name the dry run that was seen, and is 412 when anything is different by then', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const dryRun = async (query = '') => {
    const shown = await scene.start({ query: `?dryRun=true${query}` });
    return (shown.body as unknown as MigrationPreflight).digest;
  };
  const digest = await dryRun();
  assert.equal(await dryRun(), digest, 'the same again');
  assert.notEqual(await dryRun('&overwrite=true'), digest);
  requireProblem(await scene.start({ query: '?overwrite=true', body: { digest } }), 412, 'digest-mismatch');
  scene.source.git('branch', 'one-more', 'main');
  requireProblem(await scene.start({ body: { digest } }), 412, 'digest-mismatch');
  requireProblem(await scene.start({ headers: { 'if-match': `"${digest}"` } }), 412, 'digest-mismatch');
  const again = { headers: { 'if-match': `"${await dryRun()}"`, 'idempotency-key': 'seen' } };
  const { migrationId } = (await scene.start(again)).body;
  assert.equal((await scene.start(again)).body.migrationId, migrationId, 'a retry gets the first response');
});

test('the start and the end are events', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  await scene.migrate();
  const rows = (await server.database.query(
    "select name, state_after from event where project_id = $1 and name like 'repository-migr%' order by occurred_at, event_id",
    [scene.project.projectId],
  )) as { name: string; state_after: { status: string } }[];
  assert.deepEqual(
    rows.map(({ name, state_after: after }) => [name, after.status]),
    [
      ['repository-migration-started', 'IN_PROGRESS'],
      ['repository-migrated', 'COMPLETED'],
    ],
  );
});
