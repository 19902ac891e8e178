/** The association of a project with a repository. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page, Repository, RepositoryBranch } from '@headgate/contract';
import { associate, tokenHeader } from '../../../testing/associated-project.ts';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({
  settings: { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8', HEADGATE_GITHUB_URL: 'https://github.acme.example' },
  resolve: async (host) => {
    if (host.endsWith('.nowhere')) throw new Error('ENOTFOUND');
    return [host === 'inside.example' ? '10.1.2.3' : '93.184.215.14'];
  },
});
const account = await server.account();
const { admin } = account;
const host = await startGitHost();
after(() => host.close());

const onGitlab = {
  provider: 'gitlab',
  repositoryName: 'pipelines',
  cloneUrl: 'https://gitlab.com/acme/pipelines.git',
  providerParameters: { repositoryId: '42' },
};

test('a project is associated with one repository, which is shown without its token', async () => {
  const project = await account.project();
  const path = `${project.path}/repositories`;
  assert.deepEqual((await admin.get<Page<Repository>>(path)).body.results, []);
  const made = await admin.post<Repository>(path, onGitlab, { headers: { [tokenHeader]: 'glpat-x' } });
  assert.equal(made.status, 201);
  const { createdAt, updatedAt, createdBy, ...shown } = made.body;
  assert.deepEqual(shown, { ...onGitlab, protectedBranches: [], deliveryRules: [], hasToken: true });
  assert.deepEqual([createdAt, createdBy], [updatedAt, admin.actorId]);
  const page = (await admin.get<Page<Repository>>(path)).body;
  assert.deepEqual([page.total, page.results], [1, [made.body]]);
  assert.deepEqual((await admin.get<Page<Repository>>(`${path}?page=1`)).body.results, []);
  const again = (await admin.post(path, onGitlab)).problem;
  assert.deepEqual([again.status, again.code], [409, 'repository-exists']);
  assert.equal((await admin.delete(path)).status, 204);
  assert.equal((await admin.delete(path)).problem.code, 'repository-not-found');
  assert.equal((await admin.get(`${path}/branches`)).problem.code, 'repository-missing');
});

test('of concurrent associations one succeeds', async () => {
  const project = await account.project();
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => admin.post(`${project.path}/repositories`, onGitlab)),
  );
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409, 409, 409, 409, 409]);
});

test('the address of a github repository is made from owner and name', async () => {
  const project = await account.project();
  const body = { provider: 'github', repositoryName: 'etl', providerParameters: { ownerName: 'acme' } };
  const made = await admin.post<Repository>(`${project.path}/repositories`, body);
  assert.equal(made.body.cloneUrl, 'https://github.acme.example/acme/etl.git');
});

test('a hosted repository is at this server, with main as its branch', async () => {
  const project = await account.project();
  const made = await admin.post<Repository>(`${project.path}/repositories`, {
    provider: 'headgate',
    repositoryName: 'etl',
  });
  assert.match(made.body.cloneUrl, new RegExp(`/git/${project.projectId}\\.git$`));
  assert.deepEqual([made.body.defaultBranch, made.body.protectedBranches], ['main', ['main']]);
});

test('addresses that cannot be used are refused', async () => {
  const project = await account.project();
  for (const [cloneUrl, status, detail] of [
    ['https://gitlab.com//', 400, /host, not of a repository/],
    ['https://ada:secret@gitlab.com/a/b.git', 400, /send the token in the header/],
    ['https://acme@dev.azure.com/acme/p/_git/r', 400, /contains a user/],
    ['ssh://git@gitlab.com/a/b.git', 400, /SSH is not supported.*https:\/\/gitlab\.com\/a\/b\.git/],
    ['git@gitlab.com:a/b.git', 400, /SSH is not supported.*https:\/\/gitlab\.com\/a\/b\.git/],
    ['file:///etc', 400, /begins with file:.*use an https address/],
    ['-oProxyCommand=x', 400, /is not an address; use an https address/],
    ['https://gitlab.com/a/b.git?x=y', 400, /query/],
    ['https://gitlab.com/', 400, /of a host/],
    ['https://inside.example/a.git', 422, /inside\.example leads to an address in a private range/],
    ['https://169.254.169.254/latest', 422, /metadata service of a cloud/],
    ['https://[::ffff:10.0.0.1]/a.git', 422, /private/],
    ['http://gitlab.com/a/b.git', 422, /Plain http/],
  ] as const) {
    const { problem } = await admin.post(`${project.path}/repositories`, { ...onGitlab, cloneUrl });
    assert.equal(problem.status, status, cloneUrl);
    assert.match(problem.violations?.join(' ') ?? problem.detail, detail, cloneUrl);
    assert.ok(!JSON.stringify(problem).includes('secret@'));
  }
  const later = { ...onGitlab, cloneUrl: 'https://git.nowhere/a/b.git/' };
  const made = await admin.post<Repository>(`${project.path}/repositories`, later);
  assert.equal(made.body.cloneUrl, 'https://git.nowhere/a/b.git', 'a name may be registered later');
  const { problem } = await admin.get(`${project.path}/repositories/branches`);
  assert.deepEqual([problem.status, problem.code], [502, 'git-host-failed']);
  assert.match(problem.detail, /git\.nowhere could not be resolved/);
});

test('members that contradict each other are refused', async () => {
  const project = await account.project();
  const send = (body: object, token?: string) =>
    admin.post(`${project.path}/repositories`, body, {
      headers: token === undefined ? {} : { [tokenHeader]: token },
    });
  const hosted = { provider: 'headgate', repositoryName: 'etl' };
  for (const [answer, code] of [
    [await send({ ...hosted, cloneUrl: 'https://x.example/a' }), 'clone-url-refused'],
    [await send(hosted, 'token'), 'repository-credential-refused'],
    [await send({ provider: 'gitlab', repositoryName: 'x' }), 'clone-url-required'],
    [
      await send({ provider: 'github', repositoryName: '../x', providerParameters: { ownerName: 'a' } }),
      'clone-url-required',
    ],
    [await send(onGitlab, 'two words'), 'repository-credential-refused'],
    [await send({ ...onGitlab, defaultBranch: 'a..b' }), 'invalid-branch-name'],
    [await send({ ...onGitlab, enterpriseOauthId: server.deps.newId() }), 'unknown-enterprise-oauth'],
    [await send({ ...onGitlab, provider: 'bitbucket' }), 'invalid-request'],
    [await admin.post(`${project.path}/repositories/token`, undefined), 'invalid-request'],
    [
      await admin.post(`${project.path}/repositories/token`, undefined, { headers: { [tokenHeader]: 'x' } }),
      'repository-not-found',
    ],
  ] as const)
    assert.equal(answer.problem.code, code);
});

test('a write with If-Match is refused if the repository has changed', async () => {
  const project = await account.project();
  const path = `${project.path}/repositories`;
  const made = await admin.post<Repository>(path, onGitlab);
  const change = (etag: string) =>
    admin.patch<Repository>(path, { defaultBranch: 'trunk' }, { headers: { 'if-match': etag } });
  const changed = await change(made.etag);
  assert.deepEqual([changed.body.defaultBranch, changed.body.protectedBranches], ['trunk', ['trunk']]);
  assert.equal((await change(made.etag)).problem.code, 'etag-mismatch');
  const bare = await admin.patch<Repository>(path, { protectedBranches: ['a', 'b/c'] });
  assert.deepEqual(bare.body.protectedBranches, ['a', 'b/c']);
  assert.deepEqual(
    (await admin.patch<Repository>(path, { protectedBranches: null })).body.protectedBranches,
    ['trunk'],
  );
  const stale = await admin.send('DELETE', path, { headers: { 'if-match': made.etag } });
  assert.equal(stale.problem.code, 'etag-mismatch');
});

test('another token takes effect at once, and what one token saw another does not', async () => {
  const project = await account.project();
  const path = `${project.path}/repositories`;
  const repository = host.addRepository('acme/tokens.git', { readers: ['old', 'new'] });
  const commitId = commitFiles(repository.folder, { files: { a: 'b' } });
  await associate(admin, project, { cloneUrl: repository.cloneUrl, token: 'old' });
  const branches = () => admin.get<Page<RepositoryBranch>>(`${path}/branches`);
  assert.equal((await branches()).body.results[0]?.commitId, commitId);
  const shown = (await admin.get<Page<Repository>>(path)).body.results[0];
  assert.equal(shown?.defaultBranch, 'main', 'the branch that the host names');
  assert.equal(
    (await admin.post(`${path}/token`, undefined, { headers: { [tokenHeader]: 'wrong' } })).status,
    204,
  );
  const { problem } = await branches();
  assert.deepEqual([problem.status, problem.code], [502, 'git-host-failed']);
  assert.match(problem.detail, /rejects the token \(401\).*It says: "Authentication required."/);
  assert.equal(
    (await admin.post(`${path}/token`, undefined, { headers: { [tokenHeader]: 'new' } })).status,
    204,
  );
  assert.equal((await branches()).body.total, 1);
});

test('another user name takes effect at once, with the same token', async () => {
  const project = await account.project();
  const path = `${project.path}/repositories`;
  const repository = host.addRepository('acme/users.git', { readers: ['t0ken'] });
  await associate(admin, project, { cloneUrl: repository.cloneUrl, token: 't0ken' });
  const listUsers = async () => {
    server.clock.advance(3);
    const before = host.requests.length;
    assert.equal((await admin.get(`${path}/branches`)).status, 200);
    const sent = host.requests.slice(before).map(({ authorization = '' }) => authorization);
    return new Set(sent.map((each) => Buffer.from(each.slice('Basic '.length), 'base64').toString()));
  };
  assert.deepEqual([...(await listUsers())], ['headgate:t0ken']);
  const rename = (username: string) => admin.patch(path, { providerParameters: { username } });
  assert.equal((await rename('a:b')).problem.code, 'repository-credential-refused');
  assert.equal((await rename('robot')).status, 200);
  assert.deepEqual([...(await listUsers())], ['robot:t0ken']);
});

test('a user name leaves the credential of a provider without users as it is', async () => {
  const project = await account.project();
  const path = `${project.path}/repositories`;
  assert.equal((await admin.post(path, onGitlab, { headers: { [tokenHeader]: 'x' } })).status, 201);
  const readSealed = () =>
    server.database.query<{ sealed_credential: Buffer }>(
      'select sealed_credential from repository where project_id = $1',
      [project.projectId],
    );
  const before = await readSealed();
  await admin.patch(path, { providerParameters: { username: 'robot' } });
  assert.deepEqual(await readSealed(), before);
});

test('all operations on the repository are refused while it is migrated', async () => {
  const project = await account.project();
  const path = `${project.path}/repositories`;
  await admin.post(path, { provider: 'headgate', repositoryName: 'etl' });
  const migrationId = server.deps.newId();
  await server.database.query(
    `insert into repository_migration (account_id, project_id, migration_id, mode, status, phase, target_provider,
       target_name, target_clone_url, provider_parameters, overwrite, requested_by, created_at)
     values ($1, $2, $3, 'RECONFIGURE', 'IN_PROGRESS', 'FETCHING', 'github', 'x', 'x', '{}', false, $4, now())`,
    [account.accountId, project.projectId, migrationId, admin.actorId],
  );
  const commit = { branch: 'main', message: 'x', files: [{ path: 'a', content: '' }] };
  for (const answer of [
    await admin.get(`${path}/branches`),
    await admin.post(`${path}/branches`, { name: 'x' }),
    await admin.delete(`${path}/branches?branchName=x`),
    await admin.get(`${path}/branches/compare?base=a&head=b`),
    await admin.get(`${path}/commits`),
    await admin.post(`${path}/commits`, commit),
    await admin.get(`${path}/diff?from=a&to=b`),
    await admin.get(`${path}/files`),
    await admin.get(`${path}/files/content?path=a`),
    await admin.patch(path, { repositoryName: 'y' }),
    await admin.delete(path),
    await admin.post(path, onGitlab),
    await admin.post(`${path}/token`, undefined, { headers: { [tokenHeader]: 'x' } }),
  ]) {
    assert.deepEqual([answer.problem.status, answer.problem.code], [409, 'migration-in-progress']);
    assert.match(answer.problem.detail, new RegExp(migrationId));
  }
  assert.equal((await admin.get<Page<Repository>>(path)).body.total, 1, 'the association can be read');
});
