/** Problems and events of repository migrations. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const repositoryMigrationOutcomes = {
  events: [
    'repository-migration-started',
    'repository-migrated',
    'repository-migration-failed',
    'repository-token-renewed',
    'repository-token-not-renewed',
  ],
  problems: {
    'migration-not-found': kind<{ id: string }>(
      404,
      'The project has no such migration.',
      ({ id }) => `The project has no repository migration ${id}.`,
    ),
    'same-repository': kind<{ url: string }>(
      400,
      'The target of a migration is the current repository of the project.',
      ({ url }) =>
        `body.targetCloneUrl: ${url} is the current repository of the project; name another repository.`,
    ),
    'provider-token-required': kind(
      400,
      'The target is on GitLab, and the request has no access token for it.',
      () =>
        'A gitlab target needs the header Git-Provider-Access-Token: a fresh token of a service account with the Maintainer role on the target.',
    ),
    'provider-token-used': kind(
      422,
      'The access token was already used for a migration. It was rotated then, so the provider would revoke all its successors.',
      () =>
        'The token in Git-Provider-Access-Token was already used, and is not sent to the provider again. Create a new token for each start.',
    ),
    'provider-parameter-missing': kind<{ provider: string; key: string }>(
      422,
      'A parameter of the provider is missing, and cannot be read from the address.',
      ({ provider, key }) =>
        `body.providerParameters.${key} is missing: a ${provider} target needs it, and body.targetCloneUrl does not tell it.`,
    ),
    'preflight-timeout': kind<{ seconds: number }>(
      504,
      'The checks of a dry run took too long.',
      ({ seconds }) =>
        `The checks did not end within ${seconds} s, because one of the two hosts answers slowly. Send the request again later.`,
    ),
  },
} as const satisfies Outcomes;
