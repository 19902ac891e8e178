/** Personal credentials: client ids and secrets with which a user gets tokens. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, Name, OpaqueId, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { userOperation, userPath } from './user.ts';

export const UserCredential = named(
  'UserCredential',
  Type.Object({
    credentialId: Uuid,
    name: Name,
    clientId: Name,
    createdAt: DateTime,
    expiresAt: Type.Optional(DateTime),
    lastUsedAt: Type.Optional(
      Type.String({ ...DateTime, description: 'When it was last used to get a token' }),
    ),
  }),
);
export type UserCredential = Static<typeof UserCredential>;

const path = '/v1/users/{userId}/credentials';

export const listUserCredentials = operation({
  ...userOperation,
  id: 'listUserCredentials',
  method: 'GET',
  path,
  summary: 'List the personal credentials of a user',
  description: 'Newest first.',
  params: Type.Object(userPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(UserCredential) },
  problems: ['user-not-found'],
  events: [],
});

export const createUserCredential = operation({
  ...userOperation,
  id: 'createUserCredential',
  method: 'POST',
  path,
  summary: 'Create a personal credential',
  description:
    'Get tokens with the client id and secret at the token endpoint, as with any credential. With these tokens the caller is the user: it has the roles of the user, and its events name the user.',
  params: Type.Object(userPath),
  body: Type.Object({ name: Name, expiresAt: Type.Optional(DateTime) }),
  success: {
    status: 201,
    body: Type.Object({
      credentialId: Uuid,
      clientId: Name,
      clientSecret: Type.String({ maxLength: 255, description: 'Shown only in this response' }),
    }),
  },
  answerHoldsSecret: true,
  problems: ['user-not-found', 'expiry-in-the-past', 'super-admin-for-a-time'],
  events: ['user-credential-created'],
});

export const deleteUserCredential = operation({
  ...userOperation,
  id: 'deleteUserCredential',
  method: 'DELETE',
  path: `${path}/{credentialId}`,
  summary: 'Delete a personal credential',
  description: 'Its tokens are refused immediately.',
  params: Type.Object({ ...userPath, credentialId: OpaqueId }),
  success: { status: 204 },
  problems: ['user-credential-not-found'],
  events: ['user-credential-deleted'],
});

export const userCredentialOperations = [
  listUserCredentials,
  createUserCredential,
  deleteUserCredential,
] as const;
