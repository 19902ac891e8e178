import {
  environmentRoles,
  getMe,
  getProjectAccess,
  type Permission,
  permissions,
  projectRoles,
  shownRoles,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { encodeRoles, findRequiredRoles } from '../../kernel/security/permissions.ts';
import { caller, environmentExists, projectAccessPage } from './access.store.ts';
import { explainRoutes } from './explain.routes.ts';
import { givesPermission, listGivenPermissions } from './given-permissions.ts';
import { reviewRoutes } from './review.routes.ts';

/** Without a wanted permission, any role will do. Of the account roles, only SUPER_ADMIN gives access to a project. */
const anyRole = {
  account: encodeRoles(['SUPER_ADMIN']),
  project: encodeRoles([...projectRoles, 'project:read']),
  environment: encodeRoles([...environmentRoles, 'executions:read']),
};

const everyPermission = Object.keys(permissions) as Permission[];

export function accessRoutes(endpoints: Endpoints): void {
  const { read } = endpoints;
  explainRoutes(endpoints);
  reviewRoutes(endpoints);

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
