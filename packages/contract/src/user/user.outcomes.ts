/** Problems and events of personal credentials. Those of users are in directory/directory.outcomes.ts. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const userOutcomes = {
  events: ['user-credential-created', 'user-credential-deleted'],
  problems: {
    'user-credential-not-found': kind<{ id: string }>(
      404,
      'The user has no such personal credential.',
      ({ id }) => `The user has no personal credential ${id}.`,
    ),
  },
} as const satisfies Outcomes;
