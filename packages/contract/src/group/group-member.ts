/** The members of groups. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, OpaqueId, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { User, userPath } from '../user/user.ts';
import { confirmQuery, Group, groupOperation, groupPath } from './group.ts';

const mostAdded = 1_000;
const Reason = Type.String({
  minLength: 1,
  maxLength: 500,
  pattern: '\\S',
  'x-form': 'a text that is not only spaces',
});
const path = '/v1/groups/{groupId}/members';

export const GroupMember = named(
  'GroupMember',
  Type.Object({
    ...User.properties,
    addedBy: Type.Optional(
      Type.String({ ...Uuid, description: 'The user or credential that added the member' }),
    ),
    addedAt: Type.Optional(DateTime),
    expiresAt: Type.Optional(Type.String({ ...DateTime, description: 'When the membership ends' })),
    reason: Type.Optional(Type.String({ maxLength: 500 })),
  }),
);
export type GroupMember = Static<typeof GroupMember>;

export const listGroupMembers = operation({
  ...groupOperation,
  id: 'listGroupMembers',
  method: 'GET',
  path,
  summary: 'List the members of a group, by userName',
  params: Type.Object(groupPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(GroupMember) },
  problems: ['group-not-found'],
  events: [],
});

export const addGroupMembers = operation({
  ...groupOperation,
  id: 'addGroupMembers',
  method: 'POST',
  path,
  summary: 'Add members to a group',
  description:
    'At most 1,000 at once, all or none. Users that are members already stay members. A membership with `expiresAt` ends then: its rights end with the next request, and the member is removed within a minute. A Super Admin for a time can give SUPER_ADMIN at most until the same time.',
  params: Type.Object(groupPath),
  body: Type.Object({
    userIds: Type.Array(OpaqueId, { minItems: 1, maxItems: mostAdded }),
    expiresAt: Type.Optional(
      Type.Union([DateTime, Type.Null()], {
        description:
          'When the membership ends; null: never. It replaces the end and the reason of users that are members already. Without it, these keep theirs, and others become members without an end',
      }),
    ),
    reason: Type.Optional(Reason),
  }),
  success: {
    status: 200,
    body: Type.Object({
      added: Type.Integer({ minimum: 0, description: 'How many were not members before' }),
      changed: Type.Integer({ minimum: 0, description: 'How many members have another end or reason now' }),
    }),
  },
  problems: [
    'group-not-found',
    'unknown-user',
    'expiry-in-the-past',
    'super-admin-for-a-time',
    'last-super-admin-user',
  ],
  events: ['group-members-changed'],
});

export const removeGroupMember = operation({
  ...groupOperation,
  id: 'removeGroupMember',
  method: 'DELETE',
  path: `${path}/{userId}`,
  summary: 'Remove a member from a group',
  params: Type.Object({ ...groupPath, ...userPath }),
  query: Type.Object(confirmQuery),
  success: { status: 204 },
  problems: ['group-not-found', 'group-member-not-found', 'role-group-protected', 'last-super-admin-user'],
  events: ['group-members-changed', 'role-group-emptied'],
});

export const listUserGroups = operation({
  surface: 'dpc',
  tag: 'Users',
  permission: 'users:manage',
  id: 'listUserGroups',
  method: 'GET',
  path: '/v1/users/{userId}/groups',
  summary: 'List the groups of a user, by displayName',
  params: Type.Object(userPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Group) },
  problems: ['user-not-found'],
  events: [],
});

export const groupMemberOperations = [
  listGroupMembers,
  addGroupMembers,
  removeGroupMember,
  listUserGroups,
] as const;
