/** Passkeys (WebAuthn): a user adds them on the page `/sign-in`, and signs in there with them. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, Name, OpaqueId, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { userPath } from '../user/user.ts';

export const Passkey = named(
  'Passkey',
  Type.Object({
    passkeyId: Uuid,
    name: Type.String({ ...Name, description: 'What its owner called it' }),
    isSynced: Type.Boolean({ description: 'Whether other devices of its owner have it too' }),
    createdAt: DateTime,
    lastUsedAt: Type.Optional(DateTime),
  }),
);
export type Passkey = Static<typeof Passkey>;

const ownPasskeys = { surface: 'dpc', tag: 'Sign-in', permission: 'self:read' } as const;
const passkeysOfUser = { surface: 'dpc', tag: 'Sign-in', permission: 'users:manage' } as const;
const ownPath = '/v1/me/passkeys';
const userPasskeysPath = '/v1/users/{userId}/passkeys';
const page = { query: Type.Object(pageQuery), success: { status: 200, body: pageOf(Passkey) } } as const;

export const listOwnPasskeys = operation({
  ...ownPasskeys,
  ...page,
  id: 'listOwnPasskeys',
  method: 'GET',
  path: ownPath,
  summary: 'List your passkeys',
  description: 'Newest first. Only users have passkeys. They are added on the page `/sign-in`.',
  problems: [],
  events: [],
});

export const deleteOwnPasskeys = operation({
  ...ownPasskeys,
  id: 'deleteOwnPasskeys',
  method: 'DELETE',
  path: ownPath,
  summary: 'Delete your passkeys',
  description: 'Deletes all passkeys of the caller, or the one of `passkeyId`. Sessions go on.',
  query: Type.Object({ passkeyId: Type.Optional(OpaqueId) }),
  success: { status: 204 },
  problems: ['passkey-not-found'],
  events: ['passkey-deleted'],
});

export const listUserPasskeys = operation({
  ...passkeysOfUser,
  ...page,
  id: 'listUserPasskeys',
  method: 'GET',
  path: userPasskeysPath,
  summary: 'List the passkeys of a user',
  description: 'Newest first.',
  params: Type.Object(userPath),
  problems: ['user-not-found'],
  events: [],
});

export const deleteUserPasskey = operation({
  ...passkeysOfUser,
  id: 'deleteUserPasskey',
  method: 'DELETE',
  path: `${userPasskeysPath}/{passkeyId}`,
  summary: 'Delete a passkey of a user',
  description: 'Sessions that began with it go on; end them too if the device was lost.',
  params: Type.Object({ ...userPath, passkeyId: OpaqueId }),
  success: { status: 204 },
  problems: ['passkey-not-found'],
  events: ['passkey-deleted'],
});

export const passkeyOperations = [
  listOwnPasskeys,
  deleteOwnPasskeys,
  listUserPasskeys,
  deleteUserPasskey,
] as const;
