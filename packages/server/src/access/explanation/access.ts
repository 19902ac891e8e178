/**
 * What roles give, by the permission table that rights() enforces (contract/permission.ts). A test compares
 * the two for many roles.
 */
import {
  type GivenPermission,
  type Grant,
  type HeldRole,
  type Permission,
  permissions,
  placePermissions,
} from '@headgate/contract';

const columns = { ACCOUNT: 'account', PROJECT: 'project', ENVIRONMENT: 'environment' } as const;

/** Whether a role at a level has a permission there. */
export function givesPermission({ role, level }: Pick<HeldRole, 'role' | 'level'>, permission: Permission) {
  const grant: Grant = permissions[permission];
  const roles: readonly string[] = grant[columns[level]];
  return roles.includes(role);
}

/** What the roles of one principal give in a project. */
export function listGivenPermissions(roles: readonly HeldRole[]): GivenPermission[] {
  return placePermissions.flatMap((permission): GivenPermission[] => {
    const giving = roles.filter((role) => givesPermission(role, permission));
    if (giving.length === 0) return [];
    if (giving.some(({ level }) => level !== 'ENVIRONMENT')) return [{ permission }];
    const names = giving.flatMap(({ environmentName }) => environmentName ?? []);
    return [{ permission, environmentNames: [...new Set(names)].toSorted() }];
  });
}
