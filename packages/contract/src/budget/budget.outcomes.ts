/** Problems and events of budgets. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const budgetOutcomes = {
  events: ['budget-written', 'budget-deleted', 'budget-warned', 'budget-limit-reached'],
  problems: {
    'budget-not-found': kind(
      404,
      'The project has no budget.',
      () => 'The project has no budget: a PUT creates one.',
    ),
    'budget-order': kind<{ warnAt: number; stopAt: number }>(
      422,
      '`stopAt` is less than `warnAt`.',
      ({ warnAt, stopAt }) =>
        `body.stopAt is ${stopAt} and warnAt is ${warnAt} (0.8 by default): stopAt must be at least warnAt.`,
    ),
    'budget-exceeded': kind<{ spent: number; limit: number; month: string }>(
      409,
      'The project has spent so much of its budget that nothing more starts.',
      ({ spent, limit, month }) =>
        `The project has spent ${spent} credits in ${month}, and its budget stops starts at ${limit}: wait for the next month (UTC), or let a Super Admin or Billing Admin raise the budget or set its \`liftedUntil\`.`,
    ),
  },
} as const satisfies Outcomes;
