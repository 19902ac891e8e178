/** The single-use token of a GitLab target. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page, Repository } from '@headgate/contract';
import { startGitFront } from '../../../testing/git-front.ts';
import { startGitHost } from '../../../testing/git-host.ts';
import { fakeGitlab } from '../../../testing/git-providers/fake-gitlab.ts';
import { startFakeProvider } from '../../../testing/git-providers/fake-provider.ts';
import {
  createMigrationScene,
  createMigrator,
  fillRepository,
  loopbackHosts,
} from '../../../testing/migration-scene.ts';
import { startTestServer } from '../../../testing/server.ts';
import type { Database } from '../../kernel/database/database.ts';
import { unsealCredential } from '../git-remotes/index.ts';
import { renewTokens } from './tokens/token-renewal.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
after(() => host.close());

/** GitLab at one address: its interface, and Git for anybody. */
async function createGitlab() {
  const fake = await startFakeProvider(fakeGitlab);
  const gitHost = await startGitHost();
  const target = gitHost.addRepository('acme/data/pipelines.git');
  const behind = new URL(fake.url).port;
  const front = await startGitFront((path) => (path.startsWith('/api/') ? Number(behind) : gitHost.port));
  after(() => Promise.all([fake.close(), gitHost.close(), front.close()]));
  const body = {
    targetProvider: 'gitlab',
    targetCloneUrl: `${front.url}/acme/data/pipelines.git`,
    targetName: 'acme/data/pipelines',
  };
  return { fake, front, target, body };
}

async function createScene() {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  return { ...(await createGitlab()), scene };
}

/** A database that cannot be used for the next writes that `matches` chooses. */
function failing(matches: (parameters: object) => boolean, failure: Error, times = 2) {
  const { database } = server.deps;
  let left = times;
  const check = (isChosen: boolean) => {
    if (isChosen && left > 0) {
      left -= 1;
      throw failure;
    }
  };
  const read: Database['read'] = async (command, parameters) => {
    check(matches(parameters as object));
    return database.read(command, parameters);
  };
  const transaction: Database['transaction'] = async (work, opening) => {
    check(matches({}));
    return database.transaction(
      (tx) =>
        work({
          query: (command, parameters) => tx.query(command, parameters),
          send(command, parameters) {
            check(matches(parameters as object));
            tx.send(command, parameters);
          },
          collect: (query, parameters) => tx.collect(query, parameters),
          onConstraint: (constraint, meaning) => tx.onConstraint(constraint, meaning),
          afterCommit: (effect) => tx.afterCommit(effect),
        }),
      opening,
    );
  };
  return { ...database, read, transaction };
}

const cut = new Error('Connection terminated unexpectedly');

const isRotation = (request: string) => request.includes('/rotate');

test('the token is rotated first, and the new one is what the project keeps', async () => {
  const { fake, front, body, scene } = await createScene();
  const token = fake.addToken('admin').reveal();
  const { status, detail } = await scene.migrate({ body, token });
  assert.equal(status, 'COMPLETED', detail);
  assert.equal(front.requests.findIndex(isRotation), 0);
  const [row] = (await server.database.query(
    'select sealed_credential, credential_expires_at, credential_origin from repository where project_id = $1',
    [scene.project.projectId],
  )) as { sealed_credential: Buffer; credential_expires_at: Date; credential_origin: string }[];
  assert.ok(row);
  assert.equal(row.credential_origin, front.url);
  assert.ok(row.credential_expires_at > new Date(Date.now() + 80 * 86_400_000));
  const place = { accountId: scene.account.accountId, projectId: scene.project.projectId };
  const retained = unsealCredential(server.deps.sealer, place, row.sealed_credential);
  assert.ok(retained.kind === 'basic' && retained.username === 'oauth2');
  assert.match(retained.password.reveal(), /rotated/);
  const basic = Buffer.from(`oauth2:${retained.password.reveal()}`).toString('base64');
  const used = [...front.shown].filter((each) => !each.startsWith('Bearer'));
  assert.deepEqual(used, [`Basic ${basic}`], 'git never gets the token that was rotated');
  const [migration] = await server.database.query(
    'select sealed_token, report::text as report, detail from repository_migration where project_id = $1',
    [scene.project.projectId],
  );
  assert.equal((migration as { sealed_token: unknown }).sealed_token, null);
  const notice = JSON.stringify([migration, server.logLines]);
  for (const secret of [token, retained.password.reveal()]) assert.ok(!notice.includes(secret));
});

