/** Personal tokens: bearer tokens that users make for their programs. */
import { type Static, Type } from 'typebox';
import { RoleWord, ScopedRole, ScopedRoleRequests } from '../credential/credential.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { accountRoles } from '../permission.ts';
import { DateTime, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { userPath } from '../user/user.ts';

export const mostTokenDays = 366;
const mostRoles = 100;

const roleOfToken = 'The most that the token may do in the account. Without it, the token is not narrowed';

export const PersonalToken = named(
  'PersonalToken',
  Type.Object({
    tokenId: Uuid,
    name: Name,
    role: Type.Optional({ ...oneOf(accountRoles), description: roleOfToken }),
    roles: Type.Array(ScopedRole, { maxItems: mostRoles }),
    createdAt: DateTime,
    expiresAt: DateTime,
    lastUsedAt: Type.Optional(Type.String({ ...DateTime, description: 'To the minute' })),
  }),
);
export type PersonalToken = Static<typeof PersonalToken>;

const ownTokens = { surface: 'dpc', tag: 'Personal tokens', permission: 'self:read' } as const;
const tokensOfUser = { surface: 'dpc', tag: 'Personal tokens', permission: 'users:manage' } as const;
const ownPath = '/v1/me/tokens';
const userTokensPath = '/v1/users/{userId}/tokens';
const tokenPath = { tokenId: OpaqueId };
const page = {
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(PersonalToken) },
} as const;
const revocation = {
  method: 'DELETE',
  description: 'Its next request is refused, on every server.',
  success: { status: 204 },
  problems: ['personal-token-not-found'],
  events: ['personal-token-deleted'],
} as const;

export const listOwnTokens = operation({
  ...ownTokens,
  ...page,
  id: 'listOwnTokens',
  method: 'GET',
  path: ownPath,
  summary: 'List your personal tokens',
  description: 'Newest first, with those that have expired.',
  problems: [],
  events: [],
});

export const createOwnToken = operation({
  ...ownTokens,
  id: 'createOwnToken',
  method: 'POST',
  path: ownPath,
  summary: 'Create a personal token',
  description:
    'For a person who is signed in. Send the token as `Authorization: Bearer`; the caller is then the user. With `role` or `roles` the token is narrowed: it may do what a credential with these roles could do, as far as its user may do it too. With `roles` alone, `role` is MEMBER.',
  body: Type.Object({
    name: Name,
    expiresAt: Type.String({ ...DateTime, description: `Within ${mostTokenDays} days` }),
    role: Type.Optional(Type.String({ ...RoleWord, description: roleOfToken })),
    roles: Type.Optional({ ...ScopedRoleRequests, maxItems: mostRoles }),
  }),
  success: {
    status: 201,
    body: Type.Object({
      tokenId: Uuid,
      token: Type.String({ maxLength: 255, description: 'Shown only in this response' }),
    }),
  },
  answerHoldsSecret: true,
  problems: [
    'session-required',
    'unknown-role',
    'permissions-not-held',
    'unknown-project',
    'expiry-in-the-past',
    'personal-token-too-long',
    'too-many-personal-tokens',
  ],
  events: ['personal-token-created'],
});

export const deleteOwnToken = operation({
  ...ownTokens,
  ...revocation,
  id: 'deleteOwnToken',
  path: `${ownPath}/{tokenId}`,
  summary: 'Revoke one of your personal tokens',
  params: Type.Object(tokenPath),
});

export const listUserTokens = operation({
  ...tokensOfUser,
  ...page,
  id: 'listUserTokens',
  method: 'GET',
  path: userTokensPath,
  summary: 'List the personal tokens of a user',
  description: 'Newest first, with those that have expired.',
  params: Type.Object(userPath),
  problems: ['user-not-found'],
  events: [],
});

export const deleteUserToken = operation({
  ...tokensOfUser,
  ...revocation,
  id: 'deleteUserToken',
  path: `${userTokensPath}/{tokenId}`,
  summary: 'Revoke a personal token of a user',
  params: Type.Object({ ...userPath, ...tokenPath }),
});

export const personalTokenOperations = [
  listOwnTokens,
  createOwnToken,
  deleteOwnToken,
  listUserTokens,
  deleteUserToken,
] as const;
