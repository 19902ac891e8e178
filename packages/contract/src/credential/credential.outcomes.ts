/** Problems and events of accounts and their credentials. */
import { describeUnknownWord, type UnknownWord } from '../common.outcomes.ts';
import { kind, quoted } from '../problem-kind.ts';
import type { Outcomes } from '../sum-of-outcomes.ts';

export const credentialOutcomes = {
  events: [
    'account-created',
    'credential-created',
    'credential-rotated',
    'credential-deleted',
    'token-refused',
  ],
  problems: {
    'account-name-taken': kind<{ name: string }>(
      409,
      'Another account has this name.',
      ({ name }) => `An account named ${quoted(name)} already exists.`,
    ),
    'credential-not-found': kind<{ id: string }>(
      404,
      'The account has no such credential.',
      ({ id }) => `There is no credential ${id}.`,
    ),
    'last-super-admin': kind(
      409,
      'The request would remove the last credential that can manage the account.',
      () =>
        'It is the last credential with the role SUPER_ADMIN that does not expire; create another one first.',
    ),
    'unknown-role': kind<UnknownWord>(
      422,
      'There is no such role, or it is not a role of the requested kind (account, project or environment).',
      describeUnknownWord,
    ),
    'expiry-in-the-past': kind(
      422,
      'The expiry time of the credential is in the past.',
      () => 'body.expiresAt is in the past.',
    ),
  },
} as const satisfies Outcomes;
