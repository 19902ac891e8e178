/** Enterprise OAuth connections, and the tokens that they give to repositories. */
import assert from 'node:assert/strict';
import { createVerify, generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import type { EnterpriseOauth, Page, RepositoryBranch } from '@headgate/contract';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { startTestServer } from '../../../testing/server.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

interface Issued {
  path: string;
  body: string;
  authorization: string | undefined;
}
const issued: Issued[] = [];
let refusal: { status: number; body: object } | undefined;
let tokens = 0;

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

/** GitHub's interface for installations and Entra's token endpoint, which check what they are sent. */
const provider = await listenOnLoopback(async (request, response) => {
  const body = await readBody(request);
  issued.push({ path: request.url ?? '', body, authorization: request.headers.authorization });
  const answer = (status: number, content: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
  if (refusal !== undefined) return answer(refusal.status, refusal.body);
  tokens += 1;
  if (request.url?.startsWith('/api/app/installations/')) {
    const [, head = '', claims = '', signature = ''] =
      /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(request.headers.authorization ?? '') ?? [];
    const isSigned = createVerify('RSA-SHA256')
      .update(`${head}.${claims}`)
      .verify(publicKey, signature, 'base64url');
    const { iss, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString() || '{}');
    if (!isSigned || iss !== '4711' || exp - iat > 600)
      return answer(401, { message: 'A JWT could not be decoded' });
    const expires = new Date(server.clock.now().getTime() + 3_600_000).toISOString();
    return answer(201, { token: `ghs_${tokens}`, expires_at: expires });
  }
  const form = new URLSearchParams(body);
  if (form.get('client_secret') !== 'of the application' || form.get('grant_type') !== 'client_credentials')
    return answer(401, {
      error: 'invalid_client',
      error_description: 'AADSTS7000215: Invalid client secret.',
    });
  return answer(200, { access_token: `eyJ.entra.${tokens}`, expires_in: 3_599, token_type: 'Bearer' });
});
const host = await startGitHost();
after(async () => {
  await provider.close();
  await host.close();
});

const address = `http://127.0.0.1:${provider.port}`;
const server = await startTestServer({
  settings: {
    HEADGATE_GITHUB_URL: host.url,
    HEADGATE_GITHUB_API_URL: `${address}/api`,
    HEADGATE_AZURE_DEVOPS_URL: host.url,
    HEADGATE_ENTRA_URL: `${address}/entra`,
  },
});
const account = await server.account();
const { admin } = account;

const ofGithub = { provider: 'github', clientId: '4711', installationId: '48151623', privateKey: pem };
const ofDevOps = {
  provider: 'azure-devops',
  clientId: 'the-app',
  tenantId: 'acme.example',
  clientSecret: 'of the application',
};
let names = 0;
async function connect(members: object): Promise<EnterpriseOauth> {
  names += 1;
  return (await admin.post<EnterpriseOauth>('/enterprise-oauths', { name: `c${names}`, ...members })).body;
}

/** Associates a project with a repository that takes the token by this connection. */
async function associateBy(connection: EnterpriseOauth, readers: string[]) {
  names += 1;
  const project = await account.project();
  const repository = host.addRepository(`acme/oauth${names}.git`, { readers });
  commitFiles(repository.folder, { files: { a: 'b' } });
  const made = await admin.post(`${project.path}/repositories`, {
    provider: connection.provider,
    repositoryName: 'etl',
    cloneUrl: repository.cloneUrl,
    enterpriseOauthId: connection.enterpriseOauthId,
  });
  assert.equal(made.status, 201, made.text);
  return { project, read: () => admin.get<Page<RepositoryBranch>>(`${project.path}/repositories/branches`) };
}

test('a connection is listed without its secrets', async () => {
  const made = await connect({ ...ofDevOps, name: 'DevOps' });
  const { createdAt, createdBy, enterpriseOauthId, ...shown } = made;
  const { clientSecret, ...rest } = ofDevOps;
  assert.deepEqual(shown, { ...rest, name: 'DevOps', projects: [] });
  const page = (await admin.get<Page<EnterpriseOauth>>('/enterprise-oauths?size=1')).body;
  assert.deepEqual(page.results, [made]);
  const taken = await admin.post('/enterprise-oauths', { ...ofDevOps, name: 'DevOps' });
  assert.equal(taken.problem.code, 'enterprise-oauth-name-taken');
  const stranger = await server.account();
  assert.equal((await stranger.admin.delete(`/enterprise-oauths/${enterpriseOauthId}`)).status, 404);
});

test('each provider needs its members', async () => {
  const send = async (members: object) =>
    (await admin.post('/enterprise-oauths', { name: 'x', clientId: 'y', ...members })).problem.detail;
  assert.match(await send({ provider: 'gitlab' }), /service account/);
  assert.match(await send({ provider: 'github' }), /privateKey is missing/);
  assert.match(await send({ provider: 'github', privateKey: 'x' }), /no RSA private key/);
  assert.match(await send({ provider: 'github', privateKey: pem }), /installationId is missing/);
  assert.match(await send({ provider: 'azure-devops' }), /clientSecret is missing/);
  assert.match(await send({ provider: 'azure-devops', clientSecret: 'x' }), /tenantId is missing/);
  for (const baseUrl of ['https://10.0.0.1', 'http://github.example.com', 'https://a:b@c.example', 'x'])
    assert.ok(
      [422].includes((await admin.post('/enterprise-oauths', { name: 'x', ...ofGithub, baseUrl })).status),
      baseUrl,
    );
});

test('a github connection signs in as its App, and its token is kept until five minutes before its end', async () => {
  const connection = await connect(ofGithub);
  const { read } = await associateBy(connection, [`ghs_${tokens + 1}`]);
  const before = issued.length;
  assert.equal((await read()).body.total, 1);
  assert.equal((await read()).body.total, 1);
  assert.equal(issued.length, before + 1);
  assert.equal(issued.at(-1)?.path, '/api/app/installations/48151623/access_tokens');
  server.clock.advance(3_600 - 299);
  assert.equal((await read()).problem.code, 'git-host-failed', 'the host does not know the next token');
  assert.equal(issued.length, before + 2);
});

test('an azure-devops connection gets a token of Entra for the tenant', async () => {
  const connection = await connect(ofDevOps);
  const { read } = await associateBy(connection, [`eyJ.entra.${tokens + 1}`]);
  assert.equal((await read()).body.total, 1);
  const query = issued.at(-1);
  assert.equal(query?.path, '/entra/acme.example/oauth2/v2.0/token');
  assert.equal(
    new URLSearchParams(query?.body).get('scope'),
    '499b84ac-1321-427f-aa17-267ca6975798/.default',
  );
  assert.ok(host.requests.at(-1)?.authorization?.startsWith('Bearer eyJ.entra.'));
});

test('what the provider refuses is told in its words, without the secret', async () => {
  const connection = await connect({ ...ofDevOps, clientSecret: 'a wrong secret' });
  const { read } = await associateBy(connection, ['x']);
  const { problem } = await read();
  assert.deepEqual([problem.status, problem.code], [502, 'git-host-failed']);
  assert.match(problem.detail, /gets no token: .* answered 401\. .*AADSTS7000215: Invalid client secret/);
  assert.ok(!problem.detail.includes('a wrong secret'));
  refusal = { status: 404, body: { message: 'Not Found' } };
  const suspended = await associateBy(await connect(ofGithub), ['x']);
  assert.match((await suspended.read()).problem.detail, /Is the installation id right/);
  refusal = undefined;
});

test('a connection is used for the repositories of its provider at its address only', async () => {
  const project = await account.project();
  const { enterpriseOauthId } = await connect(ofGithub);
  const send = (members: object, headers = {}) =>
    admin.post(
      `${project.path}/repositories`,
      {
        provider: 'github',
        repositoryName: 'x',
        cloneUrl: `${host.url}/a/b.git`,
        enterpriseOauthId,
        ...members,
      },
      { headers },
    );
  assert.match(
    (await send({ cloneUrl: 'https://gitlab.com/a/b.git' })).problem.detail,
    /its tokens are not sent to https:\/\/gitlab\.com/,
  );
  assert.match((await send({ provider: 'gitlab' })).problem.detail, /is one of github/);
  assert.match((await send({}, { 'Git-Provider-Access-Token': 'x' })).problem.detail, /not both/);
  const stranger = await server.account();
  const theirs = await stranger.project();
  const stolen = await stranger.admin.post(`${theirs.path}/repositories`, {
    provider: 'github',
    repositoryName: 'x',
    cloneUrl: `${host.url}/a/b.git`,
    enterpriseOauthId,
  });
  assert.equal(stolen.problem.code, 'unknown-enterprise-oauth');
});

test('a connection in use is not deleted, and the projects are named', async () => {
  const connection = await connect(ofGithub);
  const { project } = await associateBy(connection, ['x']);
  const path = `/enterprise-oauths/${connection.enterpriseOauthId}`;
  const { problem } = await admin.delete(path);
  assert.deepEqual([problem.status, problem.code], [409, 'enterprise-oauth-in-use']);
  assert.match(problem.detail, /^1 project uses the connection: "project /);
  const token = { 'Git-Provider-Access-Token': 'its-own' };
  await admin.post(`${project.path}/repositories/token`, undefined, { headers: token });
  assert.equal((await admin.delete(path)).status, 204);
  assert.equal((await admin.delete(path)).problem.code, 'enterprise-oauth-not-found');
});

test('a project owner uses a connection that was shared with the project, or that the owner may list', async () => {
  const { enterpriseOauthId } = await connect(ofGithub);
  const path = `/enterprise-oauths/${enterpriseOauthId}`;
  const project = await account.project();
  const { projectId } = project;
  const grant = { projectId, role: 'OWNER' } as const;
  const owner = await account.actor('MEMBER', grant);
  const bind = (by = owner) =>
    by.post(`${project.path}/repositories`, {
      ...{ provider: 'github', repositoryName: 'x', enterpriseOauthId, cloneUrl: `${host.url}/a/b.git` },
    });
  const migrate = (id: string) =>
    owner.post(`${project.path}/repository-migration?dryRun=true`, {
      ...{ mode: 'RECONFIGURE', targetProvider: 'github', targetName: 'y' },
      ...{ targetCloneUrl: `${host.url}/a/c.git`, targetEnterpriseOauthId: id },
    });
  const refused = await bind();
  const unknown = await owner.post(`${project.path}/repositories`, {
    ...{ provider: 'github', repositoryName: 'x', cloneUrl: `${host.url}/a/b.git` },
    enterpriseOauthId: server.deps.newId(),
  });
  for (const { problem } of [refused, unknown])
    assert.deepEqual([problem.status, problem.code], [422, 'unknown-enterprise-oauth']);
  assert.equal((await migrate(enterpriseOauthId)).problem.code, 'unknown-enterprise-oauth');
  assert.equal((await owner.patch(path, { projects: [projectId] })).status, 403);

  const shared = await admin.patch<EnterpriseOauth>(path, { projects: [projectId] });
  assert.deepEqual([shared.status, shared.body.projects], [200, [projectId]]);
  const made = await bind();
  assert.equal(made.status, 201, made.text);
  assert.equal((await migrate(enterpriseOauthId)).status, 200);
  assert.equal((await admin.patch(path, { projects: [] })).problem.code, 'enterprise-oauth-in-use');
  await owner.delete(`${project.path}/repositories`);
  assert.equal((await admin.patch(path, { projects: [] })).status, 200);
  assert.equal((await bind()).problem.code, 'unknown-enterprise-oauth');
  assert.equal((await bind(await account.actor('ADMIN', grant))).status, 201);
  const foreign = await (await server.account()).project();
  assert.equal((await admin.patch(path, { projects: [foreign.projectId] })).problem.code, 'unknown-project');
});
