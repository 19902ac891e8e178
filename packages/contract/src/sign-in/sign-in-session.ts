/** Sessions of browsers: what a user has after signing in. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { userPath } from '../user/user.ts';

export const signInMethods = ['LINK', 'ISSUER', 'PASSKEY'] as const;
export type SignInMethod = (typeof signInMethods)[number];

export const SignInSession = named(
  'SignInSession',
  Type.Object({
    sessionId: Uuid,
    method: oneOf(signInMethods),
    issuerName: Type.Optional(
      Type.String({ ...Name, description: 'The identity issuer, unless it was deleted' }),
    ),
    program: Type.Optional(
      Type.String({
        ...Name,
        description: 'The client id of the program in which the user is signed in, and not a browser',
      }),
    ),
    createdAt: DateTime,
    lastUsedAt: Type.String({ ...DateTime, description: 'To the minute' }),
    idleUntil: Type.String({
      ...DateTime,
      description: 'When the session ends if it is not used until then',
    }),
    expiresAt: Type.String({ ...DateTime, description: 'When the session ends in any case' }),
    address: Type.String({
      maxLength: 64,
      description: 'The IP address of the browser or program at sign-in',
    }),
    userAgent: Type.String({ maxLength: 255, description: 'What the browser calls itself' }),
    isCurrent: Type.Boolean({ description: 'Whether this request was made in the session' }),
  }),
);
export type SignInSession = Static<typeof SignInSession>;

const ownSessions = { surface: 'dpc', tag: 'Sign-in', permission: 'self:read' } as const;
const sessionsOfUser = { surface: 'dpc', tag: 'Sign-in', permission: 'users:manage' } as const;
const ownPath = '/v1/me/sessions';
const userSessionsPath = '/v1/users/{userId}/sessions';
const sessionPath = { sessionId: OpaqueId };
const page = {
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(SignInSession) },
} as const;

export const listOwnSessions = operation({
  ...ownSessions,
  ...page,
  id: 'listOwnSessions',
  method: 'GET',
  path: ownPath,
  summary: 'List your sessions',
  description:
    'The browsers and programs in which the caller is signed in, newest first. Only users have sessions.',
  problems: [],
  events: [],
});

export const deleteOwnSessions = operation({
  ...ownSessions,
  id: 'deleteOwnSessions',
  method: 'DELETE',
  path: ownPath,
  summary: 'End your sessions',
  description:
    'Ends all sessions of the caller but the one of this request, or the one of `sessionId`. Their browsers are signed out at their next request, and their streams end.',
  query: Type.Object({ sessionId: Type.Optional(OpaqueId) }),
  success: { status: 204 },
  problems: ['session-not-found'],
  events: ['session-ended'],
});

export const listUserSessions = operation({
  ...sessionsOfUser,
  ...page,
  id: 'listUserSessions',
  method: 'GET',
  path: userSessionsPath,
  summary: 'List the sessions of a user',
  description: 'Newest first.',
  params: Type.Object(userPath),
  problems: ['user-not-found'],
  events: [],
});

export const deleteUserSession = operation({
  ...sessionsOfUser,
  id: 'deleteUserSession',
  method: 'DELETE',
  path: `${userSessionsPath}/{sessionId}`,
  summary: 'End a session of a user',
  params: Type.Object({ ...userPath, ...sessionPath }),
  success: { status: 204 },
  problems: ['session-not-found'],
  events: ['session-ended'],
});

export const deleteUserSessions = operation({
  ...sessionsOfUser,
  id: 'deleteUserSessions',
  method: 'DELETE',
  path: userSessionsPath,
  summary: 'End all sessions of a user',
  params: Type.Object(userPath),
  success: { status: 204 },
  problems: ['user-not-found'],
  events: ['session-ended'],
});

export const signInSessionOperations = [
  listOwnSessions,
  deleteOwnSessions,
  listUserSessions,
  deleteUserSession,
  deleteUserSessions,
] as const;
