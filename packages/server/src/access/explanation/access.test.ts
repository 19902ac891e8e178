/** Who may do what, and why: GET /v1/me and GET /v1/projects/{projectId}/access. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessExplanation, Me, Page, ProjectAccess } from '@headgate/contract';
import type { Account, Actor } from '../../../testing/account.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

async function readAccess(actor: Pick<Actor, 'get'>, path: string, query = ''): Promise<ProjectAccess[]> {
  const { results, total } = (await actor.get<Page<ProjectAccess>>(`${path}/access?size=100${query}`)).body;
  assert.equal(results.length, total);
  return results;
}

const findOne = (all: readonly ProjectAccess[], { actorId }: Pick<Actor, 'actorId'>) =>
  all.find((each) => each.principalId === actorId);

async function readGroupName({ admin }: Account, groupId = ''): Promise<string> {
  return (await admin.get<{ displayName: string }>(`/groups/${groupId}`)).body.displayName;
}

test('the access of a project names each principal, its roles, the group of each, and what they give', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const user = await account.user('ADMIN', { projectId, environmentName: 'dev', role: 'OPERATOR' });
  const [, groupId = ''] = user.groupIds;
  const found = findOne(await readAccess(account.admin, path), user);
  assert.deepEqual(found, {
    principalId: user.actorId,
    principalType: 'USER',
    name: user.userName,
    roles: [
      {
        role: 'OPERATOR',
        level: 'ENVIRONMENT',
        environmentName: 'dev',
        source: 'GROUP',
        groupId,
        groupName: await readGroupName(account, groupId),
      },
    ],
    permissions: [
      { permission: 'environment:run', environmentNames: ['dev'] },
      { permission: 'executions:read', environmentNames: ['dev'] },
    ],
  });
  const admin = findOne(await readAccess(account.admin, path), account.admin);
  assert.deepEqual(
    admin?.roles.map(({ role, level, source }) => [role, level, source]),
    [
      ['SUPER_ADMIN', 'ACCOUNT', 'CREDENTIAL'],
      ['OWNER', 'PROJECT', 'GRANT'],
    ],
  );
  assert.ok(admin?.permissions.some(({ permission }) => permission === 'project:manage'));
});

test('with a permission and an environment only those who have it there are listed', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const [viewer, operator, elsewhere] = [
    await account.user(undefined, { projectId, role: 'VIEWER' }),
    await account.actor('MEMBER', { projectId, environmentName: 'dev', role: 'OPERATOR' }),
    await account.user(undefined, { projectId, environmentName: 'prod', role: 'OPERATOR' }),
  ];
  const ids = async (query: string) =>
    (await readAccess(account.admin, path, query)).map((each) => each.principalId).toSorted();
  const sorted = (...actors: Pick<Actor, 'actorId'>[]) => actors.map(({ actorId }) => actorId).toSorted();
  const { admin } = account;
  assert.deepEqual(await ids('&permission=project:read'), sorted(admin, viewer));
  assert.deepEqual(await ids('&permission=environment:run'), sorted(admin, operator, elsewhere));
  assert.deepEqual(await ids('&permission=environment:run&environmentName=dev'), sorted(admin, operator));
  const inProd = sorted(admin, viewer, elsewhere);
  assert.deepEqual(await ids('&permission=executions:read&environmentName=prod'), inProd);
  const uat = await admin.get(`${path}/access?environmentName=uat`);
  assert.match(requireProblem(uat, 422, 'unknown-environment').detail, /uat/);
  requireProblem(await admin.get(`${path}/access?permission=agents:list`), 400, 'invalid-request');
});

test('inactive users and expired credentials are not listed: they may do nothing', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const user = await account.user(undefined, { projectId, role: 'OWNER' });
  const actor = await account.actor('MEMBER', { projectId, role: 'OWNER' });
  await account.admin.patch(`/users/${user.actorId}`, { active: false });
  await server.database.query('update credential set expires_at = $1 where credential_id = $2', [
    new Date(server.clock.now().getTime() - 1),
    actor.actorId,
  ]);
  const all = await readAccess(account.admin, path);
  assert.deepEqual([findOne(all, user), findOne(all, actor)], [undefined, undefined]);
});

test('Owners read the access of their project, Contributors and Viewers do not', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const owner = await account.user(undefined, { projectId, role: 'OWNER' });
  assert.equal((await owner.get(`${path}/access`)).status, 200);
  for (const role of ['CONTRIBUTOR', 'VIEWER'] as const) {
    const other = await account.user(undefined, { projectId, role });
    requireProblem(await other.get(`${path}/access`), 403, 'forbidden');
  }
});

test('the default access level of an environment is a role for users with a role in its project', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const viewer = await account.user(undefined, { projectId, role: 'VIEWER' });
  const outside = await account.user(undefined, { projectId, environmentName: 'dev', role: 'VIEWER' });
  const program = await account.actor('MEMBER', { projectId, role: 'VIEWER' });
  const change = (actor: Pick<Actor, 'patch'>) =>
    actor.patch(`${path}/environments/prod`, { description: crypto.randomUUID() });
  const setLevel = (defaultUserAccessLevel: string) =>
    account.admin.patch(`${path}/environments/prod`, { defaultUserAccessLevel });
  requireProblem(await change(viewer), 403, 'forbidden');
  await setLevel('admin');
  assert.equal((await change(viewer)).status, 200);
  requireProblem(await change(outside), 403, 'forbidden');
  requireProblem(await change(program), 403, 'forbidden');
  const found = findOne(await readAccess(account.admin, path), viewer);
  assert.deepEqual(
    found?.roles.map(({ role, environmentName, source }) => [role, environmentName, source]),
    [
      ['VIEWER', undefined, 'GROUP'],
      ['OWNER', 'prod', 'ENVIRONMENT_DEFAULT'],
    ],
  );
  for (const level of ['runner', 'readOnly', 'default', 'noAccess']) {
    await setLevel(level);
    requireProblem(await change(viewer), 403, 'forbidden');
  }
});

test('a caller reads who it is, and what gives its roles', async () => {
  const account = await server.account();
  const { projectId } = await account.project('Weather');
  const user = await account.user(undefined, { projectId, environmentName: 'dev', role: 'VIEWER' });
  const [groupId = ''] = user.groupIds;
  const me = (await user.get<Me>('/me')).body;
  assert.equal(me.accountId, account.accountId);
  assert.deepEqual(me.accountRoles, [{ role: 'MEMBER', source: 'EVERY_USER' }]);
  assert.deepEqual(me.accountPermissions, ['projects:list', 'self:read', 'agents:list']);
  const role = { environmentName: 'dev', role: 'VIEWER', source: 'GROUP' };
  const groupName = await readGroupName(account, groupId);
  assert.deepEqual(me.roles, [{ projectId, projectName: 'Weather', ...role, groupId, groupName }]);
  assert.equal(me.rolesTotal, 1);
  const admin = (await account.admin.get<Me>('/me')).body;
  assert.deepEqual(admin.accountRoles, [{ role: 'SUPER_ADMIN', source: 'CREDENTIAL' }]);
  assert.equal(admin.principalType, 'CREDENTIAL');
});

test('a user of several groups has all of their roles, and a refusal names them', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const user = await account.user(
    'BILLING_ADMIN',
    { projectId, role: 'VIEWER' },
    { projectId, environmentName: 'dev', role: 'OPERATOR' },
  );
  const { detail } = requireProblem(await user.delete(path), 403, 'forbidden');
  assert.match(
    detail,
    /The caller has: BILLING_ADMIN in the account; VIEWER in the project; OPERATOR in the environment "dev"\.$/,
  );
  requireProblem(await user.get('/agents'), 403, 'forbidden');
});

test('an explanation names the group that gives the right, or the roles that would', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const contributor = await account.user(undefined, { projectId, role: 'CONTRIBUTOR' });
  const viewer = await account.user(undefined, { projectId, role: 'VIEWER' });
  const stranger = await account.user();
  const custom = { name: 'DATA_STEWARD', level: 'PROJECT', permissions: ['project:configure'] };
  await account.admin.post('/custom-roles', custom);
  const explain = async ({ actorId }: { actorId: string }, operationId = 'createVariable') =>
    account.admin.get<AccessExplanation>(
      `${path}/access/explain?principalId=${actorId}&operation=${operationId}`,
    );
  const allowed = (await explain(contributor)).body;
  assert.equal(allowed.standing, 'PERMITTED');
  assert.deepEqual(
    allowed.reasons[0]?.grantedBy.map(({ role, groupId }) => [role, groupId]),
    [['CONTRIBUTOR', contributor.groupIds[0]]],
  );
  const refused = (await explain(viewer)).body;
  assert.deepEqual([refused.allowed, refused.standing], [false, 'FORBIDDEN']);
  assert.deepEqual(refused.reasons[0]?.wouldAllow, [
    { level: 'ACCOUNT', roles: ['SUPER_ADMIN'] },
    { level: 'PROJECT', roles: ['OWNER', 'CONTRIBUTOR', 'DATA_STEWARD'] },
  ]);
  assert.equal((await explain(stranger)).body.standing, 'UNKNOWN');
  await account.admin.patch(`/users/${contributor.actorId}`, { active: false });
  assert.equal((await explain(contributor)).body.standing, 'INACTIVE');
  const typo = requireProblem(await explain(viewer, 'createVariabel'), 422, 'operation-not-of-project');
  assert.match(typo.detail, /did you mean createVariable/);
  requireProblem(await explain(viewer, 'createUser'), 422, 'operation-not-of-project');
  requireProblem(await explain({ actorId: projectId }), 404, 'principal-not-found');
  const query = `principalId=${viewer.actorId}&operation=createVariable`;
  requireProblem(await viewer.get(`${path}/access/explain?${query}`), 403, 'forbidden');
});
