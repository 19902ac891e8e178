/** What roles give, by the permission table and the permissions of custom roles. */
import {
  type GivenPermission,
  type Grant,
  type Permission,
  permissions,
  placePermissions,
} from '@headgate/contract';
import type { WeighedRole } from './access.store.ts';

/** By the permission table that rights() enforces. A test compares the two for many roles. */
const columns = { ACCOUNT: 'account', PROJECT: 'project', ENVIRONMENT: 'environment' } as const;

/** Whether a role at a level has a permission there. */
export function givesPermission(
  { role, level, permissions: custom }: Pick<WeighedRole, 'role' | 'level' | 'permissions'>,
  permission: Permission,
) {
  if (custom !== undefined) return custom.includes(permission);
  const grant: Grant = permissions[permission];
  const roles: readonly string[] = grant[columns[level]];
  return roles.includes(role);
}

/** What the roles of one principal give in a project. */
export function listGivenPermissions(roles: readonly WeighedRole[]): GivenPermission[] {
  return placePermissions.flatMap((permission): GivenPermission[] => {
    const giving = roles.filter((role) => givesPermission(role, permission));
    if (giving.length === 0) return [];
    if (giving.some(({ level }) => level !== 'ENVIRONMENT')) return [{ permission }];
    const names = giving.flatMap(({ environmentName }) => environmentName ?? []);
    return [{ permission, environmentNames: [...new Set(names)].toSorted() }];
  });
}
