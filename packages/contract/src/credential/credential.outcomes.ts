/** Problems and events of accounts and their credentials. */
import { describeUnknownWord, type UnknownWord } from '../common.outcomes.ts';
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';
import { accountRoles, environmentRoles } from '../permission.ts';

/** A role of another place: which member says so. */
function describePlaceOfRole({ found, allowed }: UnknownWord): string {
  const isOf = (roles: readonly string[]) => roles.includes(found);
  const inAccount = allowed.includes('MEMBER');
  if (isOf(environmentRoles))
    return inAccount
      ? ` ${found} is a role in a project or an environment: send its \`projectId\`.`
      : ` ${found} is a role in an environment: send its \`environmentName\`.`;
  return !inAccount && isOf(accountRoles) ? ` ${found} is a role in the account.` : '';
}

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
      (about) => `${describeUnknownWord(about)}${describePlaceOfRole(about)}`,
    ),
    'expiry-in-the-past': kind(
      422,
      'The expiry time of the credential is in the past.',
      () => 'body.expiresAt is in the past.',
    ),
  },
} as const satisfies Outcomes;
