/** Users of the account, for accounts without a directory (issue 15). SCIM changes the same users. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, ifMatchHeader, Name, OpaqueId, pageOf, pageQuery, Uuid } from '../primitives.ts';

export const UserName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '\\S',
  'x-form': 'a name that is not only spaces, such as ada@example.com',
  description: 'Unique in the account; case does not matter. Usually an e-mail address',
});

export const User = named(
  'User',
  Type.Object({
    userId: Uuid,
    userName: Name,
    displayName: Type.Optional(Name),
    externalId: Type.Optional(Name),
    active: Type.Boolean({ description: 'An inactive user can do nothing' }),
    createdAt: DateTime,
    updatedAt: DateTime,
  }),
);
export type User = Static<typeof User>;

export const userPath = { userId: OpaqueId };
export const userOperation = { surface: 'dpc', tag: 'Users', permission: 'users:manage' } as const;
const onePath = '/v1/users/{userId}';

export const listUsers = operation({
  ...userOperation,
  id: 'listUsers',
  method: 'GET',
  path: '/v1/users',
  summary: 'List users, by userName',
  query: Type.Object({
    userName: Type.Optional(
      Type.String({ ...Name, description: 'Only the user with this userName; case does not matter' }),
    ),
    ...pageQuery,
  }),
  success: { status: 200, body: pageOf(User) },
  problems: [],
  events: [],
});

export const createUser = operation({
  ...userOperation,
  id: 'createUser',
  method: 'POST',
  path: '/v1/users',
  summary: 'Create a user',
  description:
    'The user gets roles as a member of groups. To act, it needs a personal credential. Every active user is at least a MEMBER of the account.',
  body: Type.Object({
    userName: UserName,
    displayName: Type.Optional(Name),
    externalId: Type.Optional(Name),
    active: Type.Optional(Type.Boolean({ default: true })),
  }),
  success: { status: 201, body: User, headers: ['Location', 'ETag'] },
  problems: ['user-name-taken'],
  events: ['user-created'],
});

export const getUser = operation({
  ...userOperation,
  id: 'getUser',
  method: 'GET',
  path: onePath,
  summary: 'Get a user',
  params: Type.Object(userPath),
  success: { status: 200, body: User, headers: ['ETag'] },
  problems: ['user-not-found'],
  events: [],
});

const Nullable = (description: string) => Type.Optional(Type.Union([Name, Type.Null()], { description }));

export const updateUser = operation({
  ...userOperation,
  id: 'updateUser',
  method: 'PATCH',
  path: onePath,
  summary: 'Update a user',
  description:
    'Members left out keep their value. A user that becomes inactive is refused with its next request, on every server.',
  params: Type.Object(userPath),
  headers: ifMatchHeader,
  body: Type.Object({
    userName: Type.Optional(UserName),
    displayName: Nullable('null removes it'),
    externalId: Nullable('null removes it'),
    active: Type.Optional(Type.Boolean()),
  }),
  success: { status: 200, body: User, headers: ['ETag'] },
  problems: [
    'user-not-found',
    'user-name-taken',
    'last-super-admin-user',
    'super-admin-for-a-time',
    'etag-mismatch',
  ],
  events: ['user-updated', 'user-activated', 'user-deactivated'],
});

export const deleteUser = operation({
  ...userOperation,
  id: 'deleteUser',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a user',
  description:
    'Its personal credentials and memberships are deleted, and its tokens are refused immediately. Its events keep its name.',
  params: Type.Object(userPath),
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['user-not-found', 'last-super-admin-user', 'etag-mismatch'],
  events: ['user-deleted'],
});

export const userOperations = [listUsers, createUser, getUser, updateUser, deleteUser] as const;
