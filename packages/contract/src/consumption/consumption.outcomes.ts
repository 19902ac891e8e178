/** Problems of consumption. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

interface Range {
  from: string;
  before: string;
}

export const consumptionOutcomes = {
  events: [],
  problems: {
    'consumption-range': kind<Range & { mostDays: number }>(
      422,
      '`consumedFrom` is not before `consumedBefore`, or the range is too long.',
      ({ from, before, mostDays }) =>
        `query.consumedFrom (${from}) must be before query.consumedBefore (${before}), by at most ${mostDays} days.`,
    ),
    'consumption-too-large': kind<Range & { limit: number }>(
      422,
      'The range has more entries than a response may have.',
      ({ from, before, limit }) =>
        `The consumption from ${from} to before ${before} has more than ${limit} entries, which is the limit of a response: ask for fewer days.`,
    ),
  },
} as const satisfies Outcomes;
