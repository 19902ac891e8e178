/** Problems of reading the account's events. */
import { kind } from '../problem-kind.ts';
import type { Outcomes } from '../sum-of-outcomes.ts';

export const accountEventOutcomes = {
  events: [],
  problems: {
    'empty-time-range': kind(422, '`from` is not before `to`.', () => 'query.from must be before query.to.'),
  },
} as const satisfies Outcomes;
