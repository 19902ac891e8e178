/** Problems and events of backfills. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const backfillOutcomes = {
  events: [
    'backfill-created',
    'backfill-cancelled',
    'backfill-blocked',
    'backfill-unblocked',
    'backfill-ended',
  ],
  problems: {
    'backfill-not-found': kind<{ id: string }>(
      404,
      'The schedule has no such backfill.',
      ({ id }) => `There is no backfill ${id} of this schedule.`,
    ),
    'backfill-range': kind<{ field: string; reason: string }>(
      422,
      'The range of a backfill is empty, ends in the future, or has no tick.',
      ({ field, reason }) => `${field}: ${reason}`,
    ),
    'backfill-too-long': kind<{ count: string; limit: number; next: string }>(
      422,
      'The range of a backfill has too many ticks.',
      ({ count, limit, next }) =>
        `The range has ${count} ticks, and a backfill may have ${limit}: choose a shorter range, for example with \`to\` ${next}, and run the rest as a further backfill.`,
    ),
    'too-many-backfills': kind<{ limit: number }>(
      409,
      'The project has too many backfills that have not ended.',
      ({ limit }) =>
        `The project has ${limit} backfills that have not ended, which is the limit: wait for one, or cancel it.`,
    ),
    'backfill-not-running': kind<{ id: string; status: string }>(
      409,
      'The backfill has already ended.',
      ({ id, status }) => `The backfill ${id} has already ended: its status is ${status}.`,
    ),
    'schedule-has-backfill': kind<{ name: string; id: string }>(
      409,
      'A backfill of the schedule has not ended.',
      ({ name, id }) =>
        `The schedule "${name}" has a backfill ${id} that has not ended: wait for its end, or cancel it.`,
    ),
  },
} as const satisfies Outcomes;
