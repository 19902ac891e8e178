/** Groups of users, and the role that each gives, for accounts without a directory (issue 15). */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  DateTime,
  EnvironmentName,
  ifMatchHeader,
  Name,
  OpaqueId,
  ProjectId,
  pageOf,
  pageQuery,
  Uuid,
} from '../primitives.ts';

const GroupName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '\\S',
  'x-form': 'a name that is not only spaces, such as Operators',
  description: 'Unique in the account; case does not matter',
});
/** Not case-sensitive, and can have spaces; responses have SUPER_ADMIN, OWNER, … */
const RoleWord = Type.String({ minLength: 1, maxLength: 50 });

export const Group = named(
  'Group',
  Type.Object({
    groupId: Uuid,
    displayName: Name,
    externalId: Type.Optional(Name),
    role: Type.Optional(Type.String({ maxLength: 50 })),
    projectId: Type.Optional(ProjectId),
    environmentName: Type.Optional(Name),
    givesRole: Type.Boolean({
      description: 'Whether members have the role now: not after its project or environment was deleted',
    }),
    createdAt: DateTime,
    updatedAt: DateTime,
  }),
);
export type Group = Static<typeof Group>;

export const groupPath = { groupId: OpaqueId };
export const groupOperation = { surface: 'dpc', tag: 'Groups', permission: 'users:manage' } as const;
const onePath = '/v1/groups/{groupId}';
const roleProblems = [
  'group-name-taken',
  'unknown-role',
  'place-without-role',
  'environment-without-project',
  'unknown-project',
  'unknown-environment',
  'permissions-not-held',
] as const;

/** For operations that can take the last member from a group that gives a role. */
export const confirmQuery = {
  confirm: Type.Boolean({
    default: false,
    description:
      'Required to empty or delete a group that gives a role, if the settings of the directory protect such groups',
  }),
};

export const listGroups = operation({
  ...groupOperation,
  id: 'listGroups',
  method: 'GET',
  path: '/v1/groups',
  summary: 'List groups, by displayName',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Group) },
  problems: [],
  events: [],
});

export const createGroup = operation({
  ...groupOperation,
  id: 'createGroup',
  method: 'POST',
  path: '/v1/groups',
  summary: 'Create a group',
  description:
    'Members have the `role` in the environment, else in the project, else in the account. In the account: SUPER_ADMIN, ADMIN, BILLING_ADMIN or MEMBER; in a project: OWNER, CONTRIBUTOR or VIEWER; in an environment: OWNER, CONTRIBUTOR, OPERATOR or VIEWER. In a project or an environment it can also be a custom role. It is not case-sensitive. A group without a role gives nothing.',
  body: Type.Object({
    displayName: GroupName,
    externalId: Type.Optional(Name),
    role: Type.Optional(RoleWord),
    projectId: Type.Optional(ProjectId),
    environmentName: Type.Optional(EnvironmentName),
  }),
  success: { status: 201, body: Group, headers: ['Location', 'ETag'] },
  problems: roleProblems,
  events: ['group-created'],
});

export const getGroup = operation({
  ...groupOperation,
  id: 'getGroup',
  method: 'GET',
  path: onePath,
  summary: 'Get a group',
  params: Type.Object(groupPath),
  success: { status: 200, body: Group, headers: ['ETag'] },
  problems: ['group-not-found'],
  events: [],
});

export const updateGroup = operation({
  ...groupOperation,
  id: 'updateGroup',
  method: 'PATCH',
  path: onePath,
  summary: 'Update a group',
  description:
    'Members left out keep their value; null removes it. A change of `role`, `projectId` or `environmentName` applies from the next request of each member.',
  params: Type.Object(groupPath),
  headers: ifMatchHeader,
  body: Type.Object({
    displayName: Type.Optional(GroupName),
    externalId: Type.Optional(Type.Union([Name, Type.Null()])),
    role: Type.Optional(Type.Union([RoleWord, Type.Null()])),
    projectId: Type.Optional(Type.Union([ProjectId, Type.Null()])),
    environmentName: Type.Optional(Type.Union([EnvironmentName, Type.Null()])),
  }),
  success: { status: 200, body: Group, headers: ['ETag'] },
  problems: [
    'group-not-found',
    ...roleProblems,
    'super-admin-for-a-time',
    'last-super-admin-user',
    'etag-mismatch',
  ],
  events: ['group-updated'],
});

export const deleteGroup = operation({
  ...groupOperation,
  id: 'deleteGroup',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a group',
  description: 'Its members lose its role. The users stay.',
  params: Type.Object(groupPath),
  headers: ifMatchHeader,
  query: Type.Object(confirmQuery),
  success: { status: 204 },
  problems: ['group-not-found', 'role-group-protected', 'last-super-admin-user', 'etag-mismatch'],
  events: ['group-deleted', 'role-group-emptied'],
});

export const groupOperations = [listGroups, createGroup, getGroup, updateGroup, deleteGroup] as const;