test('a token that was used is refused before GitLab is called', async () => {
  const { fake, body, scene } = await createScene();
  const token = fake.addToken('none').reveal();
  const first = await scene.migrate({ body, token });
  assert.equal(first.status, 'FAILED');
  const calls = fake.requests.length;
  const again = await scene.start({ body, token });
  assert.deepEqual([again.status, again.problem.code], [422, 'provider-token-used']);
  const dry = await scene.start({ body, token, query: '?dryRun=true' });
  assert.deepEqual([dry.status, dry.problem.code], [422, 'provider-token-used']);
  assert.equal(fake.requests.length, calls);
});

test('a refused start and a dry run leave the token as it is', async () => {
  const { fake, body, scene } = await createScene();
  const token = fake.addToken('admin').reveal();
  const dry = await scene.account.admin.send<{ canMigrate: boolean }>('POST', `${scene.path}?dryRun=true`, {
    body: { mode: 'MIRROR_PUSH', ...body },
    headers: { 'Git-Provider-Access-Token': token },
  });
  assert.deepEqual([dry.status, dry.body.canMigrate], [200, true], dry.text);
  assert.equal((await scene.start({ body })).problem.code, 'provider-token-required');
  const refused = await scene.start({
    body: { ...body, targetCloneUrl: scene.source.cloneUrl },
    token,
  });
  assert.equal(refused.problem.code, 'same-repository');
  assert.ok(!fake.requests.some(isRotation));
  assert.equal((await scene.migrate({ body, token })).status, 'COMPLETED');
});

test('a role that is too low is told with what to grant', async () => {
  const { fake, body, scene } = await createScene();
  const { status, code, detail } = await scene.migrate({ body, token: fake.addToken('read').reveal() });
  assert.deepEqual([status, code], ['FAILED', 'role-too-low'], detail);
  assert.match(detail ?? '', /role Maintainer/);
});

test('a protected branch that refuses forced pushes stops an overwrite', async () => {
  const { fake, body, scene, target } = await createScene();
  fillRepository(target);
  const protection = { allowsForcePush: false, push: 'admin' } as const;
  fake.repository.branches.push({ name: 'main', commits: [{ id: 'x', message: 'x' }], protection });
  const { code, detail } = await scene.migrate({
    body,
    token: fake.addToken('admin').reveal(),
    query: '?overwrite=true',
  });
  assert.equal(code, 'force-push-forbidden', detail);
  assert.match(detail ?? '', /Turn on "Allowed to force push"/);
});

test('a token for another provider is ignored, never rotated', async () => {
  const { fake, front, body, scene } = await createScene();
  const token = fake.addToken('admin').reveal();
  const { status, detail } = await scene.migrate({ body: { ...body, targetProvider: 'github' }, token });
  assert.equal(status, 'COMPLETED', detail);
  assert.deepEqual([...front.shown], []);
  assert.equal(fake.requests.length, 0);
});

test('a crash between rotation and storing is told, and the token is not rotated again', async () => {
  const { fake, front, body, scene } = await createScene();
  const token = fake.addToken('admin').reveal();
  const started = await scene.start({ body, token });
  const { migrationId } = started.body;
  await server.database.query(
    "update repository_migration set token_rotation = 'rotating' where migration_id = $1",
    [migrationId],
  );
  await server.database.query(
    "update server_work set lease_until = now() - interval '1 day' where work_id = $1",
    [migrationId],
  );
  await server.database.query('update repository_migration set created_at = now() where migration_id = $1', [
    migrationId,
  ]);
  assert.equal((await scene.read(migrationId)).status, 'UNKNOWN');
  await server.database.query(
    "update server_work set lease_until = $2::timestamptz - interval '1 second' where work_id = $1",
    [migrationId, server.clock.now()],
  );
  await scene.migrator.look();
  await scene.migrator.wait();
  const { status, code, detail } = await scene.read(migrationId);
  assert.deepEqual([status, code], ['FAILED', 'token-lost']);
  assert.match(detail ?? '', /probably rotated, and the new one is lost\. Create a new token/);
  assert.deepEqual(front.requests, []);
});

