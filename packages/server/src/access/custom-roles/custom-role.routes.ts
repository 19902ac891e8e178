import {
  accountRoles,
  type CustomRoleLevel,
  createCustomRole,
  deleteCustomRole,
  environmentRoles,
  getCustomRole,
  listBasePermissions,
  listCustomRoles,
  listPermissionsOfLevel,
  type Permission,
  projectRoles,
  updateCustomRole,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import {
  type CustomRoleRow,
  customRoleByName,
  customRolePage,
  deleteRow,
  insertCustomRole,
  lockCustomRole,
  presentCustomRole,
  renderRoleEtag,
  updateRow,
} from './custom-role.store.ts';
import { requireHeldPermissions } from './held-permissions.ts';

/** A custom role can be granted in any project, so its permissions are needed in the account. */
const wholeAccount = { projectId: null, environmentName: null };
const builtInRoles: readonly string[] = [...accountRoles, ...projectRoles, ...environmentRoles];

export function customRoleRoutes({ read, write }: Endpoints): void {
  read(listCustomRoles, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(customRolePage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentCustomRole), size: limit, total } };
  });

  read(getCustomRole, async ({ params: { roleName: name }, rows }) => {
    const found = await rows(customRoleByName, { name });
    const row = requireRow(found, () => problem('custom-role-not-found', { name }));
    return { body: presentCustomRole(row), etag: renderRoleEtag(row) };
  });

  write(createCustomRole, async ({ tx, scope, body, now }) => {
    const { name, level, description } = body;
    if (builtInRoles.includes(name)) throw problem('custom-role-name-taken', { name });
    const permissions = completePermissions(level, body.permissions);
    await requireHeldPermissions(tx, { scope, now }, permissions, wholeAccount);
    const row: CustomRoleRow = {
      name,
      description: description ?? null,
      level,
      permissions,
      version: 1,
      created_at: now,
      updated_at: now,
    };
    await insertCustomRole(tx, scope.accountId, row);
    const after = presentCustomRole(row);
    return {
      body: after,
      etag: renderRoleEtag(row),
      location: `/v1/custom-roles/${name}`,
      events: [{ name: 'custom-role-created', subject: buildSubject(row), after }],
    };
  });

  write(updateCustomRole, async ({ tx, scope, params, headers, body, now }) => {
    const stored = await lockCustomRole(tx, scope.accountId, params.roleName);
    requireMatch(headers['If-Match'], renderRoleEtag(stored));
    const permissions = completePermissions(stored.level, body.permissions);
    await requireHeldPermissions(tx, { scope, now }, permissions, wholeAccount);
    const row: CustomRoleRow = {
      ...stored,
      description: body.description ?? null,
      permissions,
      version: stored.version + 1,
      updated_at: now,
    };
    updateRow(tx, scope.accountId, row);
    const states = { before: presentCustomRole(stored), after: presentCustomRole(row) };
    return {
      body: states.after,
      etag: renderRoleEtag(row),
      events: [{ name: 'custom-role-updated', subject: buildSubject(row), ...states }],
    };
  });

  write(deleteCustomRole, async ({ tx, scope, params, headers, now }) => {
    const stored = await lockCustomRole(tx, scope.accountId, params.roleName);
    requireMatch(headers['If-Match'], renderRoleEtag(stored));
    await deleteRow(tx, scope.accountId, stored.name, now);
    const before = presentCustomRole(stored);
    return { events: [{ name: 'custom-role-deleted', subject: buildSubject(stored), before }] };
  });
}

/** In the order of the permission table. Throws `unfit-permissions`. */
function completePermissions(level: CustomRoleLevel, input: readonly Permission[]): Permission[] {
  const allowed = listPermissionsOfLevel(level);
  const unfit = input.filter((permission) => !allowed.includes(permission));
  if (unfit.length > 0) throw problem('unfit-permissions', { level, unfit, allowed });
  const all = [...listBasePermissions(level), ...input];
  return allowed.filter((permission) => all.includes(permission));
}

const buildSubject = ({ name }: CustomRoleRow) => ({ type: 'custom-role', id: name, name });
