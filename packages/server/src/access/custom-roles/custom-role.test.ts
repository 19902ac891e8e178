/** Custom roles: what they give, to whom, and what nobody can do with them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CustomRole, Group, Me, Page } from '@headgate/contract';
import type { Account } from '../../../testing/account.ts';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { resolveGrantedWord } from './index.ts';

const server = await startTestServer();
const other = await startTestServer({ database: server.database });

const createRole = async ({ admin }: Account, body: object = {}) =>
  admin.post<CustomRole>('/custom-roles', {
    name: 'DATA_STEWARD',
    level: 'PROJECT',
    permissions: ['project:configure'],
    ...body,
  });

async function createMember(account: Account, group: object) {
  const user = await account.user();
  const { groupId } = (await account.admin.post<Group>('/groups', { displayName: 'Stewards', ...group }))
    .body;
  await account.admin.post(`/groups/${groupId}/members`, { userIds: [user.actorId] });
  return { user, groupId };
}

test('a role is created, read, replaced, listed and deleted', async () => {
  const account = await server.account();
  const { admin } = account;
  const made = await createRole(account, { description: 'Keeps the variables' });
  assert.equal(made.status, 201);
  assert.deepEqual(made.body.permissions, [
    'project:read',
    'project:configure',
    'executions:read',
    'budget:read',
  ]);
  assert.deepEqual((await admin.get<CustomRole>('/custom-roles/DATA_STEWARD')).body, made.body);
  const replaced = await admin.send<CustomRole>('PUT', '/custom-roles/DATA_STEWARD', {
    body: { permissions: ['environment:run'] },
  });
  assert.deepEqual(replaced.body.permissions, [
    'project:read',
    'environment:run',
    'executions:read',
    'budget:read',
  ]);
  assert.equal(replaced.body.description, undefined);
  const { results } = (await admin.get<Page<CustomRole>>('/custom-roles')).body;
  assert.deepEqual(results, [replaced.body]);
  assert.equal((await admin.delete('/custom-roles/DATA_STEWARD')).status, 204);
  requireProblem(await admin.get('/custom-roles/DATA_STEWARD'), 404, 'custom-role-not-found');
});

test('names of built-in roles, other forms of names, and permissions of the account are refused', async () => {
  const account = await server.account();
  for (const name of ['OWNER', 'SUPER_ADMIN', 'DIRECTORY'])
    requireProblem(await createRole(account, { name }), 409, 'custom-role-name-taken');
  for (const name of [
    'owner',
    ' OWNER',
    'OWNER\u0000',
    'A,SUPER_ADMIN',
    '{A}',
    "A'--",
    'project:read',
    'A'.repeat(51),
  ])
    requireProblem(await createRole(account, { name }), 400, 'invalid-request');
  requireProblem(await createRole(account, { permissions: ['users:manage'] }), 400, 'invalid-request');
  const unfit = { level: 'ENVIRONMENT', permissions: ['project:configure'] };
  const refused = requireProblem(await createRole(account, unfit), 422, 'unfit-permissions');
  assert.match(refused.detail, /project:configure/);
});

test('a group gives a custom role in its project and nowhere else, and a replaced role applies at once on every server', async () => {
  const account = await server.account();
  const [project, elsewhere] = [await account.project(), await account.project()];
  await createRole(account);
  const group = { role: 'data steward', projectId: project.projectId };
  const { user } = await createMember(account, group);
  const body = { behaviour: 'SHARED', value: '1', type: 'TEXT' };
  const write = (path: string) => user.post(`${path}/variables`, { ...body, name: 'city' });
  const allowed = await write(project.path);
  assert.equal(allowed.status, 201);
  requireProblem(await write(elsewhere.path), 404, 'project-not-found');
  requireProblem(await user.patch(project.path, { description: 'x' }), 403, 'forbidden');
  const { roles } = (await user.get<Me>('/me')).body;
  assert.deepEqual(
    roles.map(({ role, projectId }) => [role, projectId]),
    [['DATA_STEWARD', project.projectId]],
  );
  await account.admin.send('PUT', '/custom-roles/DATA_STEWARD', { body: { permissions: ['project:read'] } });
  requireProblem(await write(project.path), 403, 'forbidden');
  const elsewhereServed = createClient(other.transport, '/dpc/v1', user.token);
  const again = { ...body, name: 'again' };
  requireProblem(await elsewhereServed.post(`${project.path}/variables`, again), 403, 'forbidden');
});

test('a role is granted only at its level, and never as a role in the account', async () => {
  const account = await server.account();
  const { projectId } = await account.project();
  await createRole(account, { name: 'NIGHT_SHIFT', level: 'ENVIRONMENT', permissions: ['environment:run'] });
  const create = (group: object) =>
    account.admin.post<Group>('/groups', { displayName: crypto.randomUUID(), role: 'NIGHT_SHIFT', ...group });
  requireProblem(await create({}), 422, 'unknown-role');
  requireProblem(await create({ projectId }), 422, 'unknown-role');
  assert.equal((await create({ projectId, environmentName: 'dev' })).body.role, 'NIGHT_SHIFT');
  const credential = { name: 'ci', role: 'MEMBER' };
  const inProject = { ...credential, roles: [{ projectId, role: 'NIGHT_SHIFT' }] };
  requireProblem(await account.admin.post('/credentials', inProject), 422, 'unknown-role');
  const inDev = { ...credential, roles: [{ projectId, environmentName: 'dev', role: 'NIGHT_SHIFT' }] };
  assert.equal((await account.admin.post('/credentials', inDev)).status, 201);
});

test('a granted role is not deleted: the problem names the groups and credentials', async () => {
  const account = await server.account();
  const { projectId } = await account.project();
  await createRole(account);
  const role = 'DATA_STEWARD';
  await createMember(account, { role, projectId });
  await account.admin.post('/credentials', { name: 'ci', role: 'MEMBER', roles: [{ projectId, role }] });
  const refused = requireProblem(
    await account.admin.delete(`/custom-roles/${role}`),
    409,
    'custom-role-in-use',
  );
  assert.match(refused.detail, /the credential "ci", the group "Stewards"/);
});

test('a role of another account does not exist here', async () => {
  const [account, stranger] = [await server.account(), await server.account()];
  const { projectId } = await account.project();
  await createRole(stranger);
  const group = { displayName: 'x', role: 'DATA_STEWARD', projectId };
  requireProblem(await account.admin.post('/groups', group), 422, 'unknown-role');
  requireProblem(await account.admin.get('/custom-roles/DATA_STEWARD'), 404, 'custom-role-not-found');
});

test('nobody grants a role with permissions that they do not have at the place', async () => {
  const account = await server.account();
  const [own, elsewhere] = [await account.project(), await account.project()];
  await createRole(account, { permissions: ['repository:manage'] });
  const owner = await account.actor('MEMBER', { projectId: own.projectId, role: 'OWNER' });
  const viewer = await account.actor('MEMBER', { projectId: own.projectId, role: 'VIEWER' });
  const now = server.deps.clock.now();
  const grant = (actorId: string, projectId: string) =>
    server.deps.database.transaction((tx) =>
      resolveGrantedWord(
        tx,
        { scope: { accountId: account.accountId, actorId }, now },
        { role: 'DATA_STEWARD', field: 'body.role', builtIn: [], projectId, environmentName: null },
      ),
    );
  assert.equal(await grant(owner.actorId, own.projectId), 'DATA_STEWARD');
  await assert.rejects(grant(owner.actorId, elsewhere.projectId), /permissions-not-held|do not have/);
  await assert.rejects(grant(viewer.actorId, own.projectId), /permissions-not-held|do not have/);
});

test('a role of a personal token is not deleted: another role of its name would widen the token', async () => {
  const account = await server.account();
  const { projectId } = await account.project();
  await createRole(account);
  const ada = await account.user(undefined, { projectId, role: 'OWNER' });
  const { client } = await account.signIn(ada.actorId);
  const expiresAt = new Date(server.clock.now().getTime() + 60_000).toISOString();
  const roles = [{ projectId, role: 'DATA_STEWARD' }];
  assert.equal((await client.post('/me/tokens', { name: 'report', expiresAt, roles })).status, 201);
  const refused = requireProblem(
    await account.admin.delete('/custom-roles/DATA_STEWARD'),
    409,
    'custom-role-in-use',
  );
  assert.match(refused.detail, /the personal token "report"/);
  server.clock.advance(60);
  assert.equal((await account.admin.delete('/custom-roles/DATA_STEWARD')).status, 204);
});

test('whoever manages an environment gives everybody there only what they have', async () => {
  const account = await server.account();
  const { projectId, path } = await account.project();
  await createRole(account, { permissions: ['environment:manage'] });
  const { user } = await createMember(account, { role: 'DATA_STEWARD', projectId });
  const prod = `${path}/environments/prod`;
  for (const defaultUserAccessLevel of ['admin', 'runner'])
    requireProblem(await user.patch(prod, { defaultUserAccessLevel }), 403, 'permissions-not-held');
  assert.equal((await user.patch(prod, { defaultUserAccessLevel: 'readOnly' })).status, 200);
  assert.equal((await user.patch(prod, { description: 'Ours' })).status, 200);
});
