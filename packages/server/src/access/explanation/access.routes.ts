import {
  environmentRoles,
  type GivenPermission,
  type Grant,
  getMe,
  getProjectAccess,
  type Permission,
  permissions,
  placePermissions,
  projectRoles,
  shownRoles,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { encodeRoles, findRequiredRoles } from '../../kernel/security/permissions.ts';
import { caller, environmentExists, projectAccessPage, type WeighedRole } from './access.store.ts';

/** Without a wanted permission, any role will do. Of the account roles, only SUPER_ADMIN gives access to a project. */
const anyRole = {
  account: encodeRoles(['SUPER_ADMIN']),
  project: encodeRoles([...projectRoles, 'project:read']),
  environment: encodeRoles([...environmentRoles, 'executions:read']),
};

const everyPermission = Object.keys(permissions) as Permission[];

export function accessRoutes({ read }: Endpoints): void {
  read(getMe, async ({ scope, rows }) => {
    const row = requireRow(await rows(caller, {}), () =>
      problem('token-invalid', { reason: 'its credential or user was deleted.' }),
    );
    const held = row.account_roles_held;
    return {
      body: {
        principalId: scope.actorId,
        principalType: row.principal_type,
        name: row.name,
        accountId: scope.accountId,
        accountName: row.account_name,
        accountRoles: held,
        accountPermissions: everyPermission.filter((permission) =>
          held.some(({ role }) => givesPermission({ role, level: 'ACCOUNT' }, permission)),
        ),
        roles: row.roles,
        rolesTotal: row.roles_total,
      },
    };
  });

  read(getProjectAccess, async ({ query, rows, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { permission, environmentName: name } = query;
    if (name !== undefined)
      requireRow(await rows(environmentExists, { name }), () => problem('unknown-environment', { name }));
    const required = permission === undefined ? anyRole : findRequiredRoles(permission);
    const { rows: some, total } = await page(projectAccessPage, {
      wanted_account_roles: required.account,
      wanted_project_roles: required.project,
      wanted_environment_roles: required.environment,
      wanted_environment: name ?? null,
      limit,
      offset,
    });
    const results = some.map(({ principal_id, principal_type, name: principal, roles }) => ({
      principalId: principal_id,
      principalType: principal_type,
      name: principal,
      roles: roles.slice(0, shownRoles).map(({ permissions: _, ...role }) => role),
      permissions: listGivenPermissions(roles),
    }));
    return { body: { page: query.page, results, size: limit, total } };
  });
}

/** By the permission table that rights() enforces. A test compares the two for many roles. */
const columns = { ACCOUNT: 'account', PROJECT: 'project', ENVIRONMENT: 'environment' } as const;

/** Whether a role at a level has a permission there. */
function givesPermission(
  { role, level, permissions: custom }: Pick<WeighedRole, 'role' | 'level' | 'permissions'>,
  permission: Permission,
) {
  if (custom !== undefined) return custom.includes(permission);
  const grant: Grant = permissions[permission];
  const roles: readonly string[] = grant[columns[level]];
  return roles.includes(role);
}

/** What the roles of one principal give in a project. */
function listGivenPermissions(roles: readonly WeighedRole[]): GivenPermission[] {
  return placePermissions.flatMap((permission): GivenPermission[] => {
    const giving = roles.filter((role) => givesPermission(role, permission));
    if (giving.length === 0) return [];
    if (giving.some(({ level }) => level !== 'ENVIRONMENT')) return [{ permission }];
    const names = giving.flatMap(({ environmentName }) => environmentName ?? []);
    return [{ permission, environmentNames: [...new Set(names)].toSorted() }];
  });
}
