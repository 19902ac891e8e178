/** Problems of reading the account's events. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const accountEventOutcomes = {
  events: [],
  problems: {
    'events-removed': kind(
      410,
      'Retention has removed events after the cursor. Read the log again from its oldest event.',
      () =>
        'Retention has removed events after this cursor. Continue with after=oldest; the removed events cannot be read.',
    ),
    'empty-time-range': kind(422, '`from` is not before `to`.', () => 'query.from must be before query.to.'),
  },
} as const satisfies Outcomes;
