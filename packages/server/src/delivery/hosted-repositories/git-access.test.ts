/** Who may clone and push: every role, own and foreign accounts, and every way to name a caller. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { permissions } from '@headgate/contract';
import type { Actor } from '../../../testing/account.ts';
import { type HostedProject, makeHostedProject, makeUserGit } from '../../../testing/hosted-project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const base = await server.listen();
const git = await makeUserGit();

const services = { fetch: 'git-upload-pack', push: 'git-receive-pack' } as const;
type Act = keyof typeof services;

interface Received {
  status: number;
  text: string;
  headers: Headers;
}

async function ask(url: string, options: RequestInit = {}): Promise<Received> {
  const response = await fetch(url, options);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** The two requests of a fetch or a push, without content. */
async function askBoth(
  hosted: HostedProject,
  act: Act,
  headers: Record<string, string>,
): Promise<Received[]> {
  const url = `${base}/git/${hosted.project.projectId}.git`;
  const type = `application/x-${services[act]}-request`;
  return [
    await ask(`${url}/info/refs?service=${services[act]}`, { headers }),
    await ask(`${url}/${services[act]}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      body: '0000',
    }),
  ];
}

const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

describe('the roles', () => {
  test('decide who clones and who pushes', async () => {
    const hosted = await makeHostedProject(server, base);
    const { account, project } = hosted;
    const { projectId } = project;
    const callers: [string, Actor, boolean, boolean][] = [];
    for (const role of ['SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY'] as const) {
      const may = (permission: 'project:read' | 'repository:push') =>
        (permissions[permission].account as readonly string[]).includes(role);
      callers.push([role, await account.actor(role), may('project:read'), may('repository:push')]);
    }
    for (const role of ['OWNER', 'CONTRIBUTOR', 'VIEWER'] as const) {
      const may = (permission: 'project:read' | 'repository:push') =>
        (permissions[permission].project as readonly string[]).includes(role);
      const rights = [may('project:read'), may('repository:push')] as const;
      callers.push([role, await account.actor('MEMBER', { projectId, role }), ...rights]);
      callers.push([`user ${role}`, await account.user(undefined, { projectId, role }), ...rights]);
    }
    for (const role of ['OWNER', 'CONTRIBUTOR', 'OPERATOR', 'VIEWER'] as const)
      callers.push([
        `environment ${role}`,
        await account.actor('MEMBER', { projectId, environmentName: 'dev', role }),
        false,
        false,
      ]);
    for (const [name, caller, mayRead, mayPush] of callers)
      for (const [act, may] of [
        ['fetch', mayRead],
        ['push', mayPush],
      ] as const) {
        const statuses = (await askBoth(hosted, act, basic('x', await caller.token()))).map(
          ({ status }) => status,
        );
        const refused = /^(SUPER_ADMIN|ADMIN|BILLING_ADMIN|MEMBER|DIRECTORY)$/.test(name) ? 404 : 403;
        assert.deepEqual(statuses, may ? [200, 200] : [refused, refused], `${name} ${act}`);
      }
  });

  test('are read at each request', async () => {
    const hosted = await makeHostedProject(server, base);
    const { account, project } = hosted;
    const caller = await account.actor('MEMBER', { projectId: project.projectId, role: 'CONTRIBUTOR' });
    const headers = basic(caller.clientId, caller.secret.reveal());
    assert.equal((await askBoth(hosted, 'push', headers))[0]?.status, 200);
    await server.database.query("update role_grant set role = 'VIEWER' where credential_id = $1", [
      caller.actorId,
    ]);
    assert.deepEqual(
      (await askBoth(hosted, 'push', headers)).map(({ status }) => status),
      [403, 403],
    );
    await account.admin.delete(`/credentials/${caller.actorId}`);
    assert.deepEqual(
      (await askBoth(hosted, 'fetch', headers)).map(({ status }) => status),
      [401, 401],
    );
    assert.deepEqual(
      (await askBoth(hosted, 'fetch', basic('x', await caller.token()))).map(({ status }) => status),
      [401, 401],
    );
  });
});

describe('a stranger', () => {
  test('gets the same answer for what is not theirs and what is not there', async () => {
    const hosted = await makeHostedProject(server, base);
    const stranger = await server.account();
    const headers = basic('x', await stranger.admin.token());
    const strays: Record<string, string>[] = [
      {},
      { 'account-id': hosted.account.accountId },
      { 'x-forwarded-user': 'admin', 'x-http-method-override': 'GET' },
      { 'git-protocol': 'version=2' },
    ];
    for (const act of ['fetch', 'push'] as const)
      for (const stray of strays) {
        const absent = { ...hosted, project: { ...hosted.project, projectId: randomUUID() } };
        const [theirs, none] = [
          await askBoth(hosted, act, { ...headers, ...stray }),
          await askBoth(absent, act, { ...headers, ...stray }),
        ];
        assert.deepEqual(
          theirs.map(({ status }) => status),
          [404, 404],
        );
        const hide = ({ text }: Received) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');
        assert.deepEqual(theirs.map(hide), none.map(hide));
      }
  });

  test('who leaves .git out of the address gets the whole one', async () => {
    const { account, project } = await makeHostedProject(server, base);
    const url = `${base}/git/${project.projectId}/info/refs?service=git-upload-pack`;
    const { status, text } = await ask(url, { headers: basic('x', await account.admin.token()) });
    assert.deepEqual(
      [status, text],
      [404, `The address of the repository ends with .git: use /git/${project.projectId}.git.\n`],
    );
  });

  test('without credentials gets 401 for everything', async () => {
    const hosted = await makeHostedProject(server, base);
    const agent = await hosted.account.agent();
    const bad: Record<string, string>[] = [
      {},
      { authorization: 'Basic !!' },
      { authorization: 'Basic ' },
      { authorization: `Basic ${Buffer.from('no colon').toString('base64')}` },
      { authorization: 'Bearer x' },
      { authorization: 'Digest x' },
      basic('x', 'a.b.c'),
      basic('x', ''),
      basic('unknown', 'wrong'),
      basic('\0', '\0'),
      basic(agent.clientId, agent.secret.reveal()),
    ];
    for (const act of ['fetch', 'push'] as const)
      for (const headers of bad)
        for (const { status, headers: answered, text } of await askBoth(hosted, act, headers)) {
          if (status === 429) continue;
          assert.equal(status, 401, `${JSON.stringify(headers)}: ${text}`);
          assert.match(answered.get('www-authenticate') ?? '', /^Basic realm="Headgate"/);
          assert.match(text, /^(The password is not accepted: .*\. Give|Send a password:) .*client id/);
        }
  });

  test('who guesses secrets is slowed down as at the token endpoint', async () => {
    const own = await startTestServer();
    const address = await own.listen();
    const { clientId } = (await own.account()).admin;
    const statuses: number[] = [];
    for (let guess = 0; guess < 14; guess += 1)
      statuses.push(
        (
          await ask(`${address}/git/${randomUUID()}.git/info/refs?service=git-upload-pack`, {
            headers: basic(clientId, `wrong ${guess}`),
          })
        ).status,
      );
    assert.deepEqual([statuses[0], statuses.at(-1)], [401, 429]);
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: 'wrong',
    });
    assert.equal((await ask(`${address}/oauth/dpc/token`, { method: 'POST', body: form })).status, 429);
  });
});

describe('a token of a session', () => {
  test('ends with it', async () => {
    const hosted = await makeHostedProject(server, base);
    const { account, project } = hosted;
    const user = await account.user(undefined, { projectId: project.projectId, role: 'OWNER' });
    const { sessionId } = await account.signIn(user.actorId);
    const owner = { accountId: account.accountId, actorId: user.actorId, isUser: true, sessionId };
    const token = await server.deps.tokens.issue({ ...owner, clientId: 'headgate-cli' }, 'dpc');
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await askBoth(hosted, 'push', headers))[0]?.status, 200);
    await account.admin.delete(`/users/${user.actorId}/sessions/${sessionId}`);
    for (const each of await askBoth(hosted, 'push', headers)) assert.equal(each.status, 401, each.text);
  });
});

describe('git itself', () => {
  test('takes a client id and its secret, a token by any user, and a header', async () => {
    const hosted = await makeHostedProject(server, base);
    const { admin } = hosted.account;
    const secret = { user: admin.clientId, password: admin.secret.reveal() };
    await git.ok(['ls-remote', await hosted.urlOf(secret)]);
    await git.ok(['ls-remote', await hosted.urlOf(admin)]);
    const header = `http.extraHeader=Authorization: Bearer ${await admin.token()}`;
    await git.ok(['-c', header, 'ls-remote', await hosted.urlOf()]);
  });

  test('shows its user what is wrong', async () => {
    const hosted = await makeHostedProject(server, base);
    const { account, project } = hosted;
    const viewer = await account.actor('MEMBER', { projectId: project.projectId, role: 'VIEWER' });
    const tree = await git.makeTree('refused');
    const refused = await git.run(['push', await hosted.urlOf(viewer), 'main'], { cwd: tree });
    assert.match(refused.text, /remote: This needs the permission repository:push/);
    const lost = await git.run(['ls-remote', hosted.url.replace(project.projectId, randomUUID())]);
    assert.match(lost.text, /not found/);
    await server.database.query(
      "update repository set provider = 'github', clone_url = 'https://example.com/a' where project_id = $1",
      [project.projectId],
    );
    assert.match((await git.run(['ls-remote', hosted.url])).text, /remote: .*not hosted here but at github/);
    await server.database.query('delete from repository where project_id = $1', [project.projectId]);
    assert.match((await git.run(['ls-remote', hosted.url])).text, /remote: The project has no repository/);
  });

  test('waits while the repository is migrated', async () => {
    const hosted = await makeHostedProject(server, base);
    const { account, project } = hosted;
    const migrationId = randomUUID();
    await server.database.query(
      `insert into repository_migration (account_id, project_id, migration_id, mode, status, phase, target_provider, target_name,
         target_clone_url, provider_parameters, overwrite, requested_by, created_at)
       values ($1, $2, $3, 'MIRROR_PUSH', 'IN_PROGRESS', 'QUEUED', 'github', 'x', 'https://example.com/x', '{}', false, $4, now())`,
      [account.accountId, project.projectId, migrationId, account.admin.actorId],
    );
    const refused = await git.run(['ls-remote', hosted.url]);
    assert.match(refused.text, new RegExp(`remote: .*${migrationId}`));
  });
});

test('odd paths and requests get a problem, never a 500', async () => {
  const hosted = await makeHostedProject(server, base);
  const headers = basic('x', await hosted.account.admin.token());
  const id = hosted.project.projectId;
  const odd: [string, RequestInit?][] = [
    [`/git/${id}/info/refs?service=git-upload-pack`],
    [`/git/${id}.git/info/refs`],
    [`/git/${id}.git/info/refs?service=git-upload-archive`],
    [`/git/${id}.git/info/refs?service=git-upload-pack&service=x`],
    [`/git/${id}.git/HEAD`],
    [`/git/${id}.git/objects/info/packs`],
    [`/git/${id}.git/config`],
    [`/git/..%2f..%2fetc.git/info/refs?service=git-upload-pack`],
    [`/git/x.git/info/refs?service=git-upload-pack`],
    [`/git/${id}.git/git-upload-pack`, { method: 'POST', body: 'x' }],
    [
      `/git/${id}.git/git-upload-pack`,
      { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } },
    ],
    [`/git/${id}.git/git-receive-pack`, { method: 'PUT', body: '0000' }],
  ];
  for (const [path, options] of odd) {
    const { status, text } = await ask(base + path, {
      ...options,
      headers: { ...headers, ...options?.headers },
    });
    assert.ok(status >= 400 && status < 500, `${path}: ${status} ${text}`);
  }
});
