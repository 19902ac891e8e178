/** Problems and events of personal tokens. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const personalTokenOutcomes = {
  events: ['personal-token-created', 'personal-token-deleted'],
  problems: {
    'personal-token-not-found': kind<{ id: string }>(
      404,
      'The user has no such personal token.',
      ({ id }) => `The user has no personal token ${id}.`,
    ),
    'personal-token-too-long': kind<{ mostDays: number }>(
      422,
      'The personal token would be valid for too long.',
      ({ mostDays }) => `body.expiresAt must be within ${mostDays} days from now.`,
    ),
    'session-required': kind(
      403,
      'Only a person who is signed in may do this: a token may not make others, which could have more rights.',
      () =>
        'Sign in with a browser or the command line first; a credential or a personal token may not do this.',
    ),
    'too-many-personal-tokens': kind<{ limit: number }>(
      409,
      'The user has as many personal tokens as it may have. Revoke one.',
      ({ limit }) =>
        `The user has ${limit} personal tokens, the most that a user may have; revoke one first.`,
    ),
  },
} as const satisfies Outcomes;
