/** Roles that an account defines from the permission table. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { type Permission, permissions, placePermissions } from '../permission.ts';
import { DateTime, ifMatchHeader, Name, oneOf, pageOf, pageQuery } from '../primitives.ts';

export const customRoleLevels = ['PROJECT', 'ENVIRONMENT'] as const;
export type CustomRoleLevel = (typeof customRoleLevels)[number];
const columns = { PROJECT: 'project', ENVIRONMENT: 'environment' } as const;

/** What a custom role of a level can give. */
export const listPermissionsOfLevel = (level: CustomRoleLevel): Permission[] =>
  placePermissions.filter((name) => permissions[name][columns[level]].length > 0);

/** What every role of a level gives: what VIEWER does. Lists show a project to all who have a role in it. */
export const listBasePermissions = (level: CustomRoleLevel): Permission[] =>
  placePermissions.filter((name) => {
    const roles: readonly string[] = permissions[name][columns[level]];
    return roles.includes('VIEWER');
  });

const RoleName = Type.String({
  minLength: 1,
  maxLength: 50,
  pattern: '^[A-Z][A-Z0-9_]*$',
  'x-form': 'capital letters, digits and underscores such as DATA_STEWARD',
  description: 'Unique in the account, and not the name of a built-in role. It cannot be changed',
});
const Permissions = Type.Array(oneOf(placePermissions), {
  minItems: 1,
  maxItems: placePermissions.length,
  uniqueItems: true,
});
const Description = Type.String({ maxLength: 1_000 });

export const CustomRole = named(
  'CustomRole',
  Type.Object({
    name: RoleName,
    description: Type.Optional(Description),
    level: oneOf(customRoleLevels),
    permissions: Type.Array(oneOf(placePermissions), {
      maxItems: placePermissions.length,
      description: 'With those that VIEWER has at the level: every role has them',
    }),
    createdAt: DateTime,
    updatedAt: DateTime,
  }),
);
export type CustomRole = Static<typeof CustomRole>;

const roleOperation = { surface: 'dpc', tag: 'Access', permission: 'users:manage' } as const;
const path = '/v1/custom-roles';
const onePath = `${path}/{roleName}`;
const params = Type.Object({ roleName: Name });

export const listCustomRoles = operation({
  ...roleOperation,
  id: 'listCustomRoles',
  method: 'GET',
  path,
  summary: 'List custom roles, by name',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(CustomRole) },
  problems: [],
  events: [],
});

export const createCustomRole = operation({
  ...roleOperation,
  id: 'createCustomRole',
  method: 'POST',
  path,
  summary: 'Create a custom role',
  description:
    'A role of the level PROJECT can be granted in projects, and one of the level ENVIRONMENT in environments. The caller must have each of the permissions.',
  body: Type.Object({
    name: RoleName,
    description: Type.Optional(Description),
    level: oneOf(customRoleLevels),
    permissions: Permissions,
  }),
  success: { status: 201, body: CustomRole, headers: ['Location', 'ETag'] },
  problems: ['custom-role-name-taken', 'too-many-custom-roles', 'unfit-permissions', 'permissions-not-held'],
  events: ['custom-role-created'],
});

export const getCustomRole = operation({
  ...roleOperation,
  id: 'getCustomRole',
  method: 'GET',
  path: onePath,
  summary: 'Get a custom role',
  params,
  success: { status: 200, body: CustomRole, headers: ['ETag'] },
  problems: ['custom-role-not-found'],
  events: [],
});

export const updateCustomRole = operation({
  ...roleOperation,
  id: 'updateCustomRole',
  method: 'PUT',
  path: onePath,
  summary: 'Replace a custom role',
  description:
    'Name and level stay. It applies from the next request of each holder. The caller must have each of the permissions.',
  params,
  headers: ifMatchHeader,
  body: Type.Object({ description: Type.Optional(Description), permissions: Permissions }),
  success: { status: 200, body: CustomRole, headers: ['ETag'] },
  problems: ['custom-role-not-found', 'unfit-permissions', 'permissions-not-held', 'etag-mismatch'],
  events: ['custom-role-updated'],
});

export const deleteCustomRole = operation({
  ...roleOperation,
  id: 'deleteCustomRole',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a custom role',
  description: 'Only a role that no group and no credential has.',
  params,
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['custom-role-not-found', 'custom-role-in-use', 'etag-mismatch'],
  events: ['custom-role-deleted'],
});

export const customRoleOperations = [
  listCustomRoles,
  createCustomRole,
  getCustomRole,
  updateCustomRole,
  deleteCustomRole,
] as const;
