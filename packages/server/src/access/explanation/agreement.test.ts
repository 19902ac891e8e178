/**
 * For any roles, GET /v1/projects/{projectId}/access says what rights() allows: for each principal, each
 * permission of a project, and each environment.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AccessExplanation,
  environmentRoles,
  listBasePermissions,
  listPermissionsOfLevel,
  operations,
  type Page,
  type ProjectAccess,
  placePermissions,
  projectRoles,
} from '@headgate/contract';
import fc from 'fast-check';
import type { Account } from '../../../testing/account.ts';
import { startTestServer } from '../../../testing/server.ts';
import { findRequiredRoles } from '../../kernel/security/permissions.ts';

const server = await startTestServer();
const environments = ['dev', 'prod'] as const;
const levels = ['default', 'admin', 'runner', 'readOnly', 'noAccess'] as const;

const anyPlace = fc.oneof(
  fc.record({ role: fc.constantFrom('SUPER_ADMIN', 'ADMIN', 'MEMBER') }),
  fc.record({ project: fc.constantFrom(0, 1), role: fc.constantFrom(...projectRoles, 'CUSTOM_P') }),
  fc.record({
    project: fc.constantFrom(0, 1),
    environmentName: fc.constantFrom(...environments),
    role: fc.constantFrom<string>(...environmentRoles, 'CUSTOM_E'),
  }),
);
const anyWorld = fc.record({
  groups: fc.array(anyPlace, { minLength: 1, maxLength: 5 }),
  users: fc.array(
    fc.record({
      active: fc.boolean(),
      groups: fc.uniqueArray(fc.nat(4), { maxLength: 4 }),
      /** Of the membership in each group, from now. */
      ends: fc.tuple(...Array.from({ length: 5 }, () => fc.constantFrom(null, '-1 day', '1 day'))),
      owns: fc.option(fc.constantFrom(0, 1)),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  customP: fc.subarray(listPermissionsOfLevel('PROJECT')),
  customE: fc.subarray(listPermissionsOfLevel('ENVIRONMENT')),
  levels: fc.tuple(fc.constantFrom(...levels), fc.constantFrom(...levels)),
});
type World = typeof anyWorld extends fc.Arbitrary<infer Made> ? Made : never;

/** Creates it in SQL, because the API does not give a user a role of its own. */
async function createWorld(account: Account, projectIds: readonly string[], world: World): Promise<void> {
  const { query } = server.database;
  const { accountId } = account;
  await query('delete from directory_user where account_id = $1', [accountId]);
  await query('delete from directory_group where account_id = $1', [accountId]);
  const custom = [
    ['CUSTOM_P', 'PROJECT', world.customP] as const,
    ['CUSTOM_E', 'ENVIRONMENT', world.customE] as const,
  ];
  for (const [name, level, permissions] of custom)
    await query(
      `
      insert into custom_role (account_id, name, level, permissions, version, created_at, updated_at)
      values ($1, $2, $3, $4, 1, now(), now())
      on conflict (account_id, name) do update set permissions = excluded.permissions`,
      [accountId, name, level, [...listBasePermissions(level), ...permissions]],
    );
  for (const [index, name] of environments.entries())
    await query('update environment set default_user_access_level = $3 where account_id = $1 and name = $2', [
      accountId,
      name,
      world.levels[index],
    ]);
  const groupIds = world.groups.map(() => server.deps.newId());
  for (const [index, group] of world.groups.entries()) {
    const projectId = 'project' in group ? projectIds[group.project] : null;
    const environmentName = 'environmentName' in group ? group.environmentName : null;
    await query(
      `
      with made as (
        insert into directory_group (account_id, group_id, display_name, display_name_key, attributes, version, created_at, updated_at)
        values ($1, $2, $3, $3, '{}', 1, now(), now()))
      select`,
      [accountId, groupIds[index], `group ${index}`],
    );
    await query(
      `
      insert into directory_role (account_id, group_id, project_id, environment_name, role)
      values ($1, $2, $3, $4, $5)`,
      [accountId, groupIds[index], projectId, environmentName, group.role],
    );
  }
  for (const [index, user] of world.users.entries()) {
    const userId = server.deps.newId();
    await query(
      `
      insert into directory_user (account_id, user_id, user_name, user_name_key, active, attributes, version, created_at, updated_at)
      values ($1, $2, $3, $3, $4, '{}', 1, now(), now())`,
      [accountId, userId, `user ${index}`, user.active],
    );
    for (const each of user.groups.filter((index) => groupIds[index] !== undefined))
      await query(
        'insert into directory_member (account_id, group_id, user_id, expires_at) values ($1, $2, $3, now() + $4::interval)',
        [accountId, groupIds[each], userId, user.ends[each]],
      );
    if (user.owns !== null)
      await query(
        "insert into role_grant (account_id, user_id, project_id, role) values ($1, $2, $3, 'OWNER')",
        [accountId, userId, projectIds[user.owns]],
      );
  }
}

