/** The members of groups. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { OpaqueId, pageOf, pageQuery } from '../primitives.ts';
import { User, userPath } from '../user/user.ts';
import { confirmQuery, Group, groupOperation, groupPath } from './group.ts';

const mostAdded = 1_000;
const path = '/v1/groups/{groupId}/members';

export const listGroupMembers = operation({
  ...groupOperation,
  id: 'listGroupMembers',
  method: 'GET',
  path,
  summary: 'List the members of a group, by userName',
  params: Type.Object(groupPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(User) },
  problems: ['group-not-found'],
  events: [],
});

export const addGroupMembers = operation({
  ...groupOperation,
  id: 'addGroupMembers',
  method: 'POST',
  path,
  summary: 'Add members to a group',
  description: `At most ${mostAdded.toLocaleString('en')} at once, all or none. Users that are members already stay members.`,
  params: Type.Object(groupPath),
  body: Type.Object({ userIds: Type.Array(OpaqueId, { minItems: 1, maxItems: mostAdded }) }),
  success: {
    status: 200,
    body: Type.Object({
      added: Type.Integer({ minimum: 0, description: 'How many were not members before' }),
    }),
  },
  problems: ['group-not-found', 'unknown-user'],
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