test('a rotated token is stored when the database can be used again', async () => {
  const { fake, front, body, scene } = await createScene();
  const { migrationId } = (await scene.start({ body, token: fake.addToken('admin').reveal() })).body;
  const migrator = createMigrator(server.deps, {
    database: failing((parameters) => 'sealed_token' in parameters, cut),
  });
  await migrator.look();
  await migrator.wait();
  const { status, detail } = await scene.read(migrationId);
  assert.equal(status, 'COMPLETED', detail);
  assert.equal(front.requests.filter(isRotation).length, 1);
});

const rest = () => Promise.resolve();

/** A project whose token expires in three days. */
async function createExpiring() {
  const made = await createScene();
  const { fake, body, scene } = made;
  assert.equal((await scene.migrate({ body, token: fake.addToken('admin').reveal() })).status, 'COMPLETED');
  await server.database.query(
    "update repository set credential_expires_at = $2::timestamptz + interval '3 days' where project_id = $1",
    [scene.project.projectId, server.clock.now()],
  );
  return made;
}

const isTransaction = (parameters: object) => Object.keys(parameters).length === 0;

test('a renewed token is stored when the database can be used again', async () => {
  const { front } = await createExpiring();
  const database = failing(isTransaction, cut);
  assert.equal(await renewTokens({ ...server.deps, database }, rest), 1);
  assert.equal(await renewTokens(server.deps, rest), 0);
  assert.equal(front.requests.filter(isRotation).length, 2);
});

test('a renewed token that is lost is told by the repository and an event, until another one is stored', async () => {
  const { front, scene } = await createExpiring();
  const database = failing(isTransaction, new Error('no space for a row'));
  assert.equal(await renewTokens({ ...server.deps, database }, rest), 0);
  assert.equal(await renewTokens(server.deps, rest), 0);
  assert.equal(front.requests.filter(isRotation).length, 2, 'it is not rotated again at once');
  server.clock.advance(16 * 60);
  assert.equal(await renewTokens(server.deps, rest), 0);
  assert.equal(await renewTokens(server.deps, rest), 0);
  const { admin } = scene.account;
  const path = `${scene.project.path}/repositories`;
  const readProblem = async () => (await admin.get<Page<Repository>>(path)).body.results[0]?.tokenProblem;
  assert.match((await readProblem()) ?? '', /interrupted.*may be lost.*Create another token, and store it/);
  const events = await server.database.query(
    "select 1 from event where name = 'repository-token-not-renewed' and project_id = $1",
    [scene.project.projectId],
  );
  assert.equal(events.length, 1);
  const headers = { 'Git-Provider-Access-Token': 'glpat-new' };
  const stored = await admin.send('POST', `${path}/token`, { headers });
  assert.equal(stored.status, 204, stored.text);
  assert.equal(await readProblem(), undefined);
});

test('the token of a project is renewed before it expires, once', async () => {
  const { front, scene } = await createExpiring();
  const id = scene.project.projectId;
  // One that cannot be read does not keep the others.
  const damaged = await createMigrationScene(server, host, { token: 't0ken' });
  await server.database.query(
    `update repository set provider = 'gitlab', sealed_credential = '\\x00', credential_expires_at = $2::timestamptz + interval '1 day'
     where project_id = $1`,
    [damaged.project.projectId, server.clock.now()],
  );
  assert.equal(await renewTokens(server.deps, rest), 1);
  assert.equal(await renewTokens(server.deps, rest), 0);
  assert.equal(front.requests.filter(isRotation).length, 2);
  const events = await server.database.query(
    "select 1 from event where name = 'repository-token-renewed' and project_id = $1",
    [id],
  );
  assert.equal(events.length, 1);
});
