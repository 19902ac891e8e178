/** Problems and events of signing in. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const signInOutcomes = {
  events: [
    'signed-in',
    'sign-in-refused',
    'session-ended',
    'sign-in-link-created',
    'identity-linked',
    'group-claim-refused',
    'identity-issuer-created',
    'identity-issuer-updated',
    'identity-issuer-deleted',
    'passkey-added',
    'passkey-deleted',
    'invitation-created',
    'invitation-accepted',
    'invitation-deleted',
  ],
  problems: {
    'session-not-found': kind<{ id: string }>(
      404,
      'The user has no such session, or it has ended.',
      ({ id }) => `There is no session ${id}.`,
    ),
    'user-inactive': kind<{ name: string }>(
      409,
      'The user is inactive. Activate it first.',
      ({ name }) => `The user ${quoted(name)} is inactive; activate it first.`,
    ),
    'sign-in-unavailable': kind<{ publicUrl: string }>(
      409,
      'Browsers keep sessions only over HTTPS or on localhost, and the public address of the server is neither.',
      ({ publicUrl }) =>
        `Nobody can sign in at ${publicUrl}: browsers keep a session only over HTTPS or on localhost. Set HEADGATE_PUBLIC_URL to the https address of the server.`,
    ),
    'passkey-not-found': kind<{ id: string }>(
      404,
      'The user has no such passkey.',
      ({ id }) => `There is no passkey ${id}.`,
    ),
    'invitation-not-found': kind<{ id: string }>(
      404,
      'The account has no such open invitation.',
      ({ id }) => `There is no open invitation ${id}.`,
    ),
    'invitation-taken': kind<{ name: string }>(
      409,
      'There is an open invitation for this userName. Case does not matter.',
      ({ name }) => `${quoted(name)} is invited already; withdraw that invitation to make another one.`,
    ),
    'too-many-invitations': kind<{ limit: number }>(
      409,
      'The account has as many open invitations as it may have. Withdraw one.',
      ({ limit }) =>
        `The account has ${limit} open invitations, the most that it may have; withdraw one first.`,
    ),
    'users-from-directory': kind(
      409,
      'The users of the account come from its directory, by SCIM.',
      () =>
        'The account has a credential with the role DIRECTORY: users come from the directory. Add the person there.',
    ),
    'invitation-mail-refused': kind<{ reason: string }>(
      409,
      'The invitation cannot be sent by mail.',
      ({ reason }) => `${reason} Leave out \`email\` and send \`url\` to the person yourself.`,
    ),
    'unknown-group': kind<{ ids: readonly string[] }>(
      422,
      'The body names a group that the account does not have.',
      ({ ids }) => `The account has no group ${ids.join(', ')}.`,
    ),
    'identity-issuer-not-found': kind<{ id: string }>(
      404,
      'The account has no such identity issuer.',
      ({ id }) => `There is no identity issuer ${id}.`,
    ),
    'identity-issuer-name-taken': kind<{ name: string }>(
      409,
      'The account already has an identity issuer of this name.',
      ({ name }) => `An identity issuer ${quoted(name)} already exists in the account.`,
    ),
    'identity-issuer-taken': kind<{ issuer: string }>(
      409,
      'The account already has this identity issuer.',
      ({ issuer }) => `The account already has the identity issuer ${issuer}; change that one.`,
    ),
    'identity-issuer-unusable': kind<{ reason: string }>(
      422,
      'The address of the issuer is refused, or its client secret is missing.',
      ({ reason }) => reason,
    ),
    'too-many-identity-issuers': kind<{ limit: number }>(
      409,
      'The account has as many identity issuers as it may have. Delete one.',
      ({ limit }) =>
        `The account has ${limit} identity issuers, the most that an account may have; delete one first.`,
    ),
  },
} as const satisfies Outcomes;