/** What rights() permits: `principal permission environment`. */
async function listEnforced({ accountId }: Account, projectId: string): Promise<string[]> {
  const found = await Promise.all(
    placePermissions.map((permission) => {
      const { account, project, environment } = findRequiredRoles(permission);
      return server.database.query<{ allowed: string }>(
        `
        select concat_ws(' ', p.principal_id, $6::text, e.name) as allowed
        from principal p
        join environment e on e.account_id = p.account_id and e.project_id = $2
        cross join lateral rights(p.account_id, p.principal_id, $2, e.name, $3::text[], $4::text[], $5::text[], now()) r
        where p.account_id = $1 and r.standing = 'permitted'`,
        [accountId, projectId, account, project, environment, permission],
      );
    }),
  );
  return found.flat().map(({ allowed }) => allowed);
}

/** What the explanation says. */
async function listExplained({ admin }: Account, projectId: string): Promise<string[]> {
  const path = `/projects/${projectId}/access?size=100`;
  const { results } = (await admin.get<Page<ProjectAccess>>(path)).body;
  return results.flatMap(({ principalId, permissions }) =>
    permissions.flatMap(({ permission, environmentNames }) =>
      (environmentNames ?? environments).map((name) => `${principalId} ${permission} ${name}`),
    ),
  );
}

test('for any groups, members, grants and access levels, the explanation is what is enforced', async () => {
  const account = await server.account();
  const projectIds = [(await account.project()).projectId, (await account.project()).projectId];
  await fc.assert(
    fc.asyncProperty(anyWorld, async (world) => {
      await createWorld(account, projectIds, world);
      for (const projectId of projectIds) {
        const explained = await listExplained(account, projectId);
        assert.deepEqual(explained.toSorted(), (await listEnforced(account, projectId)).toSorted());
      }
    }),
    { numRuns: 60 },
  );
});

test('the list of those with a permission is the list that the explanation gives them', async () => {
  const account = await server.account();
  const projectIds = [(await account.project()).projectId, (await account.project()).projectId];
  const [projectId = ''] = projectIds;
  await fc.assert(
    fc.asyncProperty(
      anyWorld,
      fc.constantFrom(...placePermissions),
      fc.constantFrom(...environments),
      async (world, permission, name) => {
        await createWorld(account, projectIds, world);
        const path = `/projects/${projectId}/access?size=100&permission=${permission}&environmentName=${name}`;
        const { results } = (await account.admin.get<Page<ProjectAccess>>(path)).body;
        const listed = results.map(({ principalId }) => `${principalId} ${permission} ${name}`);
        const explained = await listExplained(account, projectId);
        const expected = explained.filter((each) => each.endsWith(` ${permission} ${name}`));
        assert.deepEqual(listed.toSorted(), expected.toSorted());
      },
    ),
    { numRuns: 40 },
  );
});

const explainable = operations.filter(
  ({ surface, permission, alsoRequires }) =>
    surface === 'dpc' &&
    permission !== undefined &&
    alsoRequires === undefined &&
    placePermissions.includes(permission),
);

test('the explanation of an operation is what rights() decides, and names a role whenever it is allowed', async () => {
  const account = await server.account();
  const projectIds = [(await account.project()).projectId, (await account.project()).projectId];
  const [projectId = ''] = projectIds;
  await fc.assert(
    fc.asyncProperty(
      anyWorld,
      fc.constantFrom(...explainable),
      fc.constantFrom(...environments),
      async (world, { id, permission }, name) => {
        await createWorld(account, projectIds, world);
        const enforced = new Set(await listEnforced(account, projectId));
        const principals = await server.database.query<{ principal_id: string }>(
          'select principal_id from principal where account_id = $1',
          [account.accountId],
        );
        for (const { principal_id: principal } of principals) {
          const query = `principalId=${principal}&operation=${id}&environmentName=${name}`;
          const path = `/projects/${projectId}/access/explain?${query}`;
          const { allowed, reasons } = (await account.admin.get<AccessExplanation>(path)).body;
          assert.equal(allowed, enforced.has(`${principal} ${permission} ${name}`), path);
          assert.equal((reasons[0]?.grantedBy.length ?? 0) > 0, allowed, path);
        }
      },
    ),
    { numRuns: 40 },
  );
});
