/** Links by which a user without an identity issuer signs in. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { DateTime } from '../primitives.ts';
import { userPath } from '../user/user.ts';

const mostMinutes = 7 * 1_440;
const defaultMinutes = 60;

export const createSignInLink = operation({
  id: 'createSignInLink',
  method: 'POST',
  path: '/v1/users/{userId}/sign-in-links',
  surface: 'dpc',
  tag: 'Sign-in',
  summary: 'Create a sign-in link',
  description:
    'Whoever opens the link first signs in as the user, once. Use it to invite a user, or for one who lost access. A new link replaces the earlier ones of the user.',
  permission: 'users:manage',
  params: Type.Object(userPath),
  body: Type.Object({
    validMinutes: Type.Optional(Type.Integer({ minimum: 1, maximum: mostMinutes, default: defaultMinutes })),
  }),
  success: {
    status: 201,
    body: Type.Object({
      url: Type.String({ maxLength: 2_048, description: 'Shown only in this response' }),
      expiresAt: DateTime,
    }),
  },
  answerHoldsSecret: true,
  problems: ['user-not-found', 'user-inactive', 'sign-in-unavailable', 'super-admin-for-a-time'],
  events: ['sign-in-link-created'],
});

export const defaultLinkMinutes = defaultMinutes;

export const signInLinkOperations = [createSignInLink] as const;
